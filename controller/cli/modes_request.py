"""Reading and changing the ConfigMap of the modes, wherever the controller runs."""

import os
import platform
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from controller.clock import SystemClock
from controller.kube.client import Client, Measurements, Traffic, path_of
from controller.kube.connection import Connection
from controller.kube.kubeconfig import load
from controller.kube.lease import AlwaysLeading
from controller.modes import KEY, Mode, Modes, parse
from controller.ports import NotFound
from controller.version import __version__
from controller.wire.autoscalers import decode_metadata
from controller.wire.objects import decode_config_map, decode_list

LEASE: Final = "hpa-controller"
_LEASES: Final = "/apis/coordination.k8s.io/v1/leases"


class NoModes(Exception):
    """There is nothing to change; the message says why and what to do."""


class Place(msgspec.Struct, frozen=True):
    """Where to look. Empty texts: as kubectl finds it; `namespace` empty: that of the controller's Lease."""

    kubeconfig: str
    context: str
    namespace: str
    name: str


async def read(place: Place) -> Modes:
    """What the modes are now. Raises ApiError, ConfigurationError or NoModes."""
    async with _client(place) as client:
        path = await _path(client, place)
        return _modes(await _get(client, path, place))


async def change(place: Place, mode: Mode, namespaces: tuple[str, ...]) -> Modes:
    """Set the mode of some namespaces, or of all if none is named, which then have none of their own any more.

    Freezing all leaves the modes of single namespaces for later.

    Raises:
        ApiError, ConfigurationError, NoModes.
    """
    async with _client(place) as client:
        path = await _path(client, place)
        before = decode_config_map(await _get(client, path, place)).data or {}
        data: dict[str, str | None] = {f"{KEY}.{namespace}": mode for namespace in namespaces}
        if not namespaces:
            own = [key for key in before if key.startswith(f"{KEY}.")]
            data = {KEY: mode} | ({} if mode == "freeze" else dict.fromkeys(own))
        body = msgspec.json.encode({"data": data})
        answer = await client.write("PATCH", path, Traffic.STATUS, body, content_type="application/merge-patch+json")
        return _modes(answer)


def _modes(body: bytes) -> Modes:
    return parse(decode_config_map(body).data or {})


async def _get(client: Client, path: str, place: Place) -> bytes:
    try:
        return await client.get(path, Traffic.DISCOVERY)
    except NotFound as error:
        raise NoModes(
            f"there is no ConfigMap {path.split('/')[4]}/{place.name}, so no controller can be told what to write. "
            "Create it empty and start the controller with --modes-configmap (the chart does both)"
        ) from error


async def _path(client: Client, place: Place) -> str:
    namespace = place.namespace or await _found(client)
    return path_of("api", "v1", "namespaces", namespace, "configmaps", place.name)


async def _found(client: Client) -> str:
    """The namespace of the controller's Lease."""
    body = await client.get(_LEASES, Traffic.DISCOVERY, query={"fieldSelector": f"metadata.name={LEASE}"})
    leases = [decode_metadata(bytes(item)).identity for item in decode_list(body).items or ()]
    namespaces = sorted(lease.namespace for lease in leases if lease.name == LEASE)
    if len(namespaces) != 1:
        found = f"{len(namespaces)} of them: {', '.join(namespaces)}" if namespaces else "none"
        raise NoModes(f"the controller is found by its Lease {LEASE}, and there is {found}; name its namespace with -n")
    return namespaces[0]


@asynccontextmanager
async def _client(place: Place) -> AsyncIterator[Client]:
    access = load(place.kubeconfig or None, environment=os.environ, context=place.context or None)
    connection = Connection(access, SystemClock())
    try:
        yield Client(
            connection,
            user_agent=f"hpa-controller/{__version__} ({platform.system().lower()}/{platform.machine()})",
            leadership=AlwaysLeading(),
            random=random.SystemRandom().random,
            measurements=Measurements(lambda *_: None),
        )
    finally:
        await connection.close()
