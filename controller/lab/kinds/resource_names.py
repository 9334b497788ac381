"""Which names a container resource may have."""

from __future__ import annotations

from controller.lab.objects import names

_OF_CONTAINERS = frozenset({"cpu", "memory", "ephemeral-storage"})
_STANDARD = _OF_CONTAINERS | frozenset(
    {
        *(f"{prefix}.{name}" for prefix in ("requests", "limits") for name in _OF_CONTAINERS),
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
    }
)
_HUGE_PAGES = "hugepages-"
_NATIVE_PREFIX = "kubernetes.io/"
_QUOTA_PREFIX = "requests."


def container_resource_problems(name: str) -> list[str]:
    """Why a name cannot be that of a resource a container uses; empty when it can."""
    problems = names.qualified_name_problems(name)
    if "/" not in name:
        if not problems and not _is_standard(name):
            problems.append("must be a standard resource type or fully qualified")
        if name not in _OF_CONTAINERS and not name.startswith(_HUGE_PAGES):
            problems.append("must be a standard resource for containers")
    elif _NATIVE_PREFIX not in name and not _is_extended(name):
        problems.append("doesn't follow extended resource name standard")
    return problems


def _is_standard(name: str) -> bool:
    return name in _STANDARD or name.startswith((_HUGE_PAGES, _QUOTA_PREFIX + _HUGE_PAGES))


def _is_extended(name: str) -> bool:
    return not name.startswith(_QUOTA_PREFIX) and not names.qualified_name_problems(_QUOTA_PREFIX + name)
