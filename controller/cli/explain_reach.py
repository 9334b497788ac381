"""Finding a running controller and asking its introspection listener: by address, or through the API server.

The Lease names the process that decides; in a pod its host name is the pod's name.
"""

import os
import random
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import aiohttp
import msgspec

from controller.clock import SystemClock
from controller.kube import port_forward
from controller.kube.client import Client
from controller.kube.connection import Connection
from controller.kube.errors import decoded, reason_of
from controller.kube.kubeconfig import Access, load
from controller.kube.lease import ReadOnly
from controller.kube.port_forward import Door
from controller.kube.traffic import Traffic
from controller.kube.urls import path_of
from controller.ports import ApiError, Leadership, NotFound, Refused

TIMEOUT_S: Final = 30.0
PORT_DEFAULT: Final = 8082
_LEASES: Final = "/apis/coordination.k8s.io/v1/leases"
_OWN: Final = {"labelSelector": "app.kubernetes.io/part-of=hpa-controller,app.kubernetes.io/component=controller"}
"""The chart's pods, whatever `nameOverride` calls them."""
_BIND: Final = re.compile(r"--introspection-bind-address[= ](\S+)")
_HOST_NAME_MAX: Final = 63
"""What Linux has room for; names of pods may be longer."""

ANSWER: Final = "its answer, which is none of an API server,"
_DIRECT: Final = "give --introspection-address HOST:PORT to ask it directly"


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


class Controller:
    """A controller that can be asked.

    `where` names it for people; `namespace` is the kubeconfig's, empty without one.
    """

    def __init__(
        self, where: str, http: aiohttp.ClientSession | None, connection: Connection | None, door: Any
    ) -> None:
        self.where = where
        self.namespace = connection.access.namespace if connection is not None else ""
        self._http = http
        self._connection = connection
        self._door = door

    async def get(self, path: str) -> tuple[int, bytes]:
        """Status and body of its answer to a percent-encoded path.

        Raises:
            NotReached: there was none.
        """
        with self._asking():
            if self._http is None:
                assert self._connection is not None  # noqa: S101 - one of the two is given
                return await port_forward.get(self._connection, self._door, path, TIMEOUT_S)
            async with self._http.get(path) as answer:
                return answer.status, await answer.read()

    @asynccontextmanager
    async def stream(self, path: str, silence_s: float) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        """Status of its answer to a percent-encoded path, and the body piece by piece as it comes.

        Raises:
            NotReached: there was none, or no more of it: broken off, or silent for so long.
        """
        with self._asking():
            if self._http is None:
                assert self._connection is not None  # noqa: S101 - one of the two is given
                async with port_forward.stream(self._connection, self._door, path, silence_s) as found:
                    yield found
                return
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT_S, sock_read=silence_s)
            async with self._http.get(path, timeout=timeout) as answer:
                yield answer.status, answer.content.iter_any()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except Refused as error:
            raise NotReached(
                f"{self.where} cannot be asked: {error}; that takes the verbs get and create on pods/portforward"
            ) from error
        except ApiError as error:
            raise NotReached(f"{self.where} cannot be asked: {error}") from error
        except (aiohttp.ClientError, TimeoutError, OSError, UnicodeError) as error:
            raise NotReached(
                f"no controller answers at {self.where}: {reason_of(error)}; is it running with "
                "--introspection-bind-address?"
            ) from error


@asynccontextmanager
async def reached(whereabouts: Whereabouts) -> AsyncIterator[Controller]:
    """The controller that decides.

    Raises:
        NotReached: it was not found; asking it may still fail.
        ConfigurationError: there is no usable kubeconfig.
    """
    if whereabouts.address:
        async with aiohttp.ClientSession(
            f"http://{whereabouts.address}", trust_env=False, timeout=aiohttp.ClientTimeout(total=TIMEOUT_S)
        ) as http:
            yield Controller(whereabouts.address, http, None, None)
        return
    async with connected(whereabouts) as (connection, client):
        yield await holder(connection, client, whereabouts)


@asynccontextmanager
async def connected(
    whereabouts: Whereabouts, leadership: Leadership | None = None
) -> AsyncIterator[tuple[Connection, Client]]:
    """The cluster of the kubeconfig, to read from only unless a leadership allows more.

    Raises:
        NotReached: its API server cannot be reached, or does not do what is asked and nobody made anything of that.
        ConfigurationError: there is no usable kubeconfig.
    """
    access = load(whereabouts.kubeconfig or None, environment=os.environ, context=whereabouts.context or None)
    connection = Connection(access, SystemClock())
    try:
        yield (
            connection,
            Client(
                connection,
                leadership=leadership or ReadOnly(),
                random=random.SystemRandom().random,
                answered=lambda *_: None,
            ),
        )
    except ApiError as error:
        raise _by(access, error) from error
    finally:
        await connection.close()


async def holder(connection: Connection, client: Client, whereabouts: Whereabouts) -> Controller:
    """The controller that decides in the cluster.

    Raises:
        NotReached: it was not found; asking it may still fail.
    """
    try:
        door = await find(client, whereabouts)
    except ApiError as error:
        raise _by(connection.access, error, f"; or {_DIRECT}" if isinstance(error, Refused) else "") from error
    return Controller(f"the controller in {door}", None, connection, door)


def _by(access: Access, error: ApiError, remedy: str = "") -> NotReached:
    return NotReached(f"the API server {access.server} ({access.source}): {error}{remedy}")


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
                f"the controller runs outside of the cluster, or is gone; {_DIRECT}"
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
            f"or it runs without --leader-elect; {_DIRECT}"
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
