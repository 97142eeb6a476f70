"""Starts Streamlit and serves the pages.

serve    the command line of `harbor dashboard`, and its checks
asgi     Streamlit with security headers and a check of web socket origins
"""
