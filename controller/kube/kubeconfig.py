"""Where the API server is and who we are there: kubeconfig files or the pod's service account, as one `Access`.

Tokens and plug-ins are handed on to `credentials`, which keeps them fresh, files of certificates to `connection`.
"""

import base64
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec
from yarl import URL

from controller.kube.credentials import (
    CredentialsError,
    FileToken,
    FixedCredentials,
    NoCredentials,
    TokenSource,
    basic,
    bearer,
)
from controller.kube.exec_plugin import ExecPlugin
from controller.kube.kubeconfig_files import ConfigurationError, may_be_there, merged

_PATH_SHOWN_MAX: Final = 200
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
    replaces the server's address.

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
        return Access(server=_address(master, "--master"), source="--master", tokens=NoCredentials())
    else:
        raise ConfigurationError(
            f"no cluster to talk to: give --kubeconfig, set KUBECONFIG, create {DEFAULT_PATH}, or run in a pod"
        )
    return msgspec.structs.replace(access, server=_address(master, "--master")) if master else access


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
    if user.get("auth-provider"):
        provider = user["auth-provider"].get("name", "") if isinstance(user["auth-provider"], dict) else ""
        raise ConfigurationError(
            f"{paths}: user {user_name!r} uses the auth-provider {provider!r}, which is not supported; "
            f"use an exec plug-in (kubelogin for OIDC)"
        )
    cluster_name = context.get("cluster")
    if not cluster.get("server"):
        raise ConfigurationError(f"{paths}: cluster {cluster_name!r} has no server")
    server = _address(cluster["server"], f"{paths}: cluster {cluster_name!r}")
    tokens = _tokens(user, cluster, paths, user_name)
    authority = _material(cluster, "certificate-authority", f"{paths}: the cluster's") or _Material()
    client = _client(user, paths)
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
        verify=not cluster.get("insecure-skip-tls-verify"),
        server_name=_server_name(cluster.get("tls-server-name"), f"{paths}: cluster {cluster_name!r}"),
        proxy=_proxy(cluster.get("proxy-url"), f"{paths}: cluster {cluster_name!r}: proxy-url"),
        headers=_impersonation(user, f"{paths}: user {user_name!r}"),
    )


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


class _Material(msgspec.Struct, frozen=True):
    """A certificate, key or authority: a file that may be replaced, or text that the kubeconfig holds itself."""

    file: str | None = None
    text: str | None = None

    def content(self) -> str:
        """What it is now. Raises OSError or ValueError for a file that cannot be read."""
        return self.text if self.text is not None else Path(self.file or "").read_text()


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # too long, for instance, as content is
        return False


def _material(entry: dict[str, Any], name: str, where: str) -> _Material | None:
    """That of an entry of a kubeconfig, None if it has none. Data counts more than a file, as for kubectl."""
    key = f"{name}-data"
    if entry.get(key):
        try:
            # Line breaks are fine, as in Go. The message shows nothing of the content.
            decoded = base64.b64decode("".join(str(entry[key]).splitlines()), validate=True)
        except ValueError as error:
            raise ConfigurationError(f"{where} {key} is no base64: {error}") from error
        if not decoded.isascii():
            raise ConfigurationError(f"{where} {key} is no PEM: it holds more than text")
        return _Material(text=decoded.decode("ascii"))
    path = entry.get(name)
    if path and not _is_file(str(path)):
        # Of what is not the name of a file nothing is shown: it may be a key.
        shown = (
            str(path) if len(str(path)) <= _PATH_SHOWN_MAX else f"it is no name of a file; content belongs into {key}"
        )
        raise ConfigurationError(f"{where} {name} does not exist: {shown}")
    return _Material(file=str(path)) if path else None


class _Client(msgspec.Struct, frozen=True):
    """A client certificate and its key, as files or, if one of them is text, as the text of both."""

    certificate_file: str | None = None
    key_file: str | None = None
    certificate: tuple[str, str] | None = None


def _client(user: dict[str, Any], paths: str) -> _Client:
    certificate = _material(user, "client-certificate", f"{paths}: the user's")
    key = _material(user, "client-key", f"{paths}: the user's")
    if certificate is None:
        return _Client()
    if key is None:
        raise ConfigurationError(
            f"{paths}: the user has a client certificate without its key; add client-key or client-key-data"
        )
    if certificate.text is None and key.text is None:
        return _Client(certificate.file, key.file)
    try:
        return _Client(certificate=(certificate.content(), key.content()))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{paths}: the user's client certificate or key cannot be read: {error}") from error


def _tokens(user: dict[str, Any], cluster: dict[str, Any], paths: str, name: str) -> TokenSource:
    if user.get("exec"):
        try:
            return ExecPlugin.from_config(user["exec"], cluster)
        except ValueError as error:
            raise ConfigurationError(f"{paths}: user {name!r}: exec: {error}") from error
    if user.get("tokenFile"):
        return FileToken(str(user["tokenFile"]))
    if user.get("token"):
        try:
            return FixedCredentials(bearer(str(user["token"]).strip(), "its token"))
        except CredentialsError as error:
            raise ConfigurationError(f"{paths}: user {name!r}: {error}") from error
    if user.get("username"):
        return FixedCredentials(basic(str(user["username"]), str(user.get("password") or "")))
    return NoCredentials()


def _impersonation(user: dict[str, Any], where: str) -> tuple[tuple[str, str], ...]:
    """Headers for `as` and what goes with it; names of extra fields are percent-encoded, as client-go does."""
    groups, extra = user.get("as-groups") or [], user.get("as-user-extra") or {}
    if not isinstance(groups, list):
        raise ConfigurationError(f"{where}: as-groups is not a list")
    if not isinstance(extra, dict) or not all(isinstance(values, list) for values in extra.values()):
        raise ConfigurationError(f"{where}: as-user-extra does not map names to lists")
    if not user.get("as"):
        if user.get("as-uid") or groups or extra:
            raise ConfigurationError(f"{where}: as-uid, as-groups and as-user-extra need `as`, the user to act as")
        return ()
    headers = [("Impersonate-User", user["as"])]
    headers += [("Impersonate-Uid", user["as-uid"])] if user.get("as-uid") else []
    headers += [("Impersonate-Group", group) for group in groups]
    for name, values in extra.items():
        headers += [(f"Impersonate-Extra-{quote(str(name), safe='')}", value) for value in values]
    if not all(str(value).isprintable() for _, value in headers):
        raise ConfigurationError(f"{where}: what to act as holds line breaks or other unprintable characters")
    return tuple((name, str(value)) for name, value in headers)
