"""Review of issue 14, item 20: a page elsewhere whose name now leads to this machine."""

from starlette.datastructures import Headers

from dashboard.server import guard


def test_a_name_that_this_server_does_not_have_is_foreign():
    """DNS rebinding: http://evil.example:8501 answers with 127.0.0.1 the second time."""
    sent = {"host": "evil.example:8501", "origin": "http://evil.example:8501"}
    assert guard.is_foreign(Headers(sent))
