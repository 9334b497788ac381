"""Credentials in files and from plug-ins that are replaced while a controller runs."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.e2e.audited import requests_of
from tests.e2e.namespaces import create_service_account
from tests.e2e.roles import (
    CONTROLLERS,
    LEASE_NAMESPACE,
    SCALE_WATCH_ROLE,
    allow_control,
    bind_cluster_role,
    service_account,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from pathlib import Path

    from tests.e2e.control_plane import ControlPlane

EXEC_VERSION = "client.authentication.k8s.io/v1"
# Of so short a life the controller waits for four fifths before it asks the plug-in anew.
_LIFE = dt.timedelta(seconds=15)

_PLUGIN = """\
#!/bin/sh
printf '%s\\n' "$KUBERNETES_EXEC_INFO" >> "$1.calls"
cat "$1"
"""


@dataclasses.dataclass(frozen=True)
class Renewal:
    """A user entry of a kubeconfig, and how its credentials are replaced."""

    name: str
    entry: Mapping[str, Any]
    user: str
    """Who the controller is at first."""
    renew: Callable[[], Awaitable[None]]
    """Puts new credentials where the old ones were, and takes the old ones away where that is possible."""
    renewed: Callable[[int], bool]
    """Whether a request came with the new ones since a position in the audit log."""
    calls: Path | None = None
    """What the plug-in was told, a line per call."""


@asynccontextmanager
async def _tokens(plane: ControlPlane, name: str) -> AsyncIterator[tuple[str, str, Callable[[], Awaitable[None]]]]:
    """Two tokens of a controller's new service account, and what makes the first of them worthless."""
    secrets = f"/api/v1/namespaces/{LEASE_NAMESPACE}/secrets"
    await create_service_account(plane.admin, LEASE_NAMESPACE, name)
    subject = service_account(LEASE_NAMESPACE, name)
    await bind_cluster_role(plane.admin, SCALE_WATCH_ROLE, subject)
    await allow_control(plane.admin, subject)
    tokens = []
    for number in (1, 2):
        secret = await plane.admin.create(secrets, {"metadata": {"name": f"{name}-{number}"}})
        tokens.append(await plane.service_account_token(LEASE_NAMESPACE, name, bound_to=secret))

    async def revoke() -> None:
        await plane.admin.delete(f"{secrets}/{name}-1")

    yield tokens[0], tokens[1], revoke
    await plane.admin.delete(f"{secrets}/{name}-2")


@asynccontextmanager
async def token_file(plane: ControlPlane, folder: Path) -> AsyncIterator[Renewal]:
    """A token file, as kubelet keeps it."""
    name, path = "token-file", folder / "token"
    async with _tokens(plane, name) as (first, second, revoke):
        _replace(path, first)

        async def renew() -> None:
            _replace(path, second)
            await revoke()

        user = f"system:serviceaccount:{LEASE_NAMESPACE}:{name}"
        yield Renewal(name, {"tokenFile": str(path)}, user, renew, _came_with_token(plane, user, second))


@asynccontextmanager
async def token_plugin(plane: ControlPlane, folder: Path) -> AsyncIterator[Renewal]:
    """A plug-in that prints a token and does not know how long that is good."""
    name, path = "token-plugin", folder / "token.json"
    async with _tokens(plane, name) as (first, second, revoke):
        _replace(path, _printed({"token": first}))

        async def renew() -> None:
            _replace(path, _printed({"token": second}))
            await revoke()

        user = f"system:serviceaccount:{LEASE_NAMESPACE}:{name}"
        renewed = _came_with_token(plane, user, second)
        yield Renewal(name, _exec_entry(folder, path), user, renew, renewed, path.with_name("token.json.calls"))


def certificate_files(plane: ControlPlane, folder: Path) -> Renewal:
    """Files of a client certificate and its key."""
    name = "certificate-files"
    certificate, key = folder / "client.crt", folder / "client.key"
    credentials = [plane.credential_for(f"{name}-{number}", [CONTROLLERS]) for number in (1, 2)]

    def put(number: int) -> None:
        _replace(certificate, credentials[number].certificate.read_text())
        _replace(key, credentials[number].key.read_text())

    put(0)

    async def renew() -> None:
        put(1)

    def renewed(start: int) -> bool:
        return bool(requests_of(plane, f"{name}-2", start))

    entry = {"client-certificate": str(certificate), "client-key": str(key)}
    return Renewal(name, entry, f"{name}-1", renew, renewed)


def certificate_plugin(plane: ControlPlane, folder: Path) -> Renewal:
    """A plug-in that prints a client certificate, the first of which expires before long."""
    name, path = "certificate-plugin", folder / "certificate.json"

    def put(number: int, **status: str) -> None:
        credential = plane.credential_for(f"{name}-{number}", [CONTROLLERS])
        texts = credential.certificate.read_text(), credential.key.read_text()
        _replace(path, _printed({"clientCertificateData": texts[0], "clientKeyData": texts[1], **status}))

    expiry = dt.datetime.now(dt.UTC) + _LIFE  # noqa: TID251  # plug-ins tell wall times
    put(1, expirationTimestamp=expiry.strftime("%Y-%m-%dT%H:%M:%SZ"))

    async def renew() -> None:
        put(2)

    def renewed(start: int) -> bool:
        return bool(requests_of(plane, f"{name}-2", start))

    calls = path.with_name("certificate.json.calls")
    return Renewal(name, _exec_entry(folder, path), f"{name}-1", renew, renewed, calls)


def _exec_entry(folder: Path, output: Path) -> Mapping[str, Any]:
    plugin = folder / "plugin"
    plugin.write_text(_PLUGIN)
    plugin.chmod(0o700)
    return {
        "exec": {
            "apiVersion": EXEC_VERSION,
            "command": str(plugin),
            "args": [str(output)],
            "interactiveMode": "Never",
            "provideClusterInfo": True,
        }
    }


def _printed(status: Mapping[str, str]) -> str:
    return json.dumps({"apiVersion": EXEC_VERSION, "kind": "ExecCredential", "status": status})


def _came_with_token(plane: ControlPlane, user: str, token: str) -> Callable[[int], bool]:
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))

    def came(start: int) -> bool:
        return any(each.credential == f"JTI={claims['jti']}" for each in requests_of(plane, user, start))

    return came


def _replace(path: Path, text: str) -> None:
    """In one step, as whoever rotates credentials does."""
    new = path.with_name(f"{path.name}.new")
    new.touch(mode=0o600)
    new.write_text(text)
    new.replace(path)
