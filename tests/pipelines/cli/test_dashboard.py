"""The address that `harbor dashboard` prints."""

import pytest

from pipelines.cli import dashboard


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8501"),
        ("::1", "http://[::1]:8501"),
        ("localhost", "http://localhost:8501"),
    ],
)
def test_an_address_of_ipv6_stands_in_brackets(address, url):
    assert dashboard.page_url(address, 8501) == url
