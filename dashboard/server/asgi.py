"""The ASGI application: the pages, with the base URL written into each document.

Left alone, a page opened by its own address looks for the server below that address
first. It is not there, and the browser logs two errors before the page begins. It is where
the page's name begins: at the root, or where a proxy puts the pages.
"""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse
from starlette.routing import Route
from streamlit.file_util import get_static_dir

from dashboard.server.guard import Guard, content_security_policy

HERE = Path(__file__).parents[1]
HEAD = "<head>"
BASE_URL_SCRIPT = (
    "<script>window.__streamlit = {BACKEND_BASE_URL: "
    'new URL(".", location.href).href}</script>'
)


def index_html() -> str:
    """Streamlit's index.html with the base URL script."""
    made = Path(get_static_dir(), "index.html").read_text(encoding="utf-8")
    return made.replace(HEAD, HEAD + BASE_URL_SCRIPT, 1)


def routes() -> list[Route]:
    """One route per page, so that each can be opened by its own URL."""
    document = index_html()

    def answer(_: object) -> HTMLResponse:
        return HTMLResponse(document, headers={"Cache-Control": "no-cache"})

    pages = sorted(view.stem for view in (HERE / "views").glob("*.py"))
    return [Route(f"/{page}", answer) for page in ["", *pages]]


guard = Middleware(Guard, policy=content_security_policy(index_html()))
app = st.App(HERE / "app.py", routes=routes(), middleware=[guard])
