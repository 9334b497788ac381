"""How a Prometheus is reached, as a value that needs no HTTP library to be made and checked."""

import re
from typing import Final
from urllib.parse import urlsplit

import msgspec

from controller.flag_values import is_host

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class ServerSettings(msgspec.Struct, frozen=True):
    """How to reach a Prometheus. Empty texts mean not given; secrets are named by file only."""

    url: str
    token_file: str = ""
    username: str = ""
    password_file: str = ""
    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    header_files: tuple[tuple[str, str], ...] = ()
    timeout_s: float = 10.0
    concurrent_max: int = 20


def check_settings(settings: ServerSettings) -> None:
    """Return if they can be used. Raises ValueError, which names the flag."""
    try:
        parts = urlsplit(settings.url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and is_host(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(f"--prometheus-url: {settings.url!r} is not an address such as http://prometheus:9090")
    if parts.username or parts.password:
        raise ValueError("--prometheus-url: no user or password may stand there; use --prometheus-password-file")
    if parts.query or parts.fragment:
        raise ValueError("--prometheus-url: the address must end with its path; add queries as headers or not at all")
    if bool(settings.username) is not bool(settings.password_file):
        raise ValueError("--prometheus-username and --prometheus-password-file belong together")
    if settings.username and settings.token_file:
        raise ValueError("--prometheus-token-file and --prometheus-username exclude each other")
    if bool(settings.certificate_file) is not bool(settings.key_file):
        raise ValueError("--prometheus-client-tls-cert-file and --prometheus-client-tls-key-file belong together")
    for flag, headers in (
        ("--prometheus-header", settings.headers),
        ("--prometheus-header-file", settings.header_files),
    ):
        for name, _ in headers:
            if not _HEADER_NAME.fullmatch(name):
                raise ValueError(f"{flag}: {name!r} is no name of a header")
