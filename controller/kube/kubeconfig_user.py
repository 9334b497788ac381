"""What a kubeconfig's user gives: tokens, a client certificate, and whom to act as.

Certificates and keys are files or data; so is the authority of a cluster, which is read here, too.
"""

import base64
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec

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
from controller.kube.kubeconfig_files import ConfigurationError

_PATH_SHOWN_MAX: Final = 200


class Material(msgspec.Struct, frozen=True):
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


def material_of(entry: dict[str, Any], name: str, where: str) -> Material | None:
    """That of an entry of a kubeconfig, None if it has none. Data counts more than a file, as for kubectl.

    `where` begins the message of an error.

    Raises:
        ConfigurationError: data is no PEM in base64, or there is no such file.
    """
    key = f"{name}-data"
    if entry.get(key):
        try:
            # Line breaks are fine, as in Go. The message shows nothing of the content.
            decoded = base64.b64decode("".join(str(entry[key]).splitlines()), validate=True)
        except ValueError as error:
            raise ConfigurationError(f"{where} {key} is no base64: {error}") from error
        if not decoded.isascii():
            raise ConfigurationError(f"{where} {key} is no PEM: it holds more than text")
        return Material(text=decoded.decode("ascii"))
    path = entry.get(name)
    if path and not _is_file(str(path)):
        # Of what is not the name of a file nothing is shown: it may be a key.
        shown = (
            str(path) if len(str(path)) <= _PATH_SHOWN_MAX else f"it is no name of a file; content belongs into {key}"
        )
        raise ConfigurationError(f"{where} {name} does not exist: {shown}")
    return Material(file=str(path)) if path else None


class ClientCertificate(msgspec.Struct, frozen=True):
    """A client certificate and its key, as files or, if one of them is text, as the text of both."""

    certificate_file: str | None = None
    key_file: str | None = None
    certificate: tuple[str, str] | None = None


def client_certificate_of(user: dict[str, Any], paths: str) -> ClientCertificate:
    """A user's; all is None if it has none. A key without a certificate is passed over.

    Raises:
        ConfigurationError: the key is missing, or one of them cannot be read.
    """
    certificate = material_of(user, "client-certificate", f"{paths}: the user's")
    key = material_of(user, "client-key", f"{paths}: the user's")
    if certificate is None:
        return ClientCertificate()
    if key is None:
        raise ConfigurationError(
            f"{paths}: the user has a client certificate without its key; add client-key or client-key-data"
        )
    if certificate.text is None and key.text is None:
        return ClientCertificate(certificate.file, key.file)
    try:
        return ClientCertificate(certificate=(certificate.content(), key.content()))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{paths}: the user's client certificate or key cannot be read: {error}") from error


def refuse_auth_provider(user: dict[str, Any], where: str) -> None:
    """Say that a user's auth-provider is not supported: Kubernetes has removed them.

    Raises:
        ConfigurationError: the user has one.
    """
    if user.get("auth-provider"):
        provider = user["auth-provider"].get("name", "") if isinstance(user["auth-provider"], dict) else ""
        raise ConfigurationError(
            f"{where} uses the auth-provider {provider!r}, which is not supported; "
            f"use an exec plug-in (kubelogin for OIDC)"
        )


def tokens_of(user: dict[str, Any], cluster: dict[str, Any], where: str) -> TokenSource:
    """Where a user's credentials come from: a plug-in (told of the cluster), a file, a token or a password; or nowhere.

    Raises:
        ConfigurationError: the plug-in or the token cannot be used.
    """
    if user.get("exec"):
        try:
            return ExecPlugin.from_config(user["exec"], cluster)
        except ValueError as error:
            raise ConfigurationError(f"{where}: exec: {error}") from error
    if user.get("tokenFile"):
        return FileToken(str(user["tokenFile"]))
    if user.get("token"):
        try:
            return FixedCredentials(bearer(str(user["token"]).strip(), "its token"))
        except CredentialsError as error:
            raise ConfigurationError(f"{where}: {error}") from error
    if user.get("username"):
        return FixedCredentials(basic(str(user["username"]), str(user.get("password") or "")))
    return NoCredentials()


def impersonation_of(user: dict[str, Any], where: str) -> tuple[tuple[str, str], ...]:
    """Headers for `as` and what goes with it; names of extra fields are percent-encoded, as client-go does.

    Raises:
        ConfigurationError: it cannot be said in headers, or nobody is named.
    """
    groups, extra = user.get("as-groups") or [], user.get("as-user-extra") or {}
    if not isinstance(groups, list):
        raise ConfigurationError(f"{where}: as-groups is not a list")
    if not isinstance(extra, dict) or not all(isinstance(values, list) for values in extra.values()):
        raise ConfigurationError(f"{where}: as-user-extra does not map names to lists")
    if isinstance(user.get("as"), bool):
        # YAML's `no` is a boolean: passed over, we would act as ourselves.
        raise ConfigurationError(f"{where}: as: {user['as']!r} is no text; put it in quotes")
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
