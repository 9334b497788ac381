"""What is wrong with a cluster is said once, with a remedy; what is right is not complained of."""

import asyncio
from collections.abc import Collection, Iterable, Iterator

import msgspec
import pytest
from structlog.testing import capture_logs

from controller.decide.spec import Behavior, Gates, Policy, Rules, UnknownMetric
from controller.decide.status import Condition, MetricStatus, Status
from controller.ports import Unreachable, WatchedAutoscaler
from controller.sources.flags import FAMILIES
from controller.surroundings import LOOKED_AT_EVERY_S, Cluster, Surroundings, findings
from tests.spine.objects import BACKLOG, CPU, HITS, REQUESTS_PER_POD, autoscaler

ALL_APIS = frozenset(
    {
        "apps/v1",
        "autoscaling/v2",
        "metrics.k8s.io/v1beta1",
        "custom.metrics.k8s.io/v1beta1",
        "external.metrics.k8s.io/v1beta1",
    }
)
HEALTHY = Cluster("v1.36.3", ALL_APIS)
DEFAULT_GATES = Gates()


def problems(
    cluster: Cluster = HEALTHY,
    autoscalers: Iterable[WatchedAutoscaler] = (),
    gates: Gates = DEFAULT_GATES,
    from_apis: Collection[str] = FAMILIES,
) -> dict[str, str]:
    found = findings(cluster, list(autoscalers), gates, from_apis)
    return {finding.name: finding.text for finding in found if finding.problem}


def test_what_is_not_read_from_its_api_needs_none() -> None:
    cluster = without("external.metrics.k8s.io/v1beta1")
    asking = autoscaler(BACKLOG)
    assert "external.metrics.k8s.io" in problems(cluster, [asking])
    assert problems(cluster, [asking], from_apis=("resource", "custom")) == {}
    active = Condition("ScalingActive", "True", "ValidMetricFound", "", 0)
    told = autoscaler(BACKLOG, status=Status(metrics=(MetricStatus("External"),), conditions=(active,)))
    assert problems(cluster, [told]) == {}, "a query of its own, perhaps"


def without(*served: str) -> Cluster:
    return Cluster("v1.36.3", ALL_APIS - set(served))


def test_a_healthy_cluster_has_no_problem() -> None:
    everything = autoscaler(CPU, BACKLOG, HITS, REQUESTS_PER_POD, UnknownMetric("New"))
    assert problems(HEALTHY, [everything, autoscaler(name="plain", replicas_min=None)]) == {}


@pytest.mark.parametrize("version", ["v1.36.3", "v1.29.0-eks-1", "unknown", ""])
def test_the_version_is_told(version: str) -> None:
    [found] = findings(Cluster(version, ALL_APIS), [], Gates(), FAMILIES)
    assert (found.name, found.problem) == ("server", False)
    assert version in found.text
    assert "1.36.3" in found.text


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("v1.22.17", ("v1.22.17 is too old", "1.23", "upgrade")),
        ("v1.36.3", ("does not serve autoscaling/v2", "--runtime-config")),
        ("nobody knows", ("does not serve autoscaling/v2",)),
    ],
)
def test_a_server_without_autoscaling_v2_is_a_problem(version: str, words: tuple[str, ...]) -> None:
    text = problems(Cluster(version, ALL_APIS - {"autoscaling/v2"}))["server"]
    assert [word for word in words if word not in text] == []


@pytest.mark.parametrize(
    ("metric", "missing", "remedy"),
    [
        (CPU, "metrics.k8s.io/v1beta1", "metrics-server"),
        (REQUESTS_PER_POD, "custom.metrics.k8s.io/v1beta1", "adapter"),
        (HITS, "custom.metrics.k8s.io/v1beta1", "adapter"),
        (BACKLOG, "external.metrics.k8s.io/v1beta1", "KEDA"),
    ],
)
def test_a_missing_metrics_api_is_a_problem_for_those_who_ask_it(metric: object, missing: str, remedy: str) -> None:
    group = missing.partition("/")[0]
    assert problems(without(missing)) == {}
    assert isinstance(metric, type(CPU) | type(HITS) | type(BACKLOG) | type(REQUESTS_PER_POD))
    text = problems(without(missing), [autoscaler(metric)])[group]
    assert "1 HPA (shop/web)" in text
    assert remedy in text


def test_custom_metrics_are_served_in_either_version() -> None:
    newer = Cluster("v1.36.3", ALL_APIS - {"custom.metrics.k8s.io/v1beta1"} | {"custom.metrics.k8s.io/v1beta2"})
    assert problems(newer, [autoscaler(HITS)]) == {}


def test_many_are_counted_and_a_few_named() -> None:
    several = [autoscaler(BACKLOG, name=f"worker-{index}") for index in range(5)]
    text = problems(without("external.metrics.k8s.io/v1beta1"), several)["external.metrics.k8s.io"]
    assert "5 HPAs (shop/worker-0, shop/worker-1, shop/worker-2 and 2 more)" in text


def test_gates_that_only_the_server_has_show_in_hpas() -> None:
    rules = Rules(0, (Policy("Pods", 4, 15),))
    tolerant = Behavior(msgspec.structs.replace(rules, tolerance=0.05), rules)
    several = [autoscaler(BACKLOG, replicas_min=0), autoscaler(name="tolerant", behavior=tolerant)]
    off = Gates(scale_to_zero=False, configurable_tolerance=False)
    found = problems(HEALTHY, several, off)
    assert "--feature-gates=HPAScaleToZero=true" in found["HPAScaleToZero"]
    assert "--feature-gates=HPAConfigurableTolerance=true" in found["HPAConfigurableTolerance"]
    assert problems(HEALTHY, several, Gates(scale_to_zero=True, configurable_tolerance=True)) == {}


def _at_zero(*marks: Condition) -> Status:
    return Status(0, 0, conditions=(Condition("AbleToScale", "True", "SucceededGetScale", "", 1), *marks))


def test_what_earlier_versions_parked_at_zero_is_told() -> None:
    """§26."""
    gates = Gates(scale_to_zero=True)
    parked = autoscaler(BACKLOG, replicas_min=0, status=_at_zero())
    assert "kubectl scale --replicas=1" in problems(HEALTHY, [parked], gates)["paused-at-zero"]
    for harmless in (
        autoscaler(BACKLOG, replicas_min=0, status=_at_zero(Condition("ScaledToZero", "True", "ScaledToZero", "", 1))),
        autoscaler(BACKLOG, replicas_min=1, status=_at_zero()),
        autoscaler(BACKLOG, replicas_min=0, status=Status()),
        autoscaler(BACKLOG, replicas_min=0, status=Status(2, 2)),
    ):
        assert problems(HEALTHY, [harmless], gates) == {}


# --- looking again ---


class Server:
    """An API server that can be changed and taken away."""

    def __init__(self) -> None:
        self.cluster = HEALTHY
        self.down = False

    async def read(self) -> Cluster:
        if self.down:
            raise Unreachable("connection refused")
        return self.cluster


@pytest.mark.looptime
async def test_it_looks_when_it_starts_when_caches_are_filled_and_each_minute() -> None:
    server, known, filled = Server(), [autoscaler(BACKLOG)], asyncio.Event()
    server.cluster = without("external.metrics.k8s.io/v1beta1")
    hpas: list[WatchedAutoscaler] = []
    surroundings = Surroundings(server.read, hpas, Gates(), FAMILIES)

    async def fill() -> None:
        await filled.wait()

    with capture_logs() as logs:
        task = asyncio.create_task(surroundings.run(fill))
        await asyncio.sleep(1)
        assert [line["finding"] for line in logs] == ["server"]
        hpas += known
        filled.set()
        await asyncio.sleep(1)
        assert [line["finding"] for line in logs] == ["server", "external.metrics.k8s.io"]
        await asyncio.sleep(3 * LOOKED_AT_EVERY_S)
        assert len(logs) == 2, "what is known is not told again"
        server.cluster = HEALTHY
        await asyncio.sleep(LOOKED_AT_EVERY_S)
        assert (logs[-1]["event"], logs[-1]["finding"]) == ("no longer a problem", "external.metrics.k8s.io")
        task.cancel()
        await asyncio.wait([task])
    assert [line[:10] for line in surroundings.lines()] == ["[i]server:"]


@pytest.mark.looptime
async def test_whatever_a_look_raises_ends_nothing() -> None:
    async def read() -> Cluster:
        raise ZeroDivisionError

    surroundings = Surroundings(read, [], Gates(), FAMILIES)
    await surroundings.look()
    assert surroundings.lines() == []


@pytest.mark.looptime
async def test_whatever_finding_raises_ends_nothing() -> None:
    class Unreadable(list[WatchedAutoscaler]):
        def __iter__(self) -> Iterator[WatchedAutoscaler]:
            raise ZeroDivisionError

    async def read() -> Cluster:
        return HEALTHY

    surroundings = Surroundings(read, Unreadable(), Gates(), FAMILIES)
    await surroundings.look()
    assert surroundings.lines() == []


@pytest.mark.looptime
async def test_while_the_server_is_away_what_was_found_stays() -> None:
    server = Server()
    surroundings = Surroundings(server.read, [], Gates(), FAMILIES)
    await surroundings.look()
    before = surroundings.lines()
    server.down = True
    await surroundings.look()
    assert surroundings.lines() == before != []
