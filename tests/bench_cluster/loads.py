"""The load that all pods share, as it moves, and the answers of the metrics APIs that tell it. Pure."""

import datetime as dt
import enum
import functools
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from tests.bench_cluster.populations import METRIC, Application, Population, Source

REST = 1.0
RAISED = 1.9
"""Far enough that every HPA scales, and at every point of the movement to the same number of replicas."""

_BASE_NANO = 2_000_000_000
_AMPLITUDE = 0.03
# A prime number of levels, so that a sync that comes once in a while does not meet the same one again and again.
_LEVELS = 61
_STRIDE = 11

_USAGE, _VALUE, _TIME = b"@usage@", b"@value@", b"@time@"
_PATH = re.compile(
    r"/apis/(?P<group>[a-z0-9.]+)/v1beta[12]"
    r"(/namespaces/(?P<namespace>[^/]+))?/(?P<rest>.+)"
)


class Delay(enum.Enum):
    """When an answer comes."""

    NONE = enum.auto()
    SLOW = enum.auto()
    NEVER = enum.auto()


def load_nano(tick: int, level: float) -> int:
    """The load of each pod, in billionths, at a tick: within 3 % of a level, and another one at each of 61 ticks."""
    place = tick * _STRIDE % _LEVELS / (_LEVELS - 1)
    return round(_BASE_NANO * level * (1 - _AMPLITUDE + 2 * _AMPLITUDE * place))


class Answers:
    """What the three APIs answer for a population. What does not move is made once per path."""

    def __init__(self, population: Population) -> None:
        self._population = population
        self._by_namespace: dict[str, list[Application]] = {}
        self._by_name: dict[str, Application] = {}
        for one in population.applications():
            self._by_namespace.setdefault(one.namespace, []).append(one)
            self._by_name[one.name] = one
        self._bodies = functools.lru_cache(maxsize=200_000)(self._compose)

    def delay(self, target: str) -> Delay:
        """How an answer to a request target is delayed."""
        if f"/{Source.SLOW}" in target and "/external.metrics.k8s.io/" in target:
            return Delay.SLOW
        found = _PATH.match(target)
        if found is None or found["namespace"] is None or not target.startswith("/apis/custom."):
            return Delay.NONE
        # They have namespaces of their own.
        members = self._by_namespace.get(found["namespace"], [])
        return Delay.NEVER if members and members[-1].source is Source.DEAD else Delay.NONE

    def body(self, target: str, value_nano: int, now: dt.datetime) -> bytes | None:
        """The JSON for a request target at a load; None where there is nothing."""
        template = self._bodies(target)
        if template is None:
            return None
        time = now.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
        filled = template.replace(_TIME, time).replace(_USAGE, b"%dn" % value_nano)
        return filled.replace(_VALUE, b"%dm" % (value_nano // 1_000_000))

    def _compose(self, target: str) -> bytes | None:
        url = urlsplit(target)
        found = _PATH.fullmatch(unquote(url.path))
        if found is None:
            return _discovery(url.path)
        selector = dict(parse_qsl(url.query)).get("labelSelector", "")
        members = self._selected(found["namespace"], selector)
        match found["group"]:
            case "metrics.k8s.io":
                items = b",".join(self._pod(one, number) for one in members for number in self._numbers())
                return _list("PodMetricsList", "metrics.k8s.io/v1beta1", items)
            case "custom.metrics.k8s.io":
                return _list("MetricValueList", "custom.metrics.k8s.io/v1beta2", self._custom(found["rest"], members))
            case "external.metrics.k8s.io":
                return _list("ExternalMetricValueList", "external.metrics.k8s.io/v1beta1", _external(found["rest"]))
            case _:
                return None

    def _numbers(self) -> range:
        return range(self._population.pods_each)

    def _selected(self, namespace: str | None, selector: str) -> Iterable[Application]:
        if selector:
            one = self._by_name.get(selector.partition("=")[2])
            return [one] if one is not None and namespace in (None, one.namespace) else []
        if namespace is None:
            return self._population.applications()
        return self._by_namespace.get(namespace, [])

    @staticmethod
    def _pod(one: Application, number: int) -> bytes:
        item = {
            "metadata": {
                "name": f"{one.name}-{number}",
                "namespace": one.namespace,
                "creationTimestamp": "@time@",
                "labels": {"app": one.name},
            },
            "timestamp": "@time@",
            "window": "15s",
            "containers": [{"name": "app", "usage": {"cpu": "@usage@", "memory": "64Mi"}}],
        }
        return msgspec.json.encode(item)

    def _custom(self, rest: str, members: Iterable[Application]) -> bytes:
        """Values of pods (``pods/*/METRIC``) or of one object (``deployments.apps/NAME/METRIC``)."""
        resource, name, _ = rest.split("/")
        if resource != "pods":
            one = self._by_name[name]
            return _custom_value("Deployment", "apps/v1", one.namespace, name)
        return b",".join(
            _custom_value("Pod", "v1", one.namespace, f"{one.name}-{number}")
            for one in members
            for number in self._numbers()
        )


def _custom_value(kind: str, api_version: str, namespace: str, name: str) -> bytes:
    described = {"kind": kind, "namespace": namespace, "name": name, "apiVersion": api_version}
    value = {
        "describedObject": described,
        "metric": {"name": METRIC, "selector": None},
        "timestamp": "@time@",
        "value": "@value@",
    }
    return msgspec.json.encode(value)


def _external(metric: str) -> bytes:
    value: dict[str, Any] = {"metricName": metric, "metricLabels": {}, "timestamp": "@time@", "value": "@value@"}
    return msgspec.json.encode(value)


def _list(kind: str, api_version: str, items: bytes) -> bytes:
    return b'{"kind":"%s","apiVersion":"%s","metadata":{},"items":[%s]}' % (kind.encode(), api_version.encode(), items)


_RESOURCES = {
    "/apis/metrics.k8s.io/v1beta1": [("pods", "PodMetrics", ["get", "list"])],
    "/apis/custom.metrics.k8s.io/v1beta2": [
        (f"pods/{METRIC}", "MetricValueList", ["get"]),
        (f"deployments.apps/{METRIC}", "MetricValueList", ["get"]),
    ],
    "/apis/external.metrics.k8s.io/v1beta1": [
        (name.value, "ExternalMetricValueList", ["get"]) for name in (Source.EXTERNAL, Source.SLOW)
    ],
}


def _discovery(path: str) -> bytes | None:
    resources = _RESOURCES.get(path)
    if resources is None:
        return None
    listed = [
        {"name": name, "singularName": "", "namespaced": True, "kind": kind, "verbs": verbs}
        for name, kind, verbs in resources
    ]
    version = path.removeprefix("/apis/")
    found = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": listed}
    return msgspec.json.encode(found)
