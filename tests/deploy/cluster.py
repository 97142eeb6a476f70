"""The overlays as kustomize builds them, and the pods within."""

import functools
import re

import yaml

from tests.deploy.tools import DEPLOY, lacking, run, tool

KUBERNETES = DEPLOY / "kubernetes"
OVERLAYS = sorted(path.name for path in (KUBERNETES / "overlays").iterdir())
OLDEST = 4
"""Of kustomize: what came before knows neither components nor replacements."""
NESTED = {
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    "Job": ("spec", "template", "spec"),
    "Deployment": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
}


@functools.cache
def built(overlay):
    """Everything that `kubectl apply -k` would send for one overlay."""
    kubectl = tool("kubectl", "kubernetes-client")
    printed = run(kubectl, "version", "--client").stdout
    version = re.search(r"Kustomize Version: v(\d+)", printed)
    if version is None or int(version[1]) < OLDEST:
        lacking(f"needs a kubectl whose kustomize is at least {OLDEST}")
    done = run(kubectl, "kustomize", KUBERNETES / "overlays" / overlay)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def workloads(overlay):
    """Name and pod of all that runs containers."""
    found = [(each["metadata"]["name"], pod(each)) for each in built(overlay)]
    return {name: spec for name, spec in found if spec is not None}


def pod(manifest):
    """The pod's spec of a workload; None for what has none."""
    if manifest["kind"] == "JobSet":
        return jobs_of(manifest)[0]["spec"]["template"]["spec"]
    if manifest["kind"] not in NESTED:
        return None
    for key in NESTED[manifest["kind"]]:
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
        for each in built(overlay)
        if each["kind"] == kind
    }
