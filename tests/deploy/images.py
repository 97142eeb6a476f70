"""Builds the images for real, without a Docker engine: buildah on a base of debootstrap.

What is fetched is kept in /var/tmp/harbor-deploy-check: the base and the wheels. What is
built lies in a store beside them that is removed at the end; what a run left that was
killed, the next one removes.
"""

import functools
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.deploy.tools import DEPLOY, ROOT

SUITE = "bookworm"
BASE_PACKAGES = "python3,python3-venv"
WHEELS_INSIDE = "/var/cache/harbor-wheels"
PIP = f"[global]\nno-index = true\nfind-links = {WHEELS_INSIDE}\n"
CACHE = Path("/var/tmp/harbor-deploy-check")


def build_debian_base():
    """A minimal Debian with Python, as a folder; made once."""
    base = CACHE / f"{SUITE}-{hashlib.sha256(BASE_PACKAGES.encode()).hexdigest()[:12]}"
    if not base.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        staged = base.with_suffix(".part")
        shutil.rmtree(staged, ignore_errors=True)
        include = f"--include={BASE_PACKAGES}"
        _output_of("debootstrap", "--variant=minbase", include, SUITE, staged)
        shutil.rmtree(staged / "var/cache/apt/archives")
        staged.rename(base)
    return base


def download_wheels(*locks):
    """A folder with every file that the locks name; fetched once, with their hashes."""
    folder = CACHE / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    for lock in locks:
        text = (ROOT / lock).read_bytes()
        stamp = folder / f".{hashlib.sha256(text).hexdigest()}"
        if not stamp.exists():
            fetch = ["download", "--quiet", "--no-deps", "--require-hashes"]
            pip = [sys.executable, "-m", "pip", *fetch]
            _output_of(*pip, "--dest", folder, "--requirement", ROOT / lock)
            stamp.touch()
    return folder


def write_build_lock(folder):
    """Writes the lock of the build dependencies, cut out of the lock as the Dockerfile does."""
    script = re.search(
        r"RUN (awk .*?) > build.lock", (DEPLOY / "Dockerfile").read_text()
    )
    done = subprocess.run(
        script[1], shell=True, cwd=ROOT, capture_output=True, check=True
    )
    path = folder / "build.lock"
    path.write_bytes(done.stdout)
    return path


class Store:
    """A folder with the state of buildah, in which images are built."""

    def __init__(self):
        """Takes the base in."""
        self._folder = CACHE / "store"
        if self._folder.exists():
            self.remove()
        self._folder.mkdir(parents=True)
        (self._folder / "pip.conf").write_text(PIP)
        container = self._buildah("from", "scratch")
        self._buildah("add", "--quiet", container, build_debian_base(), "/")
        self._buildah("commit", "--quiet", "--rm", container, "harbor-base")

    def build(self, target):
        """Builds one target of the Dockerfile.

        Returns:
          The folder that is its root, and what the image says of how it is started.
        """
        lock = f"deploy/{target}.lock"
        fetched = download_wheels(lock, write_build_lock(self._folder))
        self._buildah(
            "build",
            "--isolation=chroot",
            # What one target made is there for the next.
            "--layers",
            f"--file={DEPLOY / 'Dockerfile'}",
            f"--target={target}",
            f"--tag=harbor-{target}",
            "--build-arg=PYTHON_IMAGE=localhost/harbor-base",
            # Only this machine knows how it reaches a package index, so the build does not
            # have to: what the locks name lies in a folder, and pip looks nowhere else.
            f"--volume={fetched}:{WHEELS_INSIDE}:ro",
            f"--volume={self._folder / 'pip.conf'}:/etc/pip.conf:ro",
            ROOT,
        )
        image = f"localhost/harbor-{target}"
        inspected = json.loads(self._buildah("inspect", "--type=image", image))
        container = self._buildah("from", image)
        return Path(self._buildah("mount", container)), inspected["OCIv1"]["config"]

    def remove(self):
        """Takes everything away again."""
        mounts = Path("/proc/self/mounts").read_text()
        below = re.findall(rf"^\S+ ({re.escape(str(self._folder))}\S*)", mounts, re.M)
        for mounted in reversed(below):
            subprocess.run(["umount", mounted], check=True)
        subprocess.run(["rm", "-rf", str(self._folder)], check=True)

    def _buildah(self, *words):
        state = ["--root", self._folder / "images", "--runroot", self._folder / "run"]
        state += ["--storage-driver", _driver()]
        return _output_of("buildah", *state, *words).strip()


@functools.cache
def _driver():
    """The storage driver of buildah: overlay where it can be mounted, else vfs."""
    with tempfile.TemporaryDirectory(dir=CACHE) as probe:
        lower, upper, work, merged = (Path(probe) / name for name in "luwm")
        for each in (lower, upper, work, merged):
            each.mkdir()
        over = f"lowerdir={lower},upperdir={upper},workdir={work}"
        mount = ["mount", "-t", "overlay", "-o", over, "overlay", str(merged)]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            return "vfs"
        subprocess.run(["umount", str(merged)], check=True)
        return "overlay"


def _output_of(*command):
    """Runs a program and returns its output; fails with the end of the output."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (
        f"{words[0]} failed: {(done.stdout + done.stderr)[-3000:]}"
    )
    return done.stdout
