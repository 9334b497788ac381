"""Discovery of groups, versions, resources and subresources, in the plain and the aggregated form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from controller.lab.metrics_feed import CUSTOM_METRICS, EXTERNAL_METRICS, RESOURCE_METRICS
from controller.lab.objects import errors
from controller.lab.serving.negotiation import accepts_json, clauses

if TYPE_CHECKING:
    from controller.lab.metrics_feed import MetricsFeed
    from controller.lab.objects.resources import Endpoint, Object
    from controller.lab.serving.service import Service

VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
_READ_VERBS = ["get", "list"]
_SUBRESOURCE_VERBS = ["get", "patch", "update"]
_SCALE_KIND = {"group": "autoscaling", "version": "v1", "kind": "Scale"}


def document(service: Service, path: str, accept: str) -> tuple[Object, str] | None:
    """The discovery document of a path and its media type; None when the path has none.

    Raises a ServiceUnavailable `ApiError` for a metrics group whose backend is down.
    """
    segments = path.strip("/").split("/")
    plain = "application/json"
    match segments:
        case ["api" | "apis"]:
            version = _aggregated_version(accept)
            if version:
                media_type = f"{plain};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
                return _aggregated(service, version, core=segments == ["api"]), media_type
            return (_core_versions() if segments == ["api"] else _group_list(service)), plain
        case ["api", "v1"]:
            return _resource_list(service, "", "v1"), plain
        case ["apis", group]:
            found = [item for item in _groups(service) if item["name"] == group]
            return ({"kind": "APIGroup", "apiVersion": "v1", **found[0]}, plain) if found else None
        case ["apis", group, version]:
            if group in service.feed.unavailable and group in service.feed.groups():
                raise errors.service_unavailable("the server is currently unable to handle the request")
            if version not in _versions(service).get(group, ()):
                return None
            return _resource_list(service, group, version), plain
        case _:
            return None


def _aggregated_version(accept: str) -> str:
    """The version of aggregated discovery that the client prefers to the plain form.

    Empty for the plain form.
    """
    for clause in clauses(accept):
        if not accepts_json(clause):
            continue
        if clause.parameters.get("as") == "APIGroupDiscoveryList":
            return clause.parameters.get("v", "v2")
        if "as" not in clause.parameters:
            return ""
    return ""


def _core_versions() -> Object:
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def _versions(service: Service) -> dict[str, list[str]]:
    versions = service.world.registry.group_versions()
    versions.pop("", None)
    return {**versions, **{group: list(served) for group, served in service.feed.groups().items()}}


def _groups(service: Service) -> list[Object]:
    groups = []
    for group, versions in _versions(service).items():
        listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
        groups.append({"name": group, "versions": listed, "preferredVersion": listed[0]})
    return groups


def _group_list(service: Service) -> Object:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": _groups(service)}


def _resource_list(service: Service, group: str, version: str) -> Object:
    if group in service.feed.groups():
        resources = _metrics_resources(service.feed, group)
    else:
        resources = [entry for item in service.world.registry.of(group, version) for entry in _entries(item)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version}" if group else version,
        "resources": resources,
    }


def _entries(endpoint: Endpoint) -> list[Object]:
    """The resource and its subresources as the plain form lists them."""
    entry: dict[str, Any] = {
        "name": endpoint.plural,
        "singularName": endpoint.singular,
        "namespaced": endpoint.resource.namespaced,
        "kind": endpoint.kind,
        "verbs": list(endpoint.verbs),
    }
    if endpoint.short_names:
        entry["shortNames"] = list(endpoint.short_names)
    if endpoint.categories:
        entry["categories"] = list(endpoint.categories)
    entries = [entry]
    for name in endpoint.subresources:
        kind = dict(_SCALE_KIND) if name == "scale" else {"kind": endpoint.kind}
        entries.append(
            {
                "name": f"{endpoint.plural}/{name}",
                "singularName": "",
                "namespaced": endpoint.resource.namespaced,
                **kind,
                "verbs": _SUBRESOURCE_VERBS,
            }
        )
    return entries


def _metrics_resources(feed: MetricsFeed, group: str) -> list[Object]:
    def listed(name: str, kind: str, verbs: list[str], *, namespaced: bool = True) -> Object:
        return {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": verbs}

    match group:
        case str(name) if name == RESOURCE_METRICS:
            return [
                listed("nodes", "NodeMetrics", _READ_VERBS, namespaced=False),
                listed("pods", "PodMetrics", _READ_VERBS),
            ]
        case str(name) if name == CUSTOM_METRICS:
            pairs = {
                (f"{described.resource}/{metric}", bool(described.namespace))
                for metric, objects in feed.custom.items()
                for described in objects
            }
            return [
                listed(name, "MetricValueList", ["get"], namespaced=namespaced) for name, namespaced in sorted(pairs)
            ]
        case str(name) if name == EXTERNAL_METRICS:
            metrics = sorted({metric for _, metric in feed.external})
            return [listed(metric, "ExternalMetricValueList", ["get"]) for metric in metrics]
        case _:
            return []


def _aggregated(service: Service, version: str, *, core: bool) -> Object:
    versions = {"": ["v1"]} if core else _versions(service)
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group} if group else {},
                "versions": [_aggregated_group_version(service, group, served) for served in listed],
            }
            for group, listed in versions.items()
        ],
    }


def _aggregated_group_version(service: Service, group: str, version: str) -> Object:
    if group in service.feed.unavailable:
        return {"version": version, "freshness": "Stale"}
    flat = _resource_list(service, group, version)["resources"]
    custom = any(item.resource.custom for item in service.world.registry.of(group, version))
    resources: dict[str, Object] = {}
    for entry in flat:
        name, _, subresource = entry["name"].partition("/")
        # Built-in kinds leave group and version empty where they are those of the list itself.
        own = ("", "") if not custom else (group, version)
        kind = {
            "group": entry.get("group", own[0]),
            "version": entry.get("version", own[1]),
            "kind": entry["kind"],
        }
        if subresource and name in resources:
            below = resources[name].setdefault("subresources", [])
            below.append({"subresource": subresource, "responseKind": kind, "verbs": entry["verbs"]})
            continue
        resources[entry["name"]] = {
            "resource": entry["name"],
            "responseKind": kind,
            "scope": "Namespaced" if entry["namespaced"] else "Cluster",
            "singularResource": entry["singularName"],
            "verbs": entry["verbs"],
            **{key: entry[key] for key in ("shortNames", "categories") if key in entry},
        }
    return {"version": version, "resources": list(resources.values()), "freshness": "Current"}
