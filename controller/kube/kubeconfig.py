"""Where the API server is and who we are there: kubeconfig files or the pod's service account, as one `Access`.

kubernetes-asyncio reads the cluster and client certificate entries; tokens and plug-ins, which it reads once and for
all, are handed on to `credentials`, which keeps them fresh.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import yaml
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_TOKEN_FILENAME,
    InClusterConfigLoader,
)
from kubernetes_asyncio.config.kube_config import KubeConfigLoader

from controller.kube.credentials import BasicAuth, ExecPlugin, FileToken, NoCredentials, StaticToken, TokenSource

DEFAULT_PATH: Final = "~/.kube/config"
_LISTS: Final = {"clusters": "cluster", "contexts": "context", "users": "user"}
_FILE_KEYS: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


class ConfigurationError(Exception):
    """The kubeconfig or the pod's service account cannot be used; the message says which file and what to do."""


class Access(msgspec.Struct, frozen=True):
    """How to reach an API server.

    `namespace` is the context's or the pod's. `source` names where all this came from. Files are None where not used;
    `headers` are sent with every request (impersonation).
    """

    server: str
    source: str
    tokens: TokenSource
    namespace: str = "default"
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
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
        access = _from_pod(environment)
    elif Path(DEFAULT_PATH).expanduser().exists():
        access = _from_files(DEFAULT_PATH, context)
    elif master:
        access = Access(server="", source="--master", tokens=NoCredentials())
    else:
        raise ConfigurationError(
            f"no cluster to talk to: give --kubeconfig, set KUBECONFIG, create {DEFAULT_PATH}, or run in a pod"
        )
    if master:
        access = msgspec.structs.replace(access, server=_checked_server(master, "--master"))
    return access


def _from_pod(environment: Mapping[str, str]) -> Access:
    """The pod's service account, whose token file is read anew all along."""
    configuration = Configuration()
    loader = InClusterConfigLoader(
        SERVICE_TOKEN_FILENAME, SERVICE_CERT_FILENAME, try_refresh_token=False, environ=dict(environment)
    )
    try:
        loader.load_and_set(configuration)
    except (ConfigException, OSError) as error:
        raise ConfigurationError(f"the pod's service account cannot be used: {error}") from error
    namespace_file = Path(SERVICE_TOKEN_FILENAME).with_name("namespace")
    try:
        namespace = namespace_file.read_text().strip() or "default"
    except OSError:
        namespace = "default"
    return Access(
        server=str(configuration.host),
        source="the pod's service account",
        tokens=FileToken(SERVICE_TOKEN_FILENAME),
        namespace=namespace,
        ca_file=configuration.ssl_ca_cert,
    )


def _from_files(paths: str, context_name: str | None) -> Access:
    """The chosen or current context of kubeconfig files, merged as kubectl does: the first file wins."""
    merged = _merged(paths)
    name = context_name or merged["current-context"]
    if not name:
        raise ConfigurationError(f"{paths}: no current-context is set; name one of {_names(merged['contexts'])}")
    context = _named(merged, "contexts", name, paths)
    cluster = _named(merged, "clusters", str(context.get("cluster") or ""), paths)
    user_name = str(context.get("user") or "")
    user = _named(merged, "users", user_name, paths) if user_name else {}
    if "auth-provider" in user:
        provider = (user["auth-provider"] or {}).get("name", "")
        raise ConfigurationError(
            f"{paths}: user {user_name!r} uses the auth-provider {provider!r}, which Kubernetes has removed; "
            f"use an exec plug-in (kubelogin for OIDC)"
        )
    if not cluster.get("server"):
        raise ConfigurationError(f"{paths}: cluster {context.get('cluster')!r} has no server")
    server = _checked_server(str(cluster["server"]), f"{paths}: cluster {context.get('cluster')!r}")
    tokens = _tokens(user, cluster, paths, user_name)
    configuration = _read_by_library(cluster, user, paths)
    return Access(
        server=server,
        source=f"{paths}, context {name}",
        tokens=tokens,
        namespace=str(context.get("namespace") or "default"),
        ca_file=configuration.ssl_ca_cert,
        certificate_file=configuration.cert_file,
        key_file=configuration.key_file,
        verify=bool(configuration.verify_ssl),
        server_name=configuration.tls_server_name,
        proxy=configuration.proxy,
        headers=_impersonation(user),
    )


def _checked_server(text: str, where: str) -> str:
    """The address, without a slash at its end."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and not set(text) & set(" \t\r\n")
        usable = usable and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(f"{where}: {text!r} is no address of a server such as https://10.0.0.1:6443")
    return text.rstrip("/")


def _read_by_library(cluster: dict[str, Any], user: dict[str, Any], paths: str) -> Configuration:
    """Certificates and addresses; what follows `exec`, `token` and `tokenFile` is ours to keep fresh."""
    kept = {key: value for key, value in user.items() if key in ("client-certificate", "client-key") or "-data" in key}
    loader = KubeConfigLoader(
        {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "c", "user": kept}],
        },
        config_base_path="",
    )
    configuration = Configuration()
    try:
        loader._load_cluster_info()  # noqa: SLF001 - load_and_set is a coroutine for what we have taken out
        loader._set_config(configuration)  # noqa: SLF001 - the same
    except (ConfigException, OSError, ValueError, AssertionError) as error:
        raise ConfigurationError(f"{paths}: {error}") from error
    return configuration


def _tokens(user: dict[str, Any], cluster: dict[str, Any], paths: str, name: str) -> TokenSource:
    if "exec" in user:
        try:
            return ExecPlugin.from_config(user["exec"], cluster)
        except ValueError as error:
            raise ConfigurationError(f"{paths}: user {name!r}: exec: {error}") from error
    if user.get("tokenFile"):
        return FileToken(str(user["tokenFile"]))
    if user.get("token"):
        return StaticToken(str(user["token"]))
    if user.get("username"):
        return BasicAuth(str(user["username"]), str(user.get("password") or ""))
    return NoCredentials()


def _impersonation(user: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    headers = [("Impersonate-User", str(user["as"]))] if user.get("as") else []
    headers += [("Impersonate-Group", str(group)) for group in user.get("as-groups") or ()]
    return tuple(headers)


def _merged(paths: str) -> dict[str, Any]:
    """All files' entries with file names made absolute."""
    merged: dict[str, Any] = {"current-context": "", **{key: {} for key in _LISTS}}
    existing = [Path(path).expanduser() for path in paths.split(os.pathsep) if path]
    found = [path for path in existing if path.exists()]
    if not found:
        raise ConfigurationError(f"{paths}: no such file")
    for path in found:
        config = _read(path)
        merged["current-context"] = merged["current-context"] or config.get("current-context") or ""
        for key, inner in _LISTS.items():
            entries = config.get(key) or []
            if not isinstance(entries, list):
                raise ConfigurationError(f"{path}: {key} is not a list")
            for entry in entries:
                if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                    raise ConfigurationError(f"{path}: an entry of {key} has no name")
                body = entry.get(inner) or {}
                if not isinstance(body, dict):
                    raise ConfigurationError(f"{path}: {key} {entry['name']!r}: {inner} is not a mapping")
                merged[key].setdefault(entry["name"], _absolute(body, path.parent))
    return merged


def _read(path: Path) -> dict[str, Any]:
    try:
        config = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - it is a safe loader
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 0
        raise ConfigurationError(f"{path}: not YAML: line {line}: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if config is None:
        raise ConfigurationError(f"{path}: not a kubeconfig: it is empty")
    if not isinstance(config, dict):
        raise ConfigurationError(f"{path}: not a kubeconfig: it holds a {type(config).__name__}, not a mapping")
    return config


def _absolute(body: dict[str, Any], folder: Path) -> dict[str, Any]:
    """File names in a kubeconfig are relative to its folder."""
    return {
        key: str(folder.absolute() / str(value)) if key in _FILE_KEYS and value else value
        for key, value in body.items()
    }


def _named(merged: dict[str, Any], key: str, name: str, paths: str) -> dict[str, Any]:
    entry = merged[key].get(name)
    if not isinstance(entry, dict):
        raise ConfigurationError(f"{paths}: {_LISTS[key]} {name!r} does not exist; there are {_names(merged[key])}")
    return entry


def _names(entries: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, entries)) or "none"
