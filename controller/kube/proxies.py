"""The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for a server, read as Go's net/http reads them."""

import ipaddress
from collections.abc import Mapping

import msgspec
from yarl import URL


class Named(msgspec.Struct, frozen=True):
    """A proxy's address, with its scheme, and the variable that names it."""

    address: str
    variable: str


def proxy_of(server: str, environment: Mapping[str, str]) -> Named | None:
    """The proxy for a server's address; None where it is asked directly.

    That goes for servers on this machine, and for those of which NO_PROXY, a list with commas, has the host, a domain
    above it, the address or its network; a port after them counts, too, and `*` means all. Names in capitals go first.
    """
    url = URL(server)
    variable = _set(environment, f"{url.scheme.upper()}_PROXY")
    if not variable or _is_near(url) or any(_leaves_out(entry, url) for entry in _exceptions(environment)):
        return None
    address = environment[variable]
    return Named(address if "://" in address else f"http://{address}", variable)


def _set(environment: Mapping[str, str], name: str) -> str:
    """The variable in capitals or, where that is empty or missing, in small letters; empty if both are."""
    return next((known for known in (name, name.lower()) if environment.get(known)), "")


def _exceptions(environment: Mapping[str, str]) -> list[str]:
    entries = environment.get(_set(environment, "NO_PROXY"), "").split(",")
    return [entry.strip().lower() for entry in entries if entry.strip()]


def _is_near(url: URL) -> bool:
    address = _ip(url.host or "")
    return url.host == "localhost" or (address is not None and address.is_loopback)


def _leaves_out(entry: str, url: URL) -> bool:
    host = url.host or ""
    address = _ip(host)
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    named, port = _split(entry)
    if port and port != str(url.port):
        return False
    if address is not None:
        return address == _ip(named)
    # With a dot at its start, or *. there, it means what is below a domain, and not the domain itself.
    domain = named[1:] if named.startswith("*.") else named
    return bool(named) and (host == domain or host.endswith(domain if domain.startswith(".") else f".{domain}"))


def _split(entry: str) -> tuple[str, str]:
    """Host and port, which is empty where there is none; of IPv6 addresses only those in brackets have one."""
    host, colon, port = entry.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        return entry, ""
    return host.removeprefix("[").removesuffix("]"), port


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
