"""Defaults of pods, of what owns pods, and of the small core kinds, as far as somebody sees them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controller.lab.objects.resources import Object


def _fill(target: Object, **defaults: object) -> None:
    for name, value in defaults.items():
        target.setdefault(name, value)


def pod_spec(spec: Object) -> None:
    """Fill in a pod spec, also that of a template."""
    _fill(
        spec,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        _container(container)


def _container(container: Object) -> None:
    image = container.get("image", "")
    tag = image.rpartition("/")[2].partition("@")[0].rpartition(":")[2] if ":" in image.rpartition("/")[2] else ""
    latest = tag in ("", "latest") and "@" not in image
    _fill(
        container,
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy="Always" if latest else "IfNotPresent",
    )
    for port in container.get("ports") or ():
        _fill(port, protocol="TCP")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if name in container:
            if "httpGet" in container[name]:
                _fill(container[name]["httpGet"], path="/", scheme="HTTP")
            _fill(container[name], timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3)


def pod(obj: Object) -> None:
    """Fill in a Pod: what a template gets, and requests from limits."""
    spec = obj["spec"]
    pod_spec(spec)
    _fill(spec, enableServiceLinks=True)
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        limits = container["resources"].get("limits")
        if limits:
            container["resources"]["requests"] = {**limits, **container["resources"].get("requests", {})}


def start_pod(obj: Object) -> None:
    """Give a new Pod the status it starts with."""
    obj["status"] = {"phase": "Pending", "qosClass": quality_of_service(obj["spec"])}


def keep_quality_of_service(new: Object, old: Object) -> None:
    """Put back the class of a Pod when a status was written without it."""
    known = old["status"].get("qosClass")
    if known:
        new["status"].setdefault("qosClass", known)


def quality_of_service(spec: Object) -> str:
    """The class a pod belongs to by its requests and limits of CPU and memory."""
    every = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    resources = [container.get("resources", {}) for container in every]
    relevant = [
        {name: amounts.get(name) for name in ("cpu", "memory") if amounts.get(name)}
        for resource in resources
        for amounts in (resource.get("requests") or {}, resource.get("limits") or {})
    ]
    if not any(relevant):
        return "BestEffort"
    pairs = zip(relevant[::2], relevant[1::2], strict=True)
    complete = {"cpu", "memory"}
    equal = all(set(limits) == complete and requests == limits for requests, limits in pairs)
    return "Guaranteed" if equal else "Burstable"


def deployment(obj: Object) -> None:
    """Fill in a Deployment."""
    spec = obj["spec"]
    _fill(spec, replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    _fill(spec["strategy"], type="RollingUpdate")
    if spec["strategy"]["type"] == "RollingUpdate":
        _fill(spec["strategy"], rollingUpdate={})
        _fill(spec["strategy"]["rollingUpdate"], maxUnavailable="25%", maxSurge="25%")
    pod_spec(spec["template"]["spec"])


def replica_set(obj: Object) -> None:
    """Fill in a ReplicaSet."""
    _fill(obj["spec"], replicas=1)
    pod_spec(obj["spec"]["template"]["spec"])


def stateful_set(obj: Object) -> None:
    """Fill in a StatefulSet."""
    spec = obj["spec"]
    _fill(spec, replicas=1, revisionHistoryLimit=10, podManagementPolicy="OrderedReady")
    _fill(spec, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Retain"})
    if "type" not in spec["updateStrategy"]:
        _fill(spec["updateStrategy"], type="RollingUpdate", rollingUpdate={})
    rolling = spec["updateStrategy"].get("rollingUpdate")
    if rolling is not None and spec["updateStrategy"]["type"] == "RollingUpdate":
        _fill(rolling, partition=0)
    pod_spec(spec["template"]["spec"])


def replication_controller(obj: Object) -> None:
    """Fill in a ReplicationController, whose selector and labels come from its template."""
    spec = obj["spec"]
    _fill(spec, replicas=1)
    template = spec.get("template")
    if template is None:
        return
    labels = template["metadata"].get("labels")
    if labels:
        _fill(spec, selector=dict(labels))
        _fill(obj["metadata"], labels=dict(labels))
    pod_spec(template["spec"])


def service(obj: Object) -> None:
    """Fill in a Service."""
    spec = obj["spec"]
    _fill(spec, type="ClusterIP", sessionAffinity="None")
    if spec["type"] != "ExternalName":
        _fill(spec, internalTrafficPolicy="Cluster")
    for port in spec.get("ports") or ():
        _fill(port, protocol="TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port["port"]


def namespace(obj: Object) -> None:
    """Fill in a Namespace: its phase and the label that names it."""
    _fill(obj["status"], phase="Active")
    name = obj["metadata"].get("name")
    if name:
        labels = dict(obj["metadata"].get("labels") or {})
        obj["metadata"]["labels"] = {**labels, "kubernetes.io/metadata.name": name}


def start_namespace(obj: Object) -> None:
    """Give a new Namespace the status and the finalizer it starts with."""
    obj["status"] = {"phase": "Active"}
    obj["spec"]["finalizers"] = ["kubernetes"]


def secret(obj: Object) -> None:
    """Fill in a Secret; plain texts move into its data."""
    _fill(obj, type="Opaque")
    texts = obj.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in texts.items()}
        obj["data"] = {**obj.get("data", {}), **encoded}


def node(obj: Object) -> None:
    """Fill in a Node: what can be allocated is what there is, unless it says otherwise."""
    capacity = obj["status"].get("capacity")
    if capacity:
        _fill(obj["status"], allocatable=dict(capacity))
