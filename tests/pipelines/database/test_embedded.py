"""The embedded server: first in starts it, last out stops it, crashes are survived."""

import json
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
from pipelines.database import embedded
from pipelines.database.embedded import binaries, cluster, server, stale_pidfile

pytestmark = pytest.mark.db

HOLD = """
import sys
from pathlib import Path
from pipelines.database import embedded
with embedded.running(Path(sys.argv[1])) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True, scope="module")
def initdb_once():
    """The first cluster is made; the others are copies of it, which takes no time."""
    made = Path(tempfile.mkdtemp(prefix="harbor tests ")) / "data"
    create = server._create_cluster

    def create_or_copy(cluster):
        if not made.exists():
            create(cluster)
            # None of these servers need outlive a power cut.
            with (cluster.data / "postgresql.conf").open("a") as file:
                file.write("fsync = off\n")
            cluster.data.rename(made)
        copy(made, cluster.data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "_create_cluster", create_or_copy)
        yield
    shutil.rmtree(made.parent)


def copy(source, target):
    """With owners and modes."""
    subprocess.run(["cp", "-a", source, target], check=True)


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


def make_cluster(home):
    """A cluster in a home, whose server has never run."""
    made = cluster.Cluster(home / "postgres", binaries.server_account())
    binaries.make_open_directory(home)
    binaries.make_private_directory(made.directory, made.account)
    server._create_cluster(made)
    return made


def held(home):
    """Another process that uses the database until its standard input closes."""
    if not home.exists():
        make_cluster(home)  # not made by the other process
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdout is not None
    return holder, holder.stdout.readline().strip()


def kill(holder):
    """Ends such a process at once; its server goes on."""
    holder.kill()
    holder.communicate()


def test_in_a_path_with_spaces_it_runs_stops_and_keeps_its_data(home):
    """Its text is UTF-8, Ctrl-C does not reach it, and only its own folder's mode changes."""
    parents = [home.parent, *home.parent.parents]
    before = [stat.S_IMODE(each.stat().st_mode) for each in parents]
    with embedded.running(home) as url, psycopg.connect(url, autocommit=True) as link:
        link.execute("create table kept as select 'Zoë 北' as name")
        assert link.info.encoding == "utf-8"
        pid = server_pid(home)
        assert os.getpgid(pid) != os.getpgid(os.getpid())
        assert os.getsid(pid) != os.getsid(os.getpid())
        assert answers(url)
    assert not answers(url)
    assert [stat.S_IMODE(each.stat().st_mode) for each in parents] == before
    assert stat.S_IMODE(cluster.locate(home).data.stat().st_mode) == 0o700
    with embedded.running(home) as url, psycopg.connect(url) as link:
        assert link.execute("select name from kept").fetchone() == ("Zoë 北",)


def test_a_long_log_is_put_aside_at_the_next_start(home):
    with embedded.running(home):
        pass
    log = cluster.locate(home).log
    log.write_text(log.read_text() + server.MAX_LOG_BYTES * "x")
    with embedded.running(home) as url:
        assert answers(url)
    assert log.with_name("server.log.1").stat().st_size > server.MAX_LOG_BYTES
    again = log.read_text()
    assert "ready to accept connections" in again
    assert "x" * 99 not in again
    with embedded.running(home):
        pass
    assert log.read_text().startswith(again)


def test_the_first_user_to_leave_does_not_stop_it_for_the_others(home):
    with embedded.running(home) as url:
        holder, its_url = held(home)
        assert its_url == url
        holder.communicate("")
        assert answers(url)
    assert not answers(url)


def test_a_server_that_was_killed_recovers(home):
    holder, url = held(home)
    with psycopg.connect(url, autocommit=True) as link:
        link.execute("create table survived as select 1 as one")
    os.kill(server_pid(home), signal.SIGKILL)
    kill(holder)
    with embedded.running(home) as again, psycopg.connect(again) as link:
        assert link.execute("select one from survived").fetchone() == (1,)


def as_version_12(data):
    (data / "PG_VERSION").write_text("12\n")


def as_of_root(data):
    os.chown(data, 0, 0)


def where_nobody_may_enter(data):
    data.parents[2].chmod(0o700)


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has other accounts")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (as_version_12, r"made by PostgreSQL 12.*brings 18"),
        pytest.param(as_of_root, r"belongs to root.*chown", marks=as_root),
        pytest.param(
            where_nobody_may_enter, "may not enter the folders", marks=as_root
        ),
    ],
)
def test_a_cluster_that_cannot_be_used_says_why(home, spoil, told):
    spoil(make_cluster(home).data)
    with pytest.raises(DatabaseError, match=told), embedded.running(home):
        pass


def rows(url):
    with psycopg.connect(url) as link:
        return [row[0] for row in link.execute("select name from kept order by name")]


def keep(url, name):
    with psycopg.connect(url, autocommit=True) as link:
        link.execute("create table if not exists kept (name text)")
        link.execute("insert into kept values (%s)", [name])


def copied(home, name):
    """A copy of a home, as `cp -a` makes it."""
    target = home.with_name(name)
    copy(home, target)
    return target


def server_pid(home):
    return int((cluster.locate(home).data / "postmaster.pid").read_text().split()[0])


def lives(pid):
    """Whether a process of that number is there, and not only waits for its parent."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


LONG = "a long name " * 8


# With a short name the socket lies inside of the home, and is copied with it.
@pytest.mark.parametrize("name", ["our home", LONG])
def test_a_copy_made_while_the_original_runs_has_a_server_of_its_own(home, name):
    home = home.with_name(name)
    with embedded.running(home) as original:
        keep(original, "before")
        copy = copied(home, f"copy of {name}")
        with embedded.running(copy) as url:
            keep(url, "of the copy")
            assert rows(url) == ["before", "of the copy"]
        assert not answers(url)
        assert rows(original) == ["before"]


def test_a_copy_of_a_home_that_was_killed_does_not_wait_for_it(home):
    holder, original = held(home)
    keep(original, "before")
    kill(holder)
    copy = copied(home, "copy")
    with embedded.running(copy) as url:
        keep(url, "of the copy")
    with embedded.running(home) as adopted:
        assert adopted == original
        assert rows(adopted) == ["before"]


def test_who_leaves_a_home_that_was_moved_meanwhile_stops_no_other_server(home):
    holder, url = held(home)
    keep(url, "of the moved one")
    moved = home.rename(home.with_name("moved"))
    with embedded.running(home) as again:
        keep(again, "of the new one")
        holder.communicate("")
        assert holder.returncode == 0
        assert rows(again) == ["of the new one"]
    with embedded.running(moved) as url:
        assert rows(url) == ["of the moved one"]
    assert not answers(url)


@as_root
class TestOutsideOfItsHome:
    @pytest.fixture(autouse=True)
    def _private(self, home):
        home.parent.chmod(0o700)
        with embedded.running(home) as url:
            keep(url, "before")
        self.directory = cluster.locate(home).directory
        # Its account can enter there, and nobody else may enter the private folder.
        assert self.directory.is_relative_to(binaries.SYSTEM_HOME)
        assert self.directory.stat().st_uid != 0
        assert stat.S_IMODE(home.parent.stat().st_mode) == 0o700
        yield
        shutil.rmtree(self.directory, ignore_errors=True)

    def test_a_moved_home_finds_it(self, home):
        moved = home.rename(home.with_name("moved"))
        with embedded.running(moved) as url:
            assert rows(url) == ["before"]

    def test_a_copy_is_refused_and_told_what_to_do(self, home):
        copy = copied(home, "copy")
        with (
            pytest.raises(DatabaseError, match=r"was copied.*harbor backup restore"),
            embedded.running(copy),
        ):
            pass
        (copy / "postgres.json").unlink()
        with embedded.running(copy) as url:
            keep(url, "of the copy")
            own = cluster.locate(copy).directory
        with embedded.running(home) as url:
            assert rows(url) == ["before"]
        shutil.rmtree(own)

    def test_a_home_moved_to_another_disk_is_taken_over_as_it_is_told(self, home):
        moved = copied(home, "moved")
        shutil.rmtree(home)
        note = moved / "postgres.json"
        note.write_text(json.dumps({"directory": str(self.directory)}))
        with embedded.running(moved) as url:
            assert rows(url) == ["before"]
        assert json.loads(note.read_text())["inode"] == moved.stat().st_ino

    def test_a_home_whose_database_is_gone_begins_no_empty_one(self, home):
        shutil.rmtree(self.directory)
        with (
            pytest.raises(DatabaseError, match="gone or on another machine"),
            embedded.running(home),
        ):
            pass


def kill_backend(url):
    """As the kernel does where memory runs out: the server recovers by itself."""
    link = psycopg.connect(url, autocommit=True)
    link.execute("create table loaded (name text)")
    link.execute("insert into loaded select 'x' from generate_series(1, 300000)")
    os.kill(link.info.backend_pid, signal.SIGKILL)
    return link


def work_on(link):
    while True:
        link.execute("select 1")


def test_who_leaves_while_it_recovers_leaves_nothing_running(home, monkeypatch):
    """A fast shutdown may hang there: a user waits a minute for it, this test a second."""
    monkeypatch.setattr(server, "STOP_TIMEOUT_S", 1)
    with embedded.running(home) as url:
        pid = server_pid(home)
        kill_backend(url).close()
    assert not lives(pid)
    with embedded.running(home) as url, psycopg.connect(url) as link:
        assert link.execute("select count(*) from loaded").fetchone() == (300_000,)


def test_a_server_stuck_while_stopping_is_ended_and_recovered(home, monkeypatch):
    monkeypatch.setattr(stale_pidfile, "STOP_TIMEOUT_S", 1)
    holder, url = held(home)
    pid = server_pid(home)
    with kill_backend(url) as link, pytest.raises(psycopg.OperationalError):
        work_on(link)
    while "automatic recovery" not in cluster.locate(home).log.read_text():
        continue
    os.kill(pid, signal.SIGINT)
    kill(holder)
    with embedded.running(home) as url, psycopg.connect(url) as link:
        assert link.execute("select count(*) from loaded").fetchone() == (300_000,)
    assert not lives(pid)


def test_the_process_of_another_user_is_alive(monkeypatch):
    def forbid(pid, number):
        raise PermissionError(1, "Operation not permitted")

    def end(pid, number):
        raise ProcessLookupError(3, "No such process")

    assert stale_pidfile._is_alive(os.getpid())
    monkeypatch.setattr(os, "kill", forbid)
    assert stale_pidfile._is_alive(1)
    monkeypatch.setattr(os, "kill", end)
    assert not stale_pidfile._is_alive(1)


def test_a_shell_in_the_data_directory_is_no_server(home, monkeypatch):
    made = make_cluster(home)
    monkeypatch.setattr(stale_pidfile, "START_TIMEOUT_S", 5)
    shell = subprocess.Popen(["sleep", "60"], cwd=made.data)
    try:
        with embedded.running(home) as url:
            assert answers(url)
    finally:
        shell.kill()
        shell.wait()
