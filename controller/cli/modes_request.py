"""Reading and changing the ConfigMap of the modes, wherever the controller runs."""

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

import msgspec

from controller.cli.explain_reach import connected
from controller.cli.explain_whereabouts import ANSWER, Held, NotReached, Whereabouts, lease
from controller.kube.client import Client
from controller.kube.errors import decoded
from controller.kube.lease import AlwaysLeading
from controller.kube.traffic import Traffic
from controller.kube.urls import path_of
from controller.modes import KEY, OBEYED, Mode, Modes, parse
from controller.ports import ApiError, NotFound
from controller.wire.objects import ConfigMap


class NoModes(Exception):
    """There is nothing to change; the message says why and what to do."""


class Said(msgspec.Struct, frozen=True):
    """What a ConfigMap says, why that may not be what was meant, and why nobody obeys it (empty: somebody may)."""

    modes: Modes
    doubts: tuple[str, ...] = ()
    unheard: str = ""


async def read(whereabouts: Whereabouts, name: str) -> Said:
    """What the ConfigMap of that name says. Raises ConfigurationError, NotReached or NoModes."""
    async with connected(whereabouts) as (_, client):
        namespace = await _namespace(client, whereabouts)
        modes = _modes(await _get(client, namespace, name))
        held = await _held(client, whereabouts, namespace)
        return Said(modes, unheard="" if held is None else _unheard(held, name))


async def change(whereabouts: Whereabouts, name: str, mode: Mode, namespaces: tuple[str, ...]) -> Said:
    """Set the mode of some namespaces, or of all if none is named, which then have none of their own any more.

    Freezing all leaves the modes of single namespaces for later.

    Raises:
        ConfigurationError, NotReached, NoModes.
    """
    async with connected(whereabouts, AlwaysLeading()) as (_, client):
        namespace = await _namespace(client, whereabouts)
        before = _data(await _get(client, namespace, name))
        data: dict[str, str | None] = {f"{KEY}.{chosen}": mode for chosen in namespaces}
        if not namespaces:
            own = [key for key in before if key.startswith(f"{KEY}.")]
            data = {KEY: mode} | ({} if mode == "freeze" else dict.fromkeys(own))
        body = msgspec.json.encode({"data": data})
        answer = await client.write(
            "PATCH", _path(namespace, name), Traffic.STATUS, body, content_type="application/merge-patch+json"
        )
        modes, held = _modes(answer), await _held(client, whereabouts, namespace)
        doubts = [doubt async for doubt in _mistyped(client, namespaces)]
        if held is not None and not held.namespace:
            doubts.append(
                f"there is no Lease {namespace}/{whereabouts.lease_name}: no controller obeys this, unless one runs "
                "with --leader-elect=false"
            )
        if mode != "freeze" and namespaces and modes.everywhere == "freeze":
            doubts.append(f"{', '.join(namespaces)}: still frozen, as all namespaces are, until `promote --all`")
        return Said(modes, tuple(doubts), "" if held is None else _unheard(held, name))


async def _held(client: Client, whereabouts: Whereabouts, beside: str) -> Held | None:
    """The Lease beside the ConfigMap; None if it cannot be looked at, which not everybody may."""
    with suppress(ApiError, NotReached):
        return await lease(client, msgspec.structs.replace(whereabouts, lease_namespace=beside))
    return None


def _unheard(held: Held, name: str) -> str:
    """Why whoever holds the Lease does not obey that ConfigMap; empty if it does, or does not say."""
    obeyed = held.annotations.get(OBEYED)
    if not held.identity or obeyed is None or obeyed == name:
        return ""
    started = f"with --modes-configmap={obeyed}" if obeyed else "without --modes-configmap"
    return f"this is not obeyed: {held.identity}, which leads, was started {started} and goes on as before"


async def _mistyped(client: Client, namespaces: tuple[str, ...]) -> AsyncIterator[str]:
    """Namespaces that there are not. Before they are made that is in order."""
    for namespace in namespaces:
        try:
            await client.get(path_of("api", "v1", "namespaces", namespace), Traffic.DISCOVERY)
        except NotFound:
            yield f"there is no namespace {namespace}"
        except ApiError:
            return  # not everybody who may change modes may look


def _modes(body: bytes) -> Modes:
    return parse(_data(body))


def _data(body: bytes) -> Mapping[str, str]:
    return decoded(body, ConfigMap, ANSWER).data or {}


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
    namespace = (await lease(client, whereabouts)).namespace
    if not namespace:
        raise NotReached(
            f"the controller is found by its Lease {whereabouts.lease_name}, and there is none; name its namespace "
            "with --lease-namespace"
        )
    return namespace


def _path(namespace: str, name: str) -> str:
    return path_of("api", "v1", "namespaces", namespace, "configmaps", name)
