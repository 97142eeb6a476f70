"""Starts a service of the Compose file in an image's root, by runc: what Compose would do.

The container has its own processes and mounts, and the network of this machine.
"""

import json
import shlex
import subprocess
import uuid

import yaml

from tests.deploy.tools import DEPLOY

SERVICES = yaml.safe_load((DEPLOY / "compose.yml").read_text())["services"]
UNITS = {"m": 2**20, "g": 2**30}
NAMESPACES = {"mount", "pid", "ipc", "uts"}
MEMORY_LIMITS = {"scheduler": "6g"}
"""Memory limits of services for which the Compose file asks for a variable."""


class Container:
    """One service, started; its root cannot be written, as the file says."""

    def __init__(self, image, service, folder, port, command=None):
        """Starts it.

        Args:
          image: Root folder and settings of an image, from `Store.build`.
          service: Its name in the Compose file.
          folder: Holds `home`, `secrets`, and what it says.
          port: Of the database on this machine.
          command: Words to run instead of the service's own.
        """
        self._name = f"harbor-{service}-{uuid.uuid4().hex[:8]}"
        bundle = folder / self._name
        bundle.mkdir()
        subprocess.run(["runc", "spec"], cwd=bundle, check=True)
        spec = json.loads((bundle / "config.json").read_text())
        _describe(spec, image, SERVICES[service], folder, port, command)
        spec["linux"]["resources"]["memory"] = {"limit": _memory(service)}
        spec["linux"]["cgroupsPath"] = f"/{self._name}"
        (bundle / "config.json").write_text(json.dumps(spec))
        self._log = bundle / "output.txt"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                ["runc", "run", "--bundle", str(bundle), self._name],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self):
        """All that it has printed."""
        return self._log.read_text()

    @property
    def is_running(self):
        """Whether it has not ended."""
        return self._process.poll() is None

    def wait(self, seconds=120):
        """Waits for its end; its exit status."""
        return self._process.wait(seconds)

    def stop(self):
        """Ends it as Compose does: with a signal first."""
        if self.is_running:
            subprocess.run(["runc", "kill", self._name, "TERM"], check=False)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            subprocess.run(["runc", "delete", "--force", self._name], check=True)
            self._process.wait(30)


def _describe(spec, image, service, folder, port, command):
    """Translates the image and the Compose service into a runc specification."""
    root, config = image
    environment = {
        name: _on_this_machine(str(value), port)
        for name, value in service["environment"].items()
        if not str(value).startswith("${")
    }
    uid, gid = map(int, config["User"].split(":"))
    kinds = ("bounding", "effective", "permitted")
    spec["process"] |= {
        "terminal": False,
        "user": {"uid": uid, "gid": gid},
        "args": command or shlex.split(service["command"]),
        "env": [
            *config["Env"],
            *(f"{name}={value}" for name, value in environment.items()),
        ],
        "cwd": config["WorkingDir"],
        "capabilities": {kind: [] for kind in kinds} if service["cap_drop"] else {},
        "noNewPrivileges": "no-new-privileges:true" in service["security_opt"],
    }
    spec["root"] = {"path": str(root), "readonly": service["read_only"]}
    namespaces = spec["linux"]["namespaces"]
    spec["linux"]["namespaces"] = [
        each for each in namespaces if each["type"] in NAMESPACES
    ]
    closed = {"/sys", "/sys/fs/cgroup"}
    own = [each for each in spec["mounts"] if each["destination"] not in closed]
    spec["mounts"] = [*own, *_mounts(service, folder)]


def _mounts(service, folder):
    for mount_point in service["tmpfs"]:
        options = ["nosuid", "nodev", "noexec", "mode=1777"]
        yield {
            "destination": mount_point,
            "type": "tmpfs",
            "source": "tmpfs",
            "options": options,
        }
    for volume in service.get("volumes", []):
        name, mount_point, *modes = volume.split(":")
        if name == "home":
            yield _bind(folder / "home", mount_point, modes or ["rw"])
    for secret in service.get("secrets", []):
        yield _bind(folder / "secrets" / secret, f"/run/secrets/{secret}", ["ro"])


def _bind(source, mount_point, modes):
    options = ["rbind", *modes]
    return {
        "destination": mount_point,
        "type": "bind",
        "source": str(source),
        "options": options,
    }


def _memory(service):
    limit = MEMORY_LIMITS.get(service, SERVICES[service]["mem_limit"])
    return int(limit[:-1]) * UNITS[limit[-1]]


def _on_this_machine(value, port):
    """The hosts of the Compose file are this machine."""
    return value.replace("@database:5432", f"@127.0.0.1:{port}").replace(
        "//dashboard:", "//127.0.0.1:"
    )
