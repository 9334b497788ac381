"""Reading and changing the ConfigMap of the modes, wherever the controller runs."""

from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec

from controller.cli.explain_reach import NotReached, Whereabouts, connected, lease
from controller.kube.client import Client, Traffic
from controller.kube.lease import AlwaysLeading
from controller.kube.urls import path_of
from controller.modes import KEY, Mode, Modes, parse
from controller.ports import ApiError, NotFound
from controller.wire.objects import decode_config_map


class NoModes(Exception):
    """There is nothing to change; the message says why and what to do."""


async def read(whereabouts: Whereabouts, name: str) -> Modes:
    """What the ConfigMap of that name says. Raises ApiError, ConfigurationError, NotReached or NoModes."""
    async with connected(whereabouts) as (_, client):
        return _modes(await _get(client, await _namespace(client, whereabouts), name))


async def change(
    whereabouts: Whereabouts, name: str, mode: Mode, namespaces: tuple[str, ...]
) -> tuple[Modes, list[str]]:
    """Set the mode of some namespaces, or of all if none is named, which then have none of their own any more.

    Freezing all leaves the modes of single namespaces for later. Also gives why the change may mean nothing.

    Raises:
        ApiError, ConfigurationError, NotReached, NoModes.
    """
    async with connected(whereabouts, AlwaysLeading()) as (_, client):
        namespace = await _namespace(client, whereabouts)
        before = decode_config_map(await _get(client, namespace, name)).data or {}
        data: dict[str, str | None] = {f"{KEY}.{chosen}": mode for chosen in namespaces}
        if not namespaces:
            own = [key for key in before if key.startswith(f"{KEY}.")]
            data = {KEY: mode} | ({} if mode == "freeze" else dict.fromkeys(own))
        body = msgspec.json.encode({"data": data})
        answer = await client.write(
            "PATCH", _path(namespace, name), Traffic.STATUS, body, content_type="application/merge-patch+json"
        )
        return _modes(answer), [doubt async for doubt in _doubts(client, whereabouts, namespace, namespaces)]


async def _doubts(
    client: Client, whereabouts: Whereabouts, beside: str, namespaces: tuple[str, ...]
) -> AsyncIterator[str]:
    """What may have been mistyped. Before a controller or a namespace is there it is in order: nothing fails."""
    with suppress(ApiError, NotReached):
        _, held_in = await lease(client, msgspec.structs.replace(whereabouts, lease_namespace=beside))
        if not held_in:
            yield (
                f"there is no Lease {beside}/{whereabouts.lease_name}: no controller obeys this, unless it runs with "
                "--leader-elect=false"
            )
    for namespace in namespaces:
        try:
            await client.get(path_of("api", "v1", "namespaces", namespace), Traffic.DISCOVERY)
        except NotFound:
            yield f"there is no namespace {namespace}"
        except ApiError:
            return  # not everybody who may change modes may look


def _modes(body: bytes) -> Modes:
    return parse(decode_config_map(body).data or {})


async def _get(client: Client, namespace: str, name: str) -> bytes:
    try:
        return await client.get(_path(namespace, name), Traffic.DISCOVERY)
    except NotFound as error:
        raise NoModes(
            f"there is no ConfigMap {namespace}/{name}, so no controller can be told what to write. Create it, "
            f"`kubectl -n {namespace} create configmap {name}`, and have the controller read it: --modes-configmap, or "
            "modesConfigmap in the values of the chart"
        ) from error


async def _namespace(client: Client, whereabouts: Whereabouts) -> str:
    """Where the ConfigMap is: beside the Lease."""
    if whereabouts.lease_namespace:
        return whereabouts.lease_namespace
    _, namespace = await lease(client, whereabouts)
    if not namespace:
        raise NotReached(
            f"the controller is found by its Lease {whereabouts.lease_name}, and there is none; name its namespace "
            "with --lease-namespace"
        )
    return namespace


def _path(namespace: str, name: str) -> str:
    return path_of("api", "v1", "namespaces", namespace, "configmaps", name)
