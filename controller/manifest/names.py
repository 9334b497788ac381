"""The rules for names in Kubernetes: what is wrong with one, in as many complaints as the API server makes."""

import re
from collections.abc import Iterable
from typing import Final

_LABEL_BYTES_MAX: Final = 63
_SUBDOMAIN_BYTES_MAX: Final = 253
_DNS_LABEL: Final = re.compile("[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_DNS_SUBDOMAIN: Final = re.compile(rf"{_DNS_LABEL.pattern}(?:\.{_DNS_LABEL.pattern})*")
_QUALIFIED: Final = re.compile("[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_QUALIFIED_RULE: Final = (
    "begin and end with a letter or digit and otherwise hold letters, digits, dashes, dots or underscores"
)

_REQUESTS: Final = "requests."
_HUGE_PAGES: Final = "hugepages-"
_KUBERNETES: Final = "kubernetes.io/"
_CONTAINER_RESOURCES: Final = frozenset(("cpu", "memory", "ephemeral-storage"))
_STANDARD_RESOURCES: Final = _CONTAINER_RESOURCES | frozenset(
    (
        *(f"{prefix}.{resource}" for prefix in ("requests", "limits") for resource in _CONTAINER_RESOURCES),
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "storage",
        "requests.storage",
        "services.nodeports",
        "services.loadbalancers",
    )
)


def means(written: str, kind: str) -> bool:
    """Whether a reference's kind means that of a resource: as it is, or all of it in lower case, but in no other case.

    Controllers look kinds up as client-go's discovery knows them, which is under both names.
    """
    return written in (kind, kind.lower())


def means_one_of(written: str, kinds: Iterable[str]) -> bool:
    """Whether a reference's kind means any of these; see `means`."""
    return any(means(written, kind) for kind in kinds)


def path_segment(name: str) -> list[str]:
    """Complaints about a name that becomes part of a URL."""
    if name in (".", ".."):
        return [f"must not be {name!r}"]
    return [f"must not contain {character!r}" for character in "/%" if character in name]


def dns_label(name: str) -> list[str]:
    """Complaints about a name such as `web-1`."""
    complaints = _too_long(name, _LABEL_BYTES_MAX)
    if _DNS_LABEL.fullmatch(name) is None:
        complaints.append("must begin and end with a lower-case letter or digit and otherwise hold those and dashes")
    return complaints


def dns_subdomain(name: str, *, prefix: bool = False) -> list[str]:
    """Complaints about a name such as `web-1.front`; a `prefix` may end with a dash."""
    if prefix and len(name) > 1 and name.endswith("-"):
        # The character before the dash is not looked at either.
        name = f"{name[:-2]}a"
    complaints = _too_long(name, _SUBDOMAIN_BYTES_MAX)
    if _DNS_SUBDOMAIN.fullmatch(name) is None:
        complaints.append(
            "must begin and end with a lower-case letter or digit and otherwise hold those, dashes and dots"
        )
    return complaints


def qualified_name(name: str) -> list[str]:
    """Complaints about the key of a label, such as `app` or `example.com/app`."""
    parts = name.split("/")
    if len(parts) > 2:  # noqa: PLR2004 - a prefix and a name
        return ["must have at most one slash, between a domain and a name"]
    complaints: list[str] = []
    if len(parts) > 1:
        if parts[0]:
            complaints.extend(f"its part before the slash {complaint}" for complaint in dns_subdomain(parts[0]))
        else:
            complaints.append("needs a domain before the slash")
    if not parts[-1]:
        complaints.append("needs a name")
    complaints.extend(_too_long(parts[-1], _LABEL_BYTES_MAX))
    if _QUALIFIED.fullmatch(parts[-1]) is None:
        complaints.append(f"must {_QUALIFIED_RULE}")
    return complaints


def label_value(value: str) -> list[str]:
    """Complaints about the value of a label."""
    complaints = _too_long(value, _LABEL_BYTES_MAX)
    if value and _QUALIFIED.fullmatch(value) is None:
        complaints.append(f"must be empty or {_QUALIFIED_RULE}")
    return complaints


def container_resource(name: str) -> list[str]:
    """Complaints about a resource that a container can request."""
    complaints = qualified_name(name)
    if "/" in name:
        if _KUBERNETES not in name and (name.startswith(_REQUESTS) or qualified_name(_REQUESTS + name)):
            complaints.append("is no extended resource such as example.com/gpu")
        return complaints
    if not complaints and not _is_standard(name):
        complaints.append("is no resource that Kubernetes knows; others have a domain, as in example.com/gpu")
    if name not in _CONTAINER_RESOURCES and not name.startswith(_HUGE_PAGES):
        complaints.append("is nothing that a container requests; write cpu, memory, ephemeral-storage or hugepages-…")
    return complaints


def _is_standard(name: str) -> bool:
    return name in _STANDARD_RESOURCES or name.startswith((_HUGE_PAGES, _REQUESTS + _HUGE_PAGES))


def _too_long(name: str, bytes_max: int) -> list[str]:
    return [f"must not be longer than {bytes_max} bytes"] if len(name.encode()) > bytes_max else []
