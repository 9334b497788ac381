"""Whether the APIs that HPAs read their metrics from are there and work."""

from collections.abc import Iterator, Sequence
from typing import Final

from controller.decide import conditions
from controller.decide.spec import (
    ContainerResourceMetric,
    ExternalMetric,
    MetricSpec,
    ObjectMetric,
    PodsMetric,
    ResourceMetric,
)
from controller.explain.facts import Facts, Patient
from controller.explain.findings import Finding, counted

_APIS: Final[tuple[tuple[tuple[type[MetricSpec], ...], tuple[str, ...], tuple[str, ...], str], ...]] = (
    (
        (ResourceMetric, ContainerResourceMetric),
        ("Resource", "ContainerResource"),
        ("metrics.k8s.io/v1beta1",),
        "install metrics-server",
    ),
    (
        (PodsMetric, ObjectMetric),
        ("Pods", "Object"),
        ("custom.metrics.k8s.io/v1beta2", "custom.metrics.k8s.io/v1beta1"),
        "install an adapter, such as prometheus-adapter",
    ),
    (
        (ExternalMetric,),
        ("External",),
        ("external.metrics.k8s.io/v1beta1",),
        "install an adapter, such as KEDA or prometheus-adapter",
    ),
)
"""Kinds of metrics, as specs and as statuses have them, the APIs they are read from, and what provides these."""

UNAVAILABLE: Final = ("the server is currently unable to handle the request", "service unavailable")
"""What syncs are told by the API server where nobody answers behind it."""


def metrics_apis(facts: Facts) -> Iterator[Finding]:
    """One finding for each API that is needed and is not there, or does not work."""
    if facts.served is None:
        return
    for kinds, measured, versions, remedy in _APIS:
        asking = tuple(one.key for one in facts.patients if _asks(one, kinds) and not _measured(one, measured))
        if not asking:
            continue
        group = versions[0].partition("/")[0]
        broken = {version: facts.unavailable[version] for version in versions if version in facts.unavailable}
        working = [version for version in versions if version in facts.served and version not in broken]
        if working:
            continue
        if broken:
            version, reason = next(iter(broken.items()))
            text = f"{version} is registered but does not work ({reason}), and {counted(asking)} need it"
            mend = "look at the pods and the Service behind the APIService"
            yield Finding("problem", "api-unavailable", group, text, mend, asking)
        else:
            text = f"it is not served, and {counted(asking)} scale on it"
            yield Finding("problem", "api-missing", group, text, remedy, asking)


def needed(patients: Sequence[Patient]) -> tuple[str, ...]:
    """The versions of metrics APIs that some of these HPAs may be read from."""
    return tuple(
        version for kinds, _, versions, _ in _APIS if any(_asks(one, kinds) for one in patients) for version in versions
    )


def _asks(one: Patient, kinds: tuple[type[MetricSpec], ...]) -> bool:
    return any(isinstance(metric, kinds) for metric in one.spec.metrics)


def _measured(one: Patient, types: tuple[str, ...]) -> bool:
    """Whether its last sync had a value of these: a controller may have sources of its own, such as Prometheus."""
    active = one.status.condition(conditions.SCALING_ACTIVE)
    scales = active is not None and active.status == "True"
    return scales and any(metric.type in types for metric in one.status.metrics)
