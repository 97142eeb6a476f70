"""The pages. They read through `queries`, and save planners' changes only, through `planning`.

app         navigation              views       one file per page, named as in `app`
components  widgets and forms       queries     cached tables from the database
text        sentences               tables      display tables, HTML and workbooks
charts      Altair charts           inference   what-if on the CPU
planning    vans and overrides      auth        the logged-in user
server      the ASGI application
"""
