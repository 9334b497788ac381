"""ExecCredential (client.authentication.k8s.io): what a plug-in is told, and what it prints."""

import base64
from pathlib import Path
from typing import Any, Final

import msgspec

from controller.decide.instants import parse_rfc3339
from controller.kube.credentials import Credentials, CredentialsError, bearer
from controller.os_errors import why

OUTPUT_BYTES_MAX: Final = 1024 * 1024
API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_CLUSTER_CONFIG: Final = "client.authentication.k8s.io/exec"


class Printed(msgspec.Struct, frozen=True):
    """What the program printed; `expires_ns` None: never."""

    credentials: Credentials
    expires_ns: int | None


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    kind: str
    api_version: str
    status: _Status | None = None


def decode_credential(name: str, api_version: str, output: bytes) -> Printed:
    """What the plug-in of this name printed, as an ExecCredential of this version.

    Raises:
        CredentialsError: it is none that can be used.
    """
    problem = f"the exec plug-in {name!r} printed no usable ExecCredential"
    if len(output) > OUTPUT_BYTES_MAX:
        raise CredentialsError(f"{problem}: it is larger than {OUTPUT_BYTES_MAX} bytes")
    try:
        printed = msgspec.json.decode(output, type=_ExecCredential)
        expiry = None if printed.status is None else printed.status.expiration_timestamp
        expires_ns = parse_rfc3339(expiry) if expiry else None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise CredentialsError(f"{problem}: {error}") from error
    if printed.kind != "ExecCredential":
        raise CredentialsError(f"{problem}: its kind is {printed.kind!r}")
    if printed.api_version != api_version:
        raise CredentialsError(f"{problem}: its apiVersion is {printed.api_version!r}, not {api_version!r}")
    if printed.status is None:
        raise CredentialsError(f"{problem}: it has no status")
    token, key = printed.status.token or "", printed.status.client_key_data or ""
    certificate = printed.status.client_certificate_data or ""
    if bool(certificate) != bool(key):
        raise CredentialsError(f"{problem}: a client certificate and its key come together or not at all")
    if not token and not certificate:
        raise CredentialsError(f"{problem}: neither a token nor a client certificate")
    authorization = bearer(token, f"what the exec plug-in {name!r} printed").authorization if token else None
    return Printed(Credentials(authorization, (certificate, key) if certificate else None), expires_ns)


def cluster_info(cluster: dict[str, Any]) -> dict[str, Any]:
    """What a plug-in with provideClusterInfo is told of a kubeconfig's cluster; without fields that are not set.

    Raises:
        ValueError: the file of its authority cannot be read.
    """
    authority = cluster.get("certificate-authority-data")
    if not authority and cluster.get("certificate-authority"):
        try:
            authority = base64.b64encode(Path(cluster["certificate-authority"]).read_bytes()).decode()
        except OSError as error:
            raise ValueError(f"{cluster['certificate-authority']}: {why(error)}") from error
    info = {
        "server": cluster.get("server"),
        "tls-server-name": cluster.get("tls-server-name"),
        "insecure-skip-tls-verify": cluster.get("insecure-skip-tls-verify"),
        "certificate-authority-data": authority,
        "proxy-url": cluster.get("proxy-url"),
        "config": _extension(cluster, _CLUSTER_CONFIG),
    }
    return {key: value for key, value in info.items() if value}


def _extension(cluster: dict[str, Any], name: str) -> Any:
    extensions = cluster.get("extensions")
    for entry in extensions if isinstance(extensions, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name:
            return entry.get("extension")
    return None
