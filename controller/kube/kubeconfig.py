"""Where the API server is and who we are there: kubeconfig files or the pod's service account, as one `Access`.

What a user gives is read in `kubeconfig_user`. Tokens and plug-ins are handed on to `credentials`, which keeps them
fresh, files of certificates to `connection`.
"""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from yarl import URL

from controller.kube.credentials import FileToken, NoCredentials, TokenSource
from controller.kube.kubeconfig_files import ConfigurationError, may_be_there, merged
from controller.kube.kubeconfig_user import (
    Material,
    client_certificate_of,
    impersonation_of,
    material_of,
    refuse_auth_provider,
    tokens_of,
)
from controller.kube.proxies import proxy_of

DEFAULT_PATH: Final = "~/.kube/config"
SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Access(msgspec.Struct, frozen=True):
    """How to reach an API server.

    `namespace` is the context's or the pod's. `source` names where all this came from. Files are None where not used,
    or where there is text (PEM) instead: `ca_text`, and `certificate` with its key. `headers` are sent with every
    request (impersonation).
    """

    server: str
    source: str
    tokens: TokenSource
    namespace: str = "default"
    ca_file: str | None = None
    ca_text: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    certificate: tuple[str, str] | None = None
    verify: bool = True
    server_name: str | None = None
    proxy: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


def load(
    kubeconfig: str | None,
    *,
    environment: Mapping[str, str],
    context: str | None = None,
    master: str | None = None,
) -> Access:
    """The access that flags and environment name.

    In this order: `kubeconfig`, $KUBECONFIG, the service account of the pod we run in, ~/.kube/config. `master`
    replaces the server's address. Where no proxy is given there the environment's is taken.

    Raises:
        ConfigurationError: nothing is found, or what is found cannot be used.
    """
    named = kubeconfig or environment.get("KUBECONFIG")
    if named:
        access = _from_files(named, context)
    elif environment.get("KUBERNETES_SERVICE_HOST"):
        access = of_pod(environment, SERVICE_ACCOUNT)
    elif _at_home():
        access = _from_files(DEFAULT_PATH, context)
    elif master:
        access = Access(server=master, source="--master", tokens=NoCredentials())
    else:
        raise ConfigurationError(
            f"no cluster to talk to: give --kubeconfig, set KUBECONFIG, create {DEFAULT_PATH}, or run in a pod"
        )
    server = _address(master, "--master") if master else access.server
    return msgspec.structs.replace(access, server=server, proxy=access.proxy or _proxy_around(server, environment))


def _proxy_around(server: str, environment: Mapping[str, str]) -> str | None:
    """The environment's proxy for the server."""
    named = proxy_of(server, environment)
    if named is None:
        return None
    return _proxy(named.address, f"{named.variable}, which counts as NO_PROXY does not have {server}")


def _at_home() -> bool:
    """Whether there may be a kubeconfig at its usual place."""
    try:
        return may_be_there(Path(DEFAULT_PATH).expanduser())
    except RuntimeError:
        return False  # a user without a home


def of_pod(environment: Mapping[str, str], folder: Path) -> Access:
    """The access of a pod's service account in a folder, whose token file is read anew all along.

    Raises:
        ConfigurationError: a file or a variable is missing.
    """
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "")
    missing = [name for name in ("token", "ca.crt") if not _filled(folder / name)]
    if not host or not port or missing:
        problem = f"{missing[0]} is missing or empty." if missing else "KUBERNETES_SERVICE_HOST or …_PORT is not set."
        raise ConfigurationError(
            f"the pod's service account in {folder} cannot be used: {problem} "
            f"Is automountServiceAccountToken off? Outside a pod, give --kubeconfig or unset KUBERNETES_SERVICE_HOST."
        )
    try:
        namespace = (folder / "namespace").read_text().strip() or "default"
    except (OSError, ValueError):
        namespace = "default"
    return Access(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        source="the pod's service account",
        tokens=FileToken(str(folder / "token")),
        namespace=namespace,
        ca_file=str(folder / "ca.crt"),
    )


def _filled(path: Path) -> bool:
    """Whether it is a file with something in it."""
    return path.is_file() and path.stat().st_size > 0


def _from_files(paths: str, context_name: str | None) -> Access:
    """The chosen or current context of kubeconfig files, merged as kubectl does: the first file wins."""
    config = merged(paths)
    name = context_name or config.current
    if not name:
        raise ConfigurationError(f"{paths}: no current-context is set; there are {config.names('contexts')}")
    context = config.entry("contexts", name)
    cluster = config.entry("clusters", str(context.get("cluster") or ""))
    user_name = str(context.get("user") or "")
    user = config.entry("users", user_name) if user_name else {}
    of_user = f"{paths}: user {user_name!r}"
    refuse_auth_provider(user, of_user)
    cluster_name = context.get("cluster")
    if not cluster.get("server"):
        raise ConfigurationError(f"{paths}: cluster {cluster_name!r} has no server")
    server = _address(cluster["server"], f"{paths}: cluster {cluster_name!r}")
    verify = not _flag(cluster, "insecure-skip-tls-verify", f"{paths}: cluster {cluster_name!r}")
    tokens = tokens_of(user, cluster, of_user)
    authority = material_of(cluster, "certificate-authority", f"{paths}: the cluster's") or Material()
    client = client_certificate_of(user, paths)
    return Access(
        server=server,
        source=f"{paths}, context {name}",
        tokens=tokens,
        namespace=str(context.get("namespace") or "default"),
        ca_file=authority.file,
        ca_text=authority.text,
        certificate_file=client.certificate_file,
        key_file=client.key_file,
        certificate=client.certificate,
        verify=verify,
        server_name=_server_name(cluster.get("tls-server-name"), f"{paths}: cluster {cluster_name!r}"),
        proxy=_proxy(cluster.get("proxy-url"), f"{paths}: cluster {cluster_name!r}: proxy-url"),
        headers=impersonation_of(user, of_user),
    )


def _flag(entry: dict[str, Any], name: str, where: str) -> bool:
    """A field that is true or false, and false where it is not set. A text is neither, as for kubectl."""
    value = entry.get(name)
    if value is not None and not isinstance(value, bool):
        raise ConfigurationError(f"{where}: {name}: {value!r} is neither true nor false; write these without quotes")
    return bool(value)


def _address(text: Any, where: str) -> str:
    """The address of an API server without a slash at its end."""
    try:
        url = URL(str(text))
        usable = (
            url.scheme in ("http", "https") and bool(url.host) and url.port != 0 and not set(str(text)) & set(" \t\r\n")
        )
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(f"{where}: {text!r} is no address of a server such as https://10.0.0.1:6443")
    if url.user is not None or url.password is not None:
        raise ConfigurationError(f"{where}: user names and passwords do not belong into addresses")
    if url.query_string or url.fragment:
        raise ConfigurationError(f"{where}: {text!r}: an address has neither ? nor #")
    return str(url).rstrip("/")


def _server_name(text: Any, where: str) -> str | None:
    """The name to ask for and to expect in the server's certificate; None where it is that of the address."""
    if not text:
        return None
    try:
        # What TLS takes as a name only TLS knows: no NUL, no empty label, none of more than 63 characters.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=str(text))
    except (ValueError, TypeError) as error:
        raise ConfigurationError(f"{where}: tls-server-name: {text!r} is no name of a server: {error}") from error
    return str(text)


def _proxy(text: Any, where: str) -> str | None:
    if not text:
        return None
    try:
        url = URL(str(text))
    except ValueError as error:
        raise ConfigurationError(f"{where} is no address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigurationError(f"{where}: only http:// and https:// proxies are supported")
    return str(url)
