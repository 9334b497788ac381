"""More load never means fewer replicas: where that holds, and where the rules of §7 break it."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.decide.decision import decide
from controller.decide.history import History
from controller.decide.observed import Pod, Reading
from controller.decide.spec import Autoscaler, MetricSpec
from tests.builders import (
    condition,
    container_metric,
    cpu,
    external_metric,
    hpa,
    now,
    object_metric,
    observation,
    pods,
    pods_metric,
    samples,
    scale,
    series,
    settings,
    status,
    usage,
    value,
)
from tests.decide.orderly import BEHAVIORS, HISTORIES
from tests.decide.strategies import profile
from tests.decide.syncs import proposal

Loads = tuple[int | None, ...]
LOADS = st.one_of(st.integers(0, 3000), st.integers(0, 2**61))
TOLERANCES = st.tuples(st.sampled_from((0.0, 0.1, 0.5, 2.0)), st.sampled_from((0.0, 0.1, 0.5, 2.0)))

PER_POD: dict[str, tuple[MetricSpec, Callable[..., Reading]]] = {
    "cpu utilization": (cpu(50), usage),
    "cpu utilization above 100 %": (cpu(250), usage),
    "cpu average": (cpu(average_milli=1000), usage),
    "container utilization": (container_metric("app", 50), usage),
    "Pods": (pods_metric(1000), samples),
}


@dataclass(frozen=True)
class PodLoads:
    """R and pods, with what each uses first and then, and a pod nobody knows (§8.3): never less than before."""

    replicas: int
    listed: tuple[Pod, ...]
    before: Loads
    after: Loads
    ghost_before: int
    ghost_after: int


@st.composite
def pod_loads(draw: st.DrawFn) -> PodLoads:
    """Ready pods are no more than R, and as many as R where no pod is missing or unready; the others are any."""
    ready, unready, missing = draw(st.integers(1, 4)), draw(st.integers(0, 2)), draw(st.integers(0, 2))
    replicas = ready + (draw(st.integers(0, 5)) if unready or missing else 0)
    before = tuple(draw(LOADS) for _ in range(ready + unready))
    after = tuple(load + draw(LOADS) for load in before)
    ghost = draw(LOADS)
    listed = (*pods(ready), *pods(unready, first=ready, phase="Pending"), *pods(missing, first=ready + unready))
    return PodLoads(replicas, listed, before, after, ghost, ghost + draw(LOADS))


@pytest.mark.parametrize("kind", PER_POD)
def test_more_load_in_pods(kind: str) -> None:
    """Truncation, division and rounding up keep the order (§7.1, §7.2), and so does what is filled in: below target a
    proposal is at most R (step 9, or ready pods ≤ R), within tolerance it is R, above it is at least R (step 9, or
    ready pods = R). Each of the three grows with the load.
    """
    metric, reading_of = PER_POD[kind]

    @profile(150)
    @given(pod_loads(), TOLERANCES)
    def more(loads: PodLoads, tolerance: tuple[float, float]) -> None:
        before, after = (
            proposal(
                metric,
                reading_of(*used, others={"ghost": ghost}),
                replicas=loads.replicas,
                listed=loads.listed,
                tolerance=tolerance,
            ).replicas
            for used, ghost in ((loads.before, loads.ghost_before), (loads.after, loads.ghost_after))
        )
        assert before <= after

    more()


TOTAL: dict[str, tuple[MetricSpec, Callable[[int], Reading]]] = {
    "Object Value": (object_metric(value_milli=1000), value),
    "Object AverageValue": (object_metric(average_milli=1000), value),
    "External Value": (external_metric(value_milli=1000), series),
    "External AverageValue": (external_metric(average_milli=1000), series),
}


@pytest.mark.parametrize("kind", TOTAL)
def test_more_load_in_total(kind: str) -> None:
    """§7.3 with as many ready pods as replicas, or from zero; §7.4 with any count in the status, since it rounds
    `usage / target` alone.
    """
    metric, reading_of = TOTAL[kind]

    @profile(150)
    @given(st.integers(0, 9), st.integers(0, 9), LOADS, LOADS, TOLERANCES)
    def more(replicas: int, status_replicas: int, load: int, further: int, tolerance: tuple[float, float]) -> None:
        before, after = (
            proposal(
                metric, reading_of(used), replicas=replicas, status_replicas=status_replicas, tolerance=tolerance
            ).replicas
            for used in (load, load + further)
        )
        assert before <= after

    more()


@st.composite
def syncing_autoscalers(draw: st.DrawFn) -> Autoscaler:
    """One External metric, any limits and windows."""
    replicas_min = draw(st.integers(0, 4))
    return hpa(
        external_metric(average_milli=1000),
        replicas_min=replicas_min,
        replicas_max=max(replicas_min, 1) + draw(st.integers(0, 60)),
        behavior=draw(st.none() | BEHAVIORS),
        settings=settings(scale_to_zero=True),
    )


@profile(150)
@given(syncing_autoscalers(), st.integers(0, 9), LOADS, LOADS, HISTORIES)
def test_more_load_in_a_whole_sync(asked: Autoscaler, replicas: int, load: int, further: int, past: History) -> None:
    """With the same past, windows and limits are maxima and minima of the proposal and constants (§10, §11)."""
    before, after = (
        decide(
            asked, observation(scale(replicas), series(used), status=status(condition("ScaledToZero"))), past, now()
        ).desired
        for used in (load, load + further)
    )
    assert before is not None
    assert after is not None
    assert before <= after


BROKEN: dict[str, tuple[MetricSpec, Reading, Reading, int, tuple[Pod, ...], int, int]] = {
    # metric, less and more load, R, pods; what they propose
    "fewer ready pods than R, and none missing": (
        pods_metric(1000), samples(1000, 1000, 1000), samples(1200, 1200, 1200), 10, pods(3), 10, 4,
    ),
    "more ready pods than R": (
        pods_metric(1000), samples(*[800] * 20), samples(*[1000] * 20), 10, pods(20), 16, 10,
    ),
    "fewer ready pods than R, one number": (
        object_metric(value_milli=1000), value(1000), value(2000), 10, pods(3), 10, 6,
    ),
    "no ready pods, one number": (
        external_metric(value_milli=1000), series(1000), series(9000), 3, pods(3, ready="False"), 3, 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_where_more_load_means_fewer(name: str) -> None:
    """§7.1 step 6 and §7.3 multiply with ready pods what is compared with R; §25.2.7 is one of these."""
    metric, less, more, replicas, listed, first, then = BROKEN[name]
    assert proposal(metric, less, replicas=replicas, listed=listed).replicas == first
    assert proposal(metric, more, replicas=replicas, listed=listed).replicas == then < first


def test_a_sample_that_appears_may_mean_fewer() -> None:
    """§7.1 step 7: a missing pod counts as at target below it; its first sample is more load and lowers the count."""
    without = proposal(pods_metric(1000), samples(700, 700), replicas=3).replicas
    with_sample = proposal(pods_metric(1000), samples(700, 700, 10), replicas=3).replicas
    assert (without, with_sample) == (3, 2)
