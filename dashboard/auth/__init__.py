"""Login and access control of the pages.

login    the access rule of login.toml      session  the logged-in user
"""
