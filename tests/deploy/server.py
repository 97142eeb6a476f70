"""A Postgres as the Compose file's: by TCP, with passwords, and owned by `harbor`."""

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import psycopg

from pipelines.database.embedded import binaries
from tests.ports import free_port

ENCODED = ["--encoding=UTF8", "--locale=C.UTF-8", "--auth=scram-sha-256"]


@contextmanager
def postgres(password):
    """Starts one with an empty database `harbor`.

    Yields:
      Its port on 127.0.0.1.
    """
    account = binaries.server_account()
    programs = binaries.programs(account)
    folder = Path(tempfile.mkdtemp(prefix="harbor-server-"))
    secret = folder / "password"
    secret.write_text(password)
    for path in (folder, secret):
        shutil.chown(path, account.uid, account.gid)
    port, data = free_port(), folder / "data"
    listen = f"-h 127.0.0.1 -p {port} -k {folder}"
    who = [f"--pgdata={data}", "--username=harbor", f"--pwfile={secret}"]
    start = ["-D", data, "-o", listen, "-l", folder / "log", "-w", "start"]
    try:
        _done(binaries.run([programs / "initdb", *ENCODED, *who], account))
        _done(binaries.run([programs / "pg_ctl", *start], account))
        url = f"postgresql://harbor:{password}@127.0.0.1:{port}"
        with psycopg.connect(f"{url}/postgres", autocommit=True) as link:
            link.execute("create database harbor")
        yield port
    finally:
        stop = ["-D", data, "-m", "fast", "-w", "stop"]
        binaries.run([programs / "pg_ctl", *stop], account)
        shutil.rmtree(folder)


def _done(finished):
    assert finished.returncode == 0, finished.stdout[-2000:]
