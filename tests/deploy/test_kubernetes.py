"""The manifests are ones that Kubernetes takes, and the pods may do little."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

from pipelines.settings import Settings
from pipelines.settings.secret_files import secret_names
from tests.deploy import cluster
from tests.deploy.cluster import OVERLAYS
from tests.deploy.tools import DEPLOY, skip_or_fail

OLDEST, NEWEST = "1.27", "1.34"
"""Releases of Kubernetes whose schemas all must fit; 1.27 knows a CronJob's time zone."""
ROLES = {
    "migrate": ("harbor", {"owner_password", "writer_password", "dashboard_password"}),
    "nightly": ("harbor_writer", {"writer_password"}),
    "train": ("harbor_writer", {"writer_password"}),
    "watch": ("harbor_writer", {"writer_password"}),
    "dashboard": ("harbor_dashboard", {"dashboard_password"}),
}


@pytest.mark.parametrize("release", [OLDEST, NEWEST])
def test_kubernetes_would_take_it(release):
    try:
        import kubernetes_validate
    except ImportError:
        skip_or_fail(
            "needs kubernetes-validate: pip install -r tests/deploy/tools.lock"
        )
    # Overlays have much in common, which is looked at once.
    different = {json.dumps(each) for name in OVERLAYS for each in _known(name)}
    assert len(different) > 20
    for manifest in sorted(different):
        kubernetes_validate.validate(json.loads(manifest), release, strict=True)


def _known(overlay):
    """The manifests that have a schema: all but JobSets, and the jobs of those."""
    for manifest in cluster.build_overlay(overlay):
        jobset = manifest["kind"] == "JobSet"
        yield from cluster.jobs_of(manifest) if jobset else [manifest]


def test_a_pod_is_what_restricted_security_asks_for():
    for overlay in OVERLAYS:
        namespace = cluster.of_kind(overlay, "Namespace")["harbor-fleet"]["metadata"]
        for mode in ("enforce", "audit", "warn"):
            label = f"pod-security.kubernetes.io/{mode}"
            assert namespace["labels"][label] == "restricted"
        for name, pod in cluster.workloads(overlay).items():
            security = pod["securityContext"]
            assert security["runAsNonRoot"] is True, name
            assert security["seccompProfile"] == {"type": "RuntimeDefault"}, name
            assert pod["automountServiceAccountToken"] is False, name
            assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod), name
            assert not [v for v in pod.get("volumes", []) if "hostPath" in v], name


def test_a_container_can_do_little_has_limits_and_a_released_image():
    for overlay in OVERLAYS:
        for name, container in cluster.containers(overlay):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name
            for bound in ("limits", "requests"):
                assert {"cpu", "memory"} <= set(container["resources"][bound]), name
            assert re.search(r":\d[^:/]*$", container["image"]), name
            if name in {"dashboard", "watch", "database"}:
                probes = {"startupProbe", "readinessProbe", "livenessProbe"}
                assert probes <= set(container), name


def test_each_connects_as_the_role_it_needs():
    for overlay in OVERLAYS:
        for name, container in cluster.containers(overlay):
            if name == "database":
                continue
            role, secrets = ROLES[name]
            variables = {
                each["name"]: each.get("value", "") for each in container["env"]
            }
            url = variables["HARBOR_DATABASE_URL"]
            assert url == f"postgresql://{role}@$(DATABASE_HOST):5432/harbor"
            # A variable is put into those after it only.
            assert list(variables).index("DATABASE_HOST") < list(variables).index(
                "HARBOR_DATABASE_URL"
            )
            volumes = cluster.workloads(overlay)[name]["volumes"]
            (mounted,) = [each["secret"] for each in volumes if "secret" in each]
            assert {item["key"] for item in mounted["items"]} == secrets
            files = {value for key, value in variables.items() if key.endswith("_FILE")}
            assert files == {f"/run/secrets/harbor/{each}" for each in secrets}


def test_every_setting_given_is_one_that_is_read():
    files = {f"{name}_file" for name in secret_names(Settings)}
    valid_names = set(Settings.model_fields) | files
    for overlay in OVERLAYS:
        containers = cluster.containers(overlay)
        variables = {each["name"] for _, one in containers for each in one["env"]}
        variables |= set(fleet_settings(overlay))
        harbor_variables = {name for name in variables if name.startswith("HARBOR_")}
        assert len(harbor_variables) >= 5
        assert {
            name.removeprefix("HARBOR_").lower() for name in harbor_variables
        } <= valid_names


def fleet_settings(overlay):
    maps = cluster.of_kind(overlay, "ConfigMap")
    (fleet,) = [each["data"] for name, each in maps.items() if name.startswith("fleet")]
    return fleet


def test_nothing_is_reached_that_no_policy_names():
    for overlay in OVERLAYS:
        policies = cluster.of_kind(overlay, "NetworkPolicy")
        everybody = policies["deny-all"]["spec"]
        assert everybody == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
        pods = [
            labels for labels in map(_labels, cluster.build_overlay(overlay)) if labels
        ]
        for name, policy in policies.items():
            ways = policy["spec"].get("ingress", [])
            assert all(way.get("from") for way in ways), f"{name} lets everybody in"
            wanted = policy["spec"]["podSelector"].get("matchLabels", {})
            assert any(wanted.items() <= labels.items() for labels in pods), name


def test_a_volume_that_is_mounted_is_there():
    for overlay in OVERLAYS:
        claims = set(cluster.of_kind(overlay, "PersistentVolumeClaim"))
        for name, pod in cluster.workloads(overlay).items():
            volumes = {each["name"]: each for each in pod["volumes"]}
            claim_sources = [
                each.get("persistentVolumeClaim") for each in volumes.values()
            ]
            assert {each["claimName"] for each in claim_sources if each} <= claims, name
            mounts = {each["name"] for each in pod["containers"][0]["volumeMounts"]}
            assert mounts - set(volumes) <= {"data"}, name


def _labels(manifest):
    """The labels of a workload's pods; None for what has none."""
    if manifest["kind"] == "JobSet":
        manifest = cluster.jobs_of(manifest)[0]
    spec = manifest.get("spec", {})
    template = spec.get("jobTemplate", {}).get("spec", spec).get("template", {})
    return template.get("metadata", {}).get("labels")


@pytest.mark.parametrize(
    ("overlay", "devices", "platforms", "image"),
    [
        ("cpu", {}, "cpu", "harbor-train"),
        ("gpu", {"nvidia.com/gpu": 1}, "cuda,cpu", "harbor-train-gpu"),
        ("tpu-v4-8", {"google.com/tpu": 4}, "tpu,cpu", "harbor-train-tpu"),
        ("bucket", {"google.com/tpu": 4}, "tpu,cpu", "harbor-train-tpu"),
    ],
)
def test_the_night_has_its_devices(overlay, devices, platforms, image):
    (night,) = cluster.workloads(overlay)["nightly"]["containers"]
    limits = night["resources"]["limits"]
    assert {name: n for name, n in limits.items() if "/" in name} == devices
    variables = {each["name"]: each.get("value") for each in night["env"]}
    assert variables["JAX_PLATFORMS"] == platforms
    assert night["image"].split(":")[0] == image


def test_the_night_runs_at_the_fleets_hour_and_never_twice_at_once():
    for overlay in OVERLAYS:
        night = cluster.of_kind(overlay, "CronJob")["nightly"]["spec"]
        fleet = fleet_settings(overlay)
        hour, minute = fleet["HARBOR_NIGHTLY_AT"].split(":")
        first = night["schedule"].replace("4-10", "4").split()
        assert [int(word) for word in first[:2]] == [int(minute), int(hour)]
        assert night["timeZone"].removeprefix("Etc/") == fleet["HARBOR_TIMEZONE"]
        assert night["concurrencyPolicy"] == "Forbid"


def test_hosts_that_train_together_find_each_other():
    (train,) = cluster.of_kind("multi-host", "JobSet").values()
    (job,) = train["spec"]["replicatedJobs"]
    spec = job["template"]["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    variables = {each["name"]: each for each in container["env"]}
    processes = int(variables["HARBOR_PROCESSES"]["value"])
    assert processes == spec["parallelism"] == spec["completions"]
    assert spec["completionMode"] == "Indexed"
    # A pod of a JobSet is set-job-index-completion, beneath the set's own name.
    host = f"{train['metadata']['name']}-{job['name']}-0-0.{train['metadata']['name']}"
    port = container["ports"][0]["containerPort"]
    assert variables["HARBOR_COORDINATOR"]["value"] == f"{host}:{port}"
    index = variables["HARBOR_PROCESS"]["valueFrom"]["fieldRef"]["fieldPath"]
    assert index == "metadata.annotations['batch.kubernetes.io/job-completion-index']"


def test_a_bucket_is_the_volume_that_everybody_mounts():
    claim = cluster.of_kind("bucket", "PersistentVolumeClaim")["home"]
    (volume,) = cluster.of_kind("bucket", "PersistentVolume").values()
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"]
    assert claim["spec"]["storageClassName"] == volume["spec"]["storageClassName"] == ""
    assert volume["spec"]["claimRef"] == {"namespace": "harbor-fleet", "name": "home"}
    for manifest in cluster.build_overlay("bucket"):
        pod = cluster.pod(manifest) or {}
        mounts = [each for each in pod.get("volumes", []) if each["name"] == "home"]
        asks = "gke-gcsfuse/volumes" in str(manifest)
        assert asks == bool(mounts), manifest["metadata"]["name"]


def test_a_night_of_the_cronjob_hears_that_it_must_stop(tmp_path):
    """Kubernetes signals process 1 of the container alone."""
    apart = ["unshare", "--user", "--fork", "--pid", "--map-root-user", "--mount-proc"]
    if subprocess.run([*apart, "true"], check=False).returncode:
        pytest.skip("This machine lets nobody make a PID namespace.")
    job = yaml.safe_load((DEPLOY / "kubernetes/base/nightly.yaml").read_text())
    [night] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    harbor = tmp_path / "harbor"
    harbor.write_text(
        "#!/bin/sh\ntrap 'echo stopped; exit 143' TERM\necho began\n"
        "for n in 1 2 3 4 5 6; do sleep 0.5; done\nexit 3\n"
    )
    harbor.chmod(0o755)
    words = [*apart, *night["command"], *night["args"]]
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout.readline() == "began\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        os.kill(int(children.read_text()), signal.SIGTERM)
        said = process.stdout.read()
    assert (said, process.returncode) == ("stopped\n", 143)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as process:
        process.stdout.read()
    assert process.returncode == 0, "3 is no failure"
