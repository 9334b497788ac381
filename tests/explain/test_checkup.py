"""A corpus of broken clusters: each ailment is found, with its remedy, and healthy clusters have none."""

import pytest
from msgspec.structs import replace

from controller.decide import selectors
from controller.decide.spec import ContainerResourceMetric, Gates, MetricSpec, Reference, Rules, Spec
from controller.decide.spec import Target as MetricTarget
from controller.decide.status import Status
from controller.explain.checkup import Finding, checked
from controller.explain.facts import Facts, Patient, Target, TargetKey
from controller.explain.rows import Row
from tests.builders import (
    behavior,
    condition,
    container,
    cpu,
    external_metric,
    now,
    pods_metric,
    requests,
    resource_metric,
    status,
)

SERVED = frozenset(
    ("apps/v1", "metrics.k8s.io/v1beta1", "custom.metrics.k8s.io/v1beta2", "external.metrics.k8s.io/v1beta1")
)
WORKING = status(condition("ScalingActive"), condition("ScalingLimited", "False"), current=3, desired=3)


def patient(
    name: str, *metrics: MetricSpec, seen: Status = WORKING, least: int = 1, kind: str = "Deployment"
) -> Patient:
    asked = Spec(Reference(kind, name, "apps/v1"), 10, least, metrics or (cpu(60),))
    return Patient("shop", name, asked, seen)


def target(app: str, *, of: str = "") -> Target:
    selector = selectors.parse(f"app={of or app}")
    return Target(exists=True, scalable=True, selector=selector, labels={"app": app}, requests=requests())


def cluster(*patients: Patient, targets: dict[TargetKey, Target] | None = None) -> Facts:
    """All that these HPAs need, unless something else is said."""
    found = {one.target: target(one.name) for one in patients} | (targets or {})
    rows = {
        one.key: Row("shop", one.name, 3, 3, "CPU", "60%", "60%", 1.0, synced_s=3, data_age_s=20) for one in patients
    }
    return Facts(patients, found, SERVED, {}, rows, Gates())


WEB, API = patient("web"), patient("api")
HEALTHY = cluster(WEB, API, patient("queue", external_metric(average_milli=1000)))


def with_target(target: Target) -> Facts:
    return cluster(WEB, targets={WEB.target: target})


def with_row(**fields: object) -> Facts:
    [(key, row)] = (cluster(WEB).rows or {}).items()
    return replace(cluster(WEB), rows={key: replace(row, **fields)})


def spec_of(**fields: object) -> Patient:
    return replace(WEB, spec=replace(WEB.spec, **fields))


_TOLERANT = behavior(up=Rules(0, (), tolerance=0.05))
_UNREQUESTED = requests(container("app", {}), container("proxy", {"cpu": 100}))
_PINNED = status(condition("ScalingLimited", reason="TooManyReplicas", since_s=-3600), current=10, desired=10)
_FAILING = status(condition("ScalingActive", "False", reason="FailedGetResourceMetric", message="no answer"))
_NEW = ContainerResourceMetric("cpu", "ap", MetricTarget("Utilization", average_utilization=60))

BROKEN = {
    "request-missing": with_target(replace(target("web"), requests=_UNREQUESTED)),
    "container-missing": cluster(replace(WEB, spec=replace(WEB.spec, metrics=(_NEW,)))),
    "same-target": cluster(WEB, replace(WEB, name="web-too")),
    "selectors-overlap": cluster(WEB, API, targets={API.target: target("api", of="web")}),
    "replicas-set": with_target(replace(target("web"), replicas_from="the manifest that argocd applies")),
    "target-missing": with_target(Target(exists=False, scalable=True)),
    "target-not-scalable": with_target(Target(scalable=False)),
    "api-missing": replace(cluster(WEB), served=frozenset(("apps/v1",))),
    "api-unavailable": replace(cluster(WEB), unavailable={"metrics.k8s.io/v1beta1": "MissingEndpoints: none"}),
    "metrics-stale": with_row(data_age_s=1000.0),
    "zero-without-signal": replace(cluster(patient("web", least=0)), gates=Gates(scale_to_zero=True)),
    "pinned-at-max": cluster(replace(WEB, status=_PINNED)),
    "foreign-writer": with_row(not_written="foreign-writer"),
    "gate-differs": replace(cluster(spec_of(behavior=_TOLERANT)), gates=Gates(configurable_tolerance=False)),
    "not-understood": cluster(replace(WEB, problem="spec.metrics[0].type is missing")),
    "scaling-inactive": cluster(replace(WEB, status=_FAILING)),
}


def found(facts: Facts) -> tuple[Finding, ...]:
    return checked(facts, now().wall_ns)


@pytest.mark.parametrize("code", BROKEN)
def test_each_ailment_is_found_with_its_remedy(code: str) -> None:
    findings = found(BROKEN[code])
    assert {finding.code for finding in findings} == {code}, "it, and nothing else"
    assert all(finding.text and finding.remedy and finding.about for finding in findings)


@pytest.mark.parametrize(
    "facts",
    [
        HEALTHY,
        Facts(()),
        replace(HEALTHY, rows=None, gates=None, served=None),
        Facts((WEB,)),
        cluster(
            patient("web", resource_metric("cpu", average_milli=500)),
            targets={WEB.target: replace(target("web"), requests=_UNREQUESTED)},
        ),
        with_target(replace(target("web"), requests=requests(container("app", {}), pod_level_milli={"cpu": 500}))),
        cluster(WEB, replace(WEB, namespace="other")),
        with_row(not_written="shadow"),
        cluster(
            replace(WEB, status=status(condition("ScalingLimited", reason="TooManyReplicas", since_s=-60), current=10))
        ),
        cluster(replace(WEB, status=status(condition("ScalingActive", "False", reason="ScalingDisabled")))),
        replace(cluster(patient("web", external_metric(average_milli=1), least=0)), gates=Gates(scale_to_zero=True)),
    ],
)
def test_healthy_clusters_have_no_finding(facts: Facts) -> None:
    assert found(facts) == ()


def test_a_utilization_needs_the_request_of_every_container_that_counts() -> None:
    [finding] = found(BROKEN["request-missing"])
    assert finding.text == (
        "container app of Deployment web has no request of cpu, of which a utilization would be a percentage: the "
        "metric fails"
    )


def test_an_api_is_found_missing_only_by_those_who_need_it() -> None:
    facts = cluster(WEB, patient("api", pods_metric(1000)), patient("mail", pods_metric(1000)))
    [finding] = found(replace(facts, served=frozenset(("apps/v1", "metrics.k8s.io/v1beta1"))))
    assert finding.about == "custom.metrics.k8s.io"
    assert "2 HPAs (shop/api, shop/mail) scale on it" in finding.text


def test_problems_come_first() -> None:
    facts = cluster(replace(WEB, status=_PINNED), API, targets={API.target: Target(exists=False, scalable=True)})
    assert [finding.severity for finding in found(facts)] == ["problem", "advice"]


def test_overlaps_are_told_of_the_one_whose_selector_is_too_wide() -> None:
    [finding] = found(BROKEN["selectors-overlap"])
    assert finding.about in ("shop/api", "shop/web")
    assert "both HPAs stop with AmbiguousSelector" in finding.text
