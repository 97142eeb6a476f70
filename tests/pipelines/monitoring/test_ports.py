"""A port in use is one sentence, before anything is started."""

import socket

import pytest

from forecaster.errors import BadInputError
from pipelines.cli import doctor_findings
from pipelines.monitoring import ports


@pytest.fixture
def taken():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_port_in_use_is_refused_with_a_sentence(taken):
    with pytest.raises(BadInputError, match=rf"port is {taken}, which.*--port"):
        ports.require_free("127.0.0.1", taken)


def test_an_address_of_elsewhere_is_refused():
    with pytest.raises(BadInputError, match=r"address is not this machine's"):
        ports.require_free("192.0.2.1", 8501)


def test_a_port_that_was_left_is_free(taken):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    ports.require_free("127.0.0.1", port)


def test_doctor_tells_whether_it_is_in_use(taken, monkeypatch):
    monkeypatch.setattr(doctor_findings, "PORT", taken)
    assert f"{taken} is in use" in doctor_findings._port().message


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8501"),
        ("::1", "http://[::1]:8501"),
        ("localhost", "http://localhost:8501"),
    ],
)
def test_an_address_of_ipv6_stands_in_brackets(address, url):
    assert ports.url(address, 8501) == url
