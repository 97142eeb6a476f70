"""The pages: they read through `queries`.

They save planners' overrides, city settings and decisions on vans (`planning`), and nothing else.

app         navigation              views       one file a page, named as in `app`
components  widgets and forms       queries     cached tables from the database
text        sentences               tables      display tables, HTML and files
charts      Altair charts           inference   what-if on the CPU
planning    vans and overrides      auth        the logged-in user
hours       shifts, running day     server      serves all this
"""
