"""A corpus of broken clusters: each ailment is found, with its remedy, and healthy clusters have none."""

import pytest
from msgspec.structs import replace

from controller.decide import selectors
from controller.decide.spec import ContainerResourceMetric, Gates, MetricSpec, Reference, ResourceMetric, Rules, Spec
from controller.decide.spec import Target as MetricTarget
from controller.decide.status import MetricStatus, Status
from controller.explain.checkup import checked
from controller.explain.facts import Facts, Patient, Target, TargetKey, lacking, target_key
from controller.explain.findings import Finding, counted
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
WORKING = status(
    condition("AbleToScale"), condition("ScalingActive"), condition("ScalingLimited", "False"), current=3, desired=3
)


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
_BOTH = ResourceMetric("cpu", MetricTarget("AverageValue", average_value_milli=500, average_utilization=60))
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
    "frozen": with_row(not_written="frozen"),
    "shadow": with_row(not_written="shadow"),
    "twin-writer": with_row(twin=True),
    "metric-failing": with_row(error="invalid metrics (1 invalid out of 2), first error is: no answer"),
    "gate-differs": replace(cluster(spec_of(behavior=_TOLERANT)), gates=Gates(configurable_tolerance=False)),
    "not-understood": cluster(replace(WEB, problem="spec.metrics[0].type is missing")),
    "scaling-inactive": cluster(replace(WEB, status=_FAILING)),
}
_UNWRITABLE = status(condition("AbleToScale", "False", reason="FailedUpdateScale", message="forbidden"))
_READ = status(condition("ScalingActive"), metrics=(MetricStatus("External"),))
_ONLY_CPU = status(condition("ScalingActive"), metrics=(MetricStatus("Resource"), MetricStatus()))
_UNDATED = replace(condition("ScalingLimited", reason="TooManyReplicas"), changed_ns=0)
_MESHED = requests(container("app", {"cpu": 100}), init=(container("ap", {"cpu": 100}, restartable=True),))
_UNKNOWN_LABELS = {
    WEB.target: replace(target("web"), labels={}),
    API.target: replace(target("api"), selector=selectors.parse("app!=web")),
}
_WITHOUT_EXTERNAL = SERVED - {"external.metrics.k8s.io/v1beta1"}


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
        cluster(spec_of(metrics=(_BOTH,)), targets={WEB.target: replace(target("web"), requests=_UNREQUESTED)}),
        with_target(replace(target("web"), requests=requests(container("app", {}), pod_level_milli={"cpu": 500}))),
        cluster(WEB, replace(WEB, namespace="other")),
        cluster(
            replace(WEB, status=status(condition("ScalingLimited", reason="TooManyReplicas", since_s=-60), current=10))
        ),
        cluster(replace(WEB, status=status(condition("ScalingActive", "False", reason="ScalingDisabled")))),
        replace(cluster(patient("web", external_metric(average_milli=1), least=0)), gates=Gates(scale_to_zero=True)),
        replace(
            cluster(patient("web", cpu(60), external_metric(average_milli=1), least=0)),
            gates=Gates(scale_to_zero=True),
        ),
        cluster(spec_of(behavior=_TOLERANT)),
        replace(cluster(spec_of(behavior=behavior()), API), gates=Gates(configurable_tolerance=False)),
        cluster(spec_of(metrics=(_NEW,)), targets={WEB.target: replace(target("web"), requests=_MESHED)}),
        cluster(WEB, API, targets=_UNKNOWN_LABELS),
        cluster(replace(WEB, status=replace(_PINNED, replicas_current=9))),
        cluster(replace(WEB, status=status(_UNDATED, current=10))),
        cluster(replace(WEB, status=status(condition("ScalingLimited", reason="TooFewReplicas"), current=10))),
        cluster(
            replace(WEB, status=status(condition("ScalingLimited", "False", reason="TooManyReplicas"), current=10))
        ),
    ],
)
def test_healthy_clusters_have_no_finding(facts: Facts) -> None:
    assert found(facts) == ()


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (cluster(replace(WEB, status=_UNWRITABLE)), "FailedUpdateScale: forbidden"),
        (with_row(error="no pods", limited_by="error"), "no pods"),
    ],
)
def test_whatever_keeps_one_from_scaling_is_found(facts: Facts, said: str) -> None:
    [finding] = found(facts)
    assert (finding.code, finding.text) == ("scaling-inactive", f"it does not scale: {said}")


def test_a_metric_that_fails_beside_others_is_told_with_what_it_said() -> None:
    [finding] = found(BROKEN["metric-failing"])
    assert finding.text.endswith(
        "while that is so nothing is scaled down: invalid metrics (1 invalid out of 2), first error is: no answer"
    )
    assert "hpa-controller explain shop/web" in finding.remedy
    unscaled = with_row(error="invalid metrics (1 invalid out of 2)", limited_by="failed")
    assert [one.code for one in found(unscaled)] == ["scaling-inactive"], "it is not scaled up, either"


def test_what_is_read_from_elsewhere_needs_no_metrics_api() -> None:
    """A controller may have sources of its own; a metric beside it that works says nothing about this one."""
    for seen, codes in ((_READ, []), (_ONLY_CPU, ["api-missing"]), (WORKING, ["api-missing"])):
        facts = cluster(patient("queue", cpu(60), external_metric(average_milli=1000), seen=seen))
        assert [finding.code for finding in found(replace(facts, served=_WITHOUT_EXTERNAL))] == codes


def test_an_api_that_the_controller_never_asks_is_missed_by_nobody() -> None:
    """Nor while its own source is down, so that no HPA has a value."""
    queue = patient("queue", cpu(60), external_metric(average_milli=1000), seen=_FAILING)
    facts = replace(cluster(queue), served=_WITHOUT_EXTERNAL)
    for families, codes in ((("resource", "custom"), []), (("external",), ["api-missing"]), (None, ["api-missing"])):
        findings = found(replace(facts, from_apis=families))
        assert [one.code for one in findings if one.code != "scaling-inactive"] == codes


def test_those_that_are_not_understood_share_no_target() -> None:
    lost = [replace(WEB, name=name, spec=Spec(Reference("", "", ""), 1), problem="broken") for name in ("a", "b")]
    assert {finding.code for finding in found(Facts(tuple(lost)))} == {"not-understood"}


def test_one_that_is_not_understood_is_not_told_what_it_lacks_at_zero() -> None:
    lost = replace(patient("web", least=0), problem="spec.metrics[1].type is missing")
    findings = found(replace(cluster(lost), gates=Gates(scale_to_zero=True)))
    assert [finding.code for finding in findings] == ["not-understood"]
    findings = found(cluster(lost, targets={lost.target: Target(exists=False, scalable=True)}))
    assert "target-missing" not in {finding.code for finding in findings}


def test_an_init_container_that_ends_is_none_that_is_measured() -> None:
    pods = replace(requests(container("app", {"cpu": 100})), init_containers=(container("ap", {"cpu": 100}),))
    facts = cluster(spec_of(metrics=(_NEW,)), targets={WEB.target: replace(target("web"), requests=pods)})
    [finding] = found(facts)
    assert (finding.code, finding.remedy) == ("container-missing", "write one of app")
    several = replace(target("web"), requests=requests(*map(container, ("web", "log", "db", "app"))))
    [finding] = found(cluster(spec_of(metrics=(_NEW,)), targets={WEB.target: several}))
    assert finding.remedy == "write one of app, db, log, web"


def test_a_request_of_the_pod_makes_up_for_those_that_containers_lack() -> None:
    """Also one of another resource (§9.2)."""
    some = (container("app", {"cpu": 100}), container("proxy", {}))
    assert lacking(requests(*some, pod_level_milli={"memory": 1000}), "cpu", "") == ()
    assert lacking(requests(container("app", {}), pod_level_milli={"memory": 1000}), "cpu", "") == ("app",)
    assert lacking(requests(*some), "cpu", "") == ("proxy",)


def test_sidecars_need_a_request_and_containers_that_end_do_not() -> None:
    others = (container("setup", {}), container("mesh", {}, restartable=True))
    assert lacking(requests(container("app", {"cpu": 100}), init=others), "cpu", "") == ("mesh",)


def test_a_request_of_the_pod_is_none_of_a_container() -> None:
    assert lacking(requests(container("app", {}), pod_level_milli={"cpu": 500}), "cpu", "app") == ("app",)


def test_of_a_container_that_is_named_only_its_own_request_is_needed() -> None:
    """§9.3"""
    pair = requests(container("app", {"cpu": 100}), container("proxy", {}))
    assert [lacking(pair, "cpu", name) for name in ("app", "proxy")] == [(), ("proxy",)]


def test_of_the_core_group_only_the_name_is_missing() -> None:
    assert target_key("shop", Reference("ReplicationController", "web", "v1")) == (
        "",
        "ReplicationController",
        "shop",
        "web",
    )
    bare = replace(WEB, spec=replace(WEB.spec, target=Reference("Pod", "web", "")))
    [finding] = found(cluster(bare, targets={bare.target: Target(scalable=False)}))
    assert finding.text == "Pod of v1 has no scale subresource, so that every sync fails"
    [finding] = found(BROKEN["target-not-scalable"])
    assert finding.text == "Deployment of apps/v1 has no scale subresource, so that every sync fails"


@pytest.mark.parametrize(("age_s", "codes"), [(300.0, []), (300.1, ["metrics-stale"])])
def test_data_is_old_after_five_minutes(age_s: float, codes: list[str]) -> None:
    assert [finding.code for finding in found(with_row(data_age_s=age_s, synced_s=0.0))] == codes


@pytest.mark.parametrize(("since_s", "codes"), [(-899.9, []), (-900.0, ["pinned-at-max"])])
def test_a_quarter_of_an_hour_at_the_maximum_is_long(since_s: float, codes: list[str]) -> None:
    limited = condition("ScalingLimited", reason="TooManyReplicas", since_s=since_s)
    facts = cluster(replace(WEB, status=status(limited, current=10, desired=10)))
    assert [finding.code for finding in found(facts)] == codes


def test_a_tolerance_for_either_direction_needs_its_gate() -> None:
    for asked in (_TOLERANT, behavior(down=Rules(0, (), tolerance=0.05))):
        facts = replace(cluster(spec_of(behavior=asked)), gates=Gates(configurable_tolerance=False))
        assert [finding.code for finding in found(facts)] == ["gate-differs"]


@pytest.mark.parametrize(
    ("asking", "gates", "about", "said"),
    [
        (
            patient("queue", external_metric(average_milli=1000), least=0),
            Gates(),
            "HPAScaleToZero",
            "1 HPA (shop/queue) with minReplicas 0",
        ),
        (
            replace(patient("queue"), spec=spec_of(behavior=_TOLERANT).spec),
            Gates(configurable_tolerance=False),
            "HPAConfigurableTolerance",
            "1 HPA (shop/queue) with a tolerance of their own",
        ),
    ],
)
def test_a_gate_that_differs_is_told_with_those_that_need_it(
    asking: Patient, gates: Gates, about: str, said: str
) -> None:
    """§1.2: whatever the controller knows of its own gates."""
    facts = cluster(API, replace(asking, spec=replace(asking.spec, target=Reference("Deployment", "queue", "apps/v1"))))
    [finding] = found(replace(facts, gates=gates))
    assert (finding.code, finding.about, finding.hpas) == ("gate-differs", about, ("shop/queue",))
    assert said in finding.text
    assert f"--feature-gates={about}=true" in finding.remedy
    assert found(replace(facts, gates=None)) == ()


def test_only_what_explains_that_one_does_not_scale_takes_the_place_of_saying_so() -> None:
    """Advice does not, nor does an API that works by now."""
    advised = cluster(failing("web", "no answer"), targets={WEB.target: replace(target("web"), replicas_from="argocd")})
    assert [one.code for one in found(advised)] == ["scaling-inactive", "replicas-set"]
    unheard = cluster(failing("web", "the server is currently unable to handle the request"))
    frozen = {"shop/web": Row("shop", "web", not_written="frozen")}
    assert [one.code for one in found(replace(unheard, rows=frozen))] == ["frozen", "scaling-inactive"]


def test_the_first_three_of_many_are_named_by_their_names() -> None:
    assert counted(("shop/web", "shop/mail", "shop/api")) == "3 HPAs (shop/api, shop/mail, shop/web)"
    assert counted(("d", "c", "b", "a")) == "4 HPAs (a, b, c and 1 more)"


def test_a_late_sync_makes_no_old_data() -> None:
    assert found(with_row(data_age_s=420.0, synced_s=400.0)) == ()
    [finding] = found(with_row(data_age_s=1000.0, synced_s=40.0))
    assert finding.text == "its last decision rests on data of CPU that is 16 min old"


def test_a_utilization_needs_the_request_of_every_container_that_counts() -> None:
    [finding] = found(BROKEN["request-missing"])
    assert finding.text == (
        "container app of Deployment web has no request of cpu, of which a utilization would be a percentage: the "
        "metric fails"
    )
    both = replace(target("web"), requests=requests(container("app", {}), container("proxy", {})))
    assert found(with_target(both))[0].text.startswith("containers app, proxy of Deployment web have no request of cpu")


def test_an_api_is_found_missing_only_by_those_who_need_it() -> None:
    facts = cluster(WEB, patient("api", pods_metric(1000)), patient("mail", pods_metric(1000)))
    [finding] = found(replace(facts, served=frozenset(("apps/v1", "metrics.k8s.io/v1beta1"))))
    assert finding.about == "custom.metrics.k8s.io"
    assert "2 HPAs (shop/api, shop/mail) scale on it" in finding.text


def failing(name: str, message: str) -> Patient:
    broken = condition("ScalingActive", "False", reason="FailedGetResourceMetric", message=message)
    return patient(name, seen=status(broken))


def test_an_api_that_does_not_work_is_told_once_and_not_again_of_each_hpa() -> None:
    said = "unable to fetch metrics from resource metrics API: the server is currently unable to handle the request"
    patients = [failing("web", said), failing("api", said), failing("mail", "no metrics known for pod")]
    facts = replace(cluster(*patients), unavailable={"metrics.k8s.io/v1beta1": "no endpoints"})
    api, other = found(facts)
    assert (api.code, api.hpas) == ("api-unavailable", ("shop/web", "shop/api", "shop/mail"))
    assert (other.code, other.about) == ("scaling-inactive", "shop/mail"), "that is something else"
    facts = replace(cluster(*(failing(name, "it says: no endpoints") for name in "ab")), unavailable=facts.unavailable)
    assert [one.code for one in found(facts)] == ["api-unavailable"]


def test_those_that_do_not_scale_for_the_same_reason_are_told_of_together() -> None:
    patients = [failing(f"web-{number}", "no answer") for number in range(5)]
    [finding] = found(cluster(*patients))
    assert (finding.code, finding.about) == (
        "scaling-inactive",
        "5 HPAs (shop/web-0, shop/web-1, shop/web-2 and 2 more)",
    )
    assert finding.text == "they do not scale: FailedGetResourceMetric: no answer"
    assert finding.hpas == tuple(one.key for one in patients)
    assert "`hpa-controller explain shop/web-0`" in finding.remedy


def test_the_morning_is_not_added_to_a_night_at_the_minimum() -> None:
    """The condition was True all the while, for other reasons; only its reason has changed."""
    limited = condition("ScalingLimited", reason="TooManyReplicas", since_s=-36_000)
    patients = [
        replace(WEB, status=status(limited, current=10, desired=10, last_scale_s=at_s)) for at_s in (-60.0, -3600.0)
    ]
    assert found(cluster(patients[0])) == ()
    [finding] = found(cluster(patients[1]))
    assert finding.text == "it wants more than maxReplicas 10, at which it has been for 1 h"


def test_problems_come_first() -> None:
    """Whatever they are about."""
    facts = cluster(replace(API, status=_PINNED), WEB, targets={WEB.target: Target(exists=False, scalable=True)})
    assert [(one.severity, one.about) for one in found(facts)] == [("problem", "shop/web"), ("advice", "shop/api")]


def test_overlaps_are_told_of_both() -> None:
    """One may have noticed already, by its status; that is the same matter."""
    ambiguous = status(condition("ScalingActive", "False", reason="AmbiguousSelector", message="several"))
    findings = found(cluster(WEB, replace(API, status=ambiguous), targets={API.target: target("api", of="web")}))
    assert [(one.about, one.code) for one in findings] == [
        ("shop/api", "selectors-overlap"),
        ("shop/web", "selectors-overlap"),
    ]
    for one in findings:
        assert one.text == (
            "the selector of Deployment api, which api scales, also matches the pods of Deployment web, which web "
            "scales: both HPAs stop with AmbiguousSelector"
        )
        assert one.remedy == "give each workload a label of its own"


def test_however_many_overlap_each_is_told_once_of_all_the_others() -> None:
    patients = [patient(f"web-{index}") for index in range(5)]
    findings = found(cluster(*patients, targets={one.target: target("web") for one in patients}))
    assert [(one.about, one.code) for one in findings] == [(one.key, "selectors-overlap") for one in patients]
    assert findings[0].text == (
        "by labels and selectors Deployment web-0 shares pods with the targets of 4 HPAs (shop/web-1, shop/web-2, "
        "shop/web-3 and 1 more): all of these HPAs stop with AmbiguousSelector"
    )


def test_of_a_wide_selector_all_are_told() -> None:
    """Though of those whose pods it matches none matches another's."""
    wide = Target(exists=True, scalable=True, selector=selectors.parse("app"), labels={}, requests=requests())
    patients = [WEB, API, patient("all")]
    findings = found(cluster(*patients, targets={patients[2].target: wide}))
    assert [one.about for one in findings] == ["shop/all", "shop/api", "shop/web"]
    assert "shares pods with the targets of 2 HPAs (shop/api, shop/web)" in findings[0].text
    assert findings[1].text.startswith("the selector of Deployment all, which all scales, also matches the pods of")


def test_a_kind_in_lower_case_is_the_same_target() -> None:
    written = replace(WEB, name="web-too", spec=replace(WEB.spec, target=Reference("deployment", "web", "apps/v1")))
    assert {(one.about, one.code) for one in found(cluster(WEB, written))} == {
        ("shop/web", "same-target"),
        ("shop/web-too", "same-target"),
    }
    assert target_key("shop", Reference("DEPLOYMENT", "web", "apps/v1"))[1] == "DEPLOYMENT", "as discovery knows none"
    assert target_key("shop", Reference("rollout", "web", "argoproj.io/v1alpha1"))[1] == "rollout"


def test_selectors_that_match_each_others_pods_are_told_of_once() -> None:
    same = {WEB.target: target("web"), API.target: target("web")}
    assert [(one.about, one.code) for one in found(cluster(WEB, API, targets=same))] == [
        ("shop/api", "selectors-overlap"),
        ("shop/web", "selectors-overlap"),
    ]


@pytest.mark.parametrize(
    ("namespaces", "said"),
    [
        (("shop", "shop"), "2 HPAs in 1 namespace (shop)"),
        (("a", "b", "c", "d", "e"), "5 HPAs in 5 namespaces (a, b, c, d, e),"),
        (("a", "b", "c", "d", "e", "f"), "6 HPAs in 6 namespaces (a, b, c, d, e and 1 more)"),
    ],
)
def test_namespaces_are_counted_once_and_the_first_five_named(namespaces: tuple[str, ...], said: str) -> None:
    patients = [replace(patient(f"web-{index}"), namespace=name) for index, name in enumerate(namespaces)]
    rows = {one.key: Row(one.namespace, one.name, not_written="frozen") for one in patients}
    [finding] = found(replace(cluster(*patients), rows=rows))
    assert said in finding.text
    assert finding.hpas == tuple(one.key for one in patients)


def test_a_freeze_is_told_once_with_its_namespaces_and_how_it_ends() -> None:
    names = ("web", "api", "mail", "queue", "feed", "chat", "shop")
    patients = [replace(patient(name), namespace=name) for name in names]
    rows = {one.key: Row(one.namespace, one.name, not_written="frozen") for one in patients}
    [finding] = found(replace(cluster(*patients), rows=rows))
    assert (finding.severity, finding.code, finding.about) == ("problem", "frozen", "hpa-controller")
    assert "7 HPAs in 7 namespaces (api, chat, feed, mail, queue and 2 more)" in finding.text
    assert "`hpa-controller promote NAMESPACE`, or --all, makes the controller write again" in finding.remedy


def test_shadow_is_worth_a_word_but_no_problem() -> None:
    [finding] = found(BROKEN["shadow"])
    assert (finding.severity, finding.about) == ("advice", "hpa-controller")
    assert "1 HPA in 1 namespace (shop)" in finding.text


def test_what_one_does_several_do() -> None:
    assert "1 HPA (shop/web) scales on it" in found(BROKEN["api-missing"])[0].text
    assert "1 HPA (shop/web) needs it" in found(BROKEN["api-unavailable"])[0].text
    two = replace(cluster(WEB, replace(WEB, name="api")), unavailable=BROKEN["api-unavailable"].unavailable)
    assert "2 HPAs (shop/api, shop/web) need it" in found(two)[0].text
    texts = {one.text for one in found(cluster(*(replace(WEB, name=name) for name in "ab")))}
    assert any(text.startswith("a scales the same Deployment web") for text in texts)
    texts = {one.text for one in found(cluster(*(replace(WEB, name=name) for name in "abc")))}
    assert any(text.startswith("a, b scale the same Deployment web") for text in texts)
