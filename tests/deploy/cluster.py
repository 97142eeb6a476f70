"""Builds the Kubernetes overlays, and finds the pods in them."""

import functools
import re

import yaml

from tests.deploy.tools import DEPLOY, find_tool, run, skip_or_fail

KUBERNETES = DEPLOY / "kubernetes"
OVERLAYS = sorted(path.name for path in (KUBERNETES / "overlays").iterdir())
MIN_KUSTOMIZE_VERSION = 4
"""Older versions know neither components nor replacements."""
POD_SPEC_PATHS = {
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    "Job": ("spec", "template", "spec"),
    "Deployment": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
}


@functools.cache
def build_overlay(overlay):
    """Everything that `kubectl apply -k` would send for one overlay."""
    kubectl = find_tool("kubectl", "kubernetes-client")
    printed = run(kubectl, "version", "--client").stdout
    version = re.search(r"Kustomize Version: v(\d+)", printed)
    if version is None or int(version[1]) < MIN_KUSTOMIZE_VERSION:
        skip_or_fail(
            f"needs a kubectl whose kustomize is at least {MIN_KUSTOMIZE_VERSION}"
        )
    done = run(kubectl, "kustomize", KUBERNETES / "overlays" / overlay)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def workloads(overlay):
    """Name and pod of all that runs containers."""
    pods = [(each["metadata"]["name"], pod(each)) for each in build_overlay(overlay)]
    return {name: spec for name, spec in pods if spec is not None}


def pod(manifest):
    """The pod's spec of a workload; None for what has none."""
    if manifest["kind"] == "JobSet":
        return jobs_of(manifest)[0]["spec"]["template"]["spec"]
    if manifest["kind"] not in POD_SPEC_PATHS:
        return None
    for key in POD_SPEC_PATHS[manifest["kind"]]:
        manifest = manifest[key]
    return manifest


def jobs_of(jobset):
    """A JobSet's jobs, each as Kubernetes would be given it."""
    return [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": each["name"]},
            "spec": each["template"]["spec"],
        }
        for each in jobset["spec"]["replicatedJobs"]
    ]


def containers(overlay):
    """Every container of an overlay, with the name of its workload."""
    return [
        (name, container)
        for name, spec in workloads(overlay).items()
        for container in spec["containers"]
    ]


def of_kind(overlay, kind):
    """The manifests of one kind, by name."""
    return {
        each["metadata"]["name"]: each
        for each in build_overlay(overlay)
        if each["kind"] == kind
    }
