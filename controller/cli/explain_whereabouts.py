"""Where a running controller is: what a user says of it, and the Lease and the pod that are found in the cluster.

The Lease names the process that decides; in a pod its host name is the pod's name.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from controller.kube.client import Client
from controller.kube.errors import decoded
from controller.kube.port_forward import Door
from controller.kube.traffic import Traffic
from controller.kube.urls import path_of
from controller.ports import ApiError, NotFound, Refused

PORT_DEFAULT: Final = 8082
_LEASES: Final = "/apis/coordination.k8s.io/v1/leases"
_OWN: Final = {"labelSelector": "app.kubernetes.io/part-of=hpa-controller,app.kubernetes.io/component=controller"}
"""The chart's pods, whatever `nameOverride` calls them."""
_BIND: Final = re.compile(r"--introspection-bind-address[= ](\S+)")
_HOST_NAME_MAX: Final = 63
"""What Linux has room for; names of pods may be longer."""

ANSWER: Final = "its answer, which is none of an API server,"
DIRECT: Final = "give --introspection-address HOST:PORT to ask it directly"


class NotReached(Exception):
    """No controller could be asked; the message says why and what to do."""


class Whereabouts(msgspec.Struct, frozen=True):
    """Where to look; empty texts: as kubectl finds it, and in any namespace. `address` needs no cluster."""

    address: str = ""
    kubeconfig: str = ""
    context: str = ""
    lease_namespace: str = ""
    lease_name: str = "hpa-controller"


class _Metadata(msgspec.Struct, rename="camel", frozen=True):
    name: str = ""
    namespace: str = ""
    annotations: dict[str, str] | None = None


class _LeaseSpec(msgspec.Struct, rename="camel", frozen=True):
    holder_identity: str | None = None


class _Container(msgspec.Struct, rename="camel", frozen=True):
    command: list[str] | None = None
    args: list[str] | None = None


class _PodSpec(msgspec.Struct, rename="camel", frozen=True):
    containers: tuple[_Container, ...] = ()


class _PodStatus(msgspec.Struct, rename="camel", frozen=True):
    phase: str = ""


class _Lease(msgspec.Struct):
    metadata: _Metadata
    spec: _LeaseSpec = _LeaseSpec()


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()


class _Leases(msgspec.Struct):
    items: list[_Lease] | None = None


class _Pods(msgspec.Struct):
    items: list[_Pod] | None = None


class Held(msgspec.Struct, frozen=True):
    """Who holds the controller's Lease, its namespace and annotations. Empty texts: nobody, and there is none."""

    identity: str = ""
    namespace: str = ""
    annotations: Mapping[str, str] = {}


async def find(client: Client, whereabouts: Whereabouts) -> Door:
    """The port to ask, of the pod that holds the Lease.

    Raises:
        NotReached: nobody holds it, or not a pod.
        ApiError: the API server did not say.
    """
    held = await lease(client, whereabouts)
    identity, namespace = held.identity, held.namespace
    if not identity:
        return _door(await _running(client, whereabouts, namespace))
    # hostname_uuid; the host name of a pod is its name.
    name = identity.rpartition("_")[0] or identity
    try:
        body = await client.get(path_of("api", "v1", "namespaces", namespace, "pods", name), Traffic.DISCOVERY)
    except NotFound as error:
        pod = await _elsewhere(client, name)
        if pod is None:
            raise NotReached(
                f"the Lease {namespace}/{whereabouts.lease_name} is held by {identity}, which is no pod of the chart: "
                f"the controller runs outside of the cluster, or is gone; {DIRECT}"
            ) from error
        return _door(pod)
    return _door(decoded(body, _Pod, ANSWER))


async def lease(client: Client, whereabouts: Whereabouts) -> Held:
    """Who holds the controller's Lease.

    Raises:
        NotReached: there are several.
        ApiError: the API server did not say.
    """
    name, namespace = whereabouts.lease_name, whereabouts.lease_namespace
    path = _LEASES if not namespace else _LEASES.replace("/leases", f"/namespaces/{namespace}/leases")
    try:
        body = await client.get(path, Traffic.DISCOVERY, query={"fieldSelector": f"metadata.name={name}"})
    except Refused as error:
        narrower = "" if namespace else "; name the Lease's namespace with --lease-namespace"
        raise Refused(f"{error}{narrower}", error.status, error.reason) from error
    leases = [one for one in decoded(body, _Leases, ANSWER).items or () if one.metadata.name == name]
    # One that was given up is left behind where a controller was installed before.
    leases = [one for one in leases if one.spec.holder_identity] or leases
    if len(leases) > 1:
        found = ", ".join(sorted(one.metadata.namespace for one in leases))
        raise NotReached(f"there are several Leases {name}, in {found}; choose one with --lease-namespace")
    if not leases:
        return Held()
    found_one = leases[0]
    return Held(
        found_one.spec.holder_identity or "", found_one.metadata.namespace, found_one.metadata.annotations or {}
    )


async def _elsewhere(client: Client, host: str) -> _Pod | None:
    """A pod of the chart with this host name, as its Lease may be in another namespace; None if none can be found.

    Of several whose long names begin alike one is asked; if it is not who decides, it says so.
    """
    try:
        found = [pod for pod in await _pods(client, "") if pod.metadata.name[:_HOST_NAME_MAX].rstrip("-.") == host]
    except ApiError:
        return None
    return min(found, key=_place, default=None)


async def _running(client: Client, whereabouts: Whereabouts, lease_in: str) -> _Pod:
    """A running pod of the chart: nobody holds the Lease, if there is one, with --leader-elect=false or --shadow."""
    found = await _pods(client, whereabouts.lease_namespace)
    running = [pod for pod in found if pod.status.phase == "Running"]
    if not running:
        lacking = f"nobody holds the Lease {lease_in}/" if lease_in else "there is no Lease "
        raise NotReached(
            f"{lacking}{whereabouts.lease_name}, and there is no pod of the chart: no controller runs in this cluster, "
            f"or it runs without --leader-elect; {DIRECT}"
        )
    return min(running, key=_place)


def _place(pod: _Pod) -> tuple[str, str]:
    return pod.metadata.namespace, pod.metadata.name


async def _pods(client: Client, namespace: str) -> list[_Pod]:
    """All pods of the chart, of a namespace if that is not empty."""
    segments = ("namespaces", namespace, "pods") if namespace else ("pods",)
    body = await client.get(path_of("api", "v1", *segments), Traffic.DISCOVERY, query=_OWN)
    return decoded(body, _Pods, ANSWER).items or []


def _door(pod: _Pod) -> Door:
    """The introspection port as the pod's command line has it."""
    words = " ".join(word for one in pod.spec.containers for word in (*(one.command or ()), *(one.args or ())))
    matched = _BIND.search(words)
    where = f"pod {pod.metadata.namespace}/{pod.metadata.name}"
    if pod.status.phase not in ("", "Running"):
        raise NotReached(f"{where} holds the Lease, but is {pod.status.phase}")
    if matched is None:
        return Door(pod.metadata.namespace, pod.metadata.name, PORT_DEFAULT)
    port = matched[1].rpartition(":")[2]
    if not port.isascii() or not port.isdigit() or int(port) == 0:
        raise NotReached(f"{where} runs with --introspection-bind-address={matched[1]}: it cannot be asked")
    return Door(pod.metadata.namespace, pod.metadata.name, int(port))
