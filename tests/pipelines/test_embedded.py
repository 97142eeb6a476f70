"""The embedded server: first in starts it, last out stops it, crashes are survived."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from forecaster.errors import DatabaseError
from pipelines import embedded
from pipelines.embedded import binaries, cluster, server

pytestmark = pytest.mark.db

HOLD = """
import sys
from pathlib import Path
from pipelines import embedded
with embedded.running(Path(sys.argv[1])) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def home():
    """A folder with a space in its name, which the server's account may enter."""
    top = Path(tempfile.mkdtemp(prefix="harbor tests "))
    top.chmod(0o755)
    yield top / "our home"
    shutil.rmtree(top)


def answers(url):
    try:
        with psycopg.connect(url) as link:
            return link.execute("select 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


def held(home):
    """Another process that uses the database until its standard input closes."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdout is not None
    return holder, holder.stdout.readline().strip()


def test_it_runs_in_a_path_with_spaces_and_stops_with_its_last_user(home):
    with embedded.running(home) as url:
        assert answers(url)
    assert not answers(url)


def test_it_keeps_its_data_and_is_utf8(home):
    with embedded.running(home) as url, psycopg.connect(url, autocommit=True) as link:
        link.execute("create table kept as select 'Zoë 北' as name")
        assert link.info.encoding == "utf-8"
    with embedded.running(home) as url, psycopg.connect(url) as link:
        assert link.execute("select name from kept").fetchone() == ("Zoë 北",)


def test_a_long_log_is_put_aside_at_the_next_start(home):
    with embedded.running(home):
        pass
    log = cluster.locate(home).log
    log.write_text(log.read_text() + server.MOST_LOG_BYTES * "x")
    with embedded.running(home) as url:
        assert answers(url)
    assert log.with_name("server.log.1").stat().st_size > server.MOST_LOG_BYTES
    anew = log.read_text()
    assert "ready to accept connections" in anew
    assert "x" * 99 not in anew
    with embedded.running(home):
        pass
    assert log.read_text().startswith(anew)


def test_the_first_user_to_leave_does_not_stop_it_for_the_others(home):
    with embedded.running(home) as url:
        holder, its_url = held(home)
        assert its_url == url
        holder.communicate("")
        assert answers(url)
    assert not answers(url)


def test_a_server_left_by_a_killed_process_is_adopted(home):
    holder, url = held(home)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert answers(url)
    with embedded.running(home) as adopted:
        assert adopted == url
    assert not answers(url)


def test_a_server_that_was_killed_recovers(home):
    holder, url = held(home)
    with psycopg.connect(url, autocommit=True) as link:
        link.execute("create table survived as select 1 as one")
    pid = int((cluster.locate(home).data / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with embedded.running(home) as again, psycopg.connect(again) as link:
        assert link.execute("select one from survived").fetchone() == (1,)


def test_ctrl_c_in_the_terminal_does_not_reach_the_server(home):
    with embedded.running(home) as url:
        pid = int((cluster.locate(home).data / "postmaster.pid").read_text().split()[0])
        assert os.getpgid(pid) != os.getpgid(os.getpid())
        assert os.getsid(pid) != os.getsid(os.getpid())
        assert answers(url)


def test_no_directory_it_did_not_make_has_its_permissions_changed(home):
    parents = [home.parent, *home.parent.parents]
    before = [stat.S_IMODE(each.stat().st_mode) for each in parents]
    with embedded.running(home):
        pass
    assert [stat.S_IMODE(each.stat().st_mode) for each in parents] == before
    where = cluster.locate(home)
    assert stat.S_IMODE(where.data.stat().st_mode) == 0o700


def test_a_cluster_of_another_version_is_refused(home):
    with embedded.running(home):
        pass
    (cluster.locate(home).data / "PG_VERSION").write_text("12\n")
    with (
        pytest.raises(DatabaseError, match=r"made by PostgreSQL 12.*brings 18"),
        embedded.running(home),
    ):
        pass


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can hand a server to another user"
)
def test_as_root_in_a_private_folder_it_lives_where_its_account_can_enter(home):
    home.parent.chmod(0o700)
    with embedded.running(home) as url:
        where = cluster.locate(home).directory
        assert answers(url)
        assert where.is_relative_to(binaries.SYSTEM_HOME)
        assert where.stat().st_uid != 0
    assert stat.S_IMODE(home.parent.stat().st_mode) == 0o700
    shutil.rmtree(where)
