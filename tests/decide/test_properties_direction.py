"""Which way a count may move: never against the proposal, never down with a failing metric, not within tolerance."""

from dataclasses import dataclass

from hypothesis import assume, given
from hypothesis import strategies as st

from controller.decide.decision import decide
from controller.decide.history import History
from controller.decide.observed import Reading, Scale
from controller.decide.ratio import REPLICAS_MAX
from controller.decide.result import MetricFailure, Path
from controller.decide.spec import Behavior, MetricSpec
from controller.decide.stabilize import with_behavior, without_behavior
from tests.builders import (
    DEFAULTS,
    cpu,
    external_metric,
    history,
    hpa,
    monotonic_ns,
    now,
    object_metric,
    observation,
    pods_metric,
    samples,
    scale,
    series,
    settings,
    usage,
    value,
)
from tests.decide.orderly import BEHAVIORS, HISTORIES, REPLICAS_MOST, orderly_worlds
from tests.decide.strategies import World, profile
from tests.decide.syncs import proposal

COUNTS = st.integers(0, REPLICAS_MOST)


@profile(150)
@given(COUNTS, COUNTS, HISTORIES, BEHAVIORS)
def test_stabilization_never_moves_against_the_proposal(
    replicas: int, wanted: int, past: History, given_behavior: Behavior
) -> None:
    """§11.2: the windows only hold the count between where it is and where metrics want it."""
    result, _ = with_behavior(wanted, replicas, past, given_behavior, DEFAULTS, monotonic_ns())
    assert min(replicas, wanted) <= result.stabilized <= max(replicas, wanted)


@profile(100)
@given(COUNTS, HISTORIES)
def test_without_behavior_stabilization_only_raises(wanted: int, past: History) -> None:
    """§10.1 takes a maximum, which may even be above the current count (§10.5)."""
    result, _ = without_behavior(wanted, past, DEFAULTS, monotonic_ns())
    assert result.stabilized >= wanted


@profile(150)
@given(orderly_worlds())
def test_a_failing_metric_never_lets_it_scale_down(world: World) -> None:
    """§6.1 decides nothing below R then, and neither stabilization nor a limit turns a count of at least R around."""
    decision = decide(world.autoscaler, world.observation, world.history, now())
    evaluation, seen = decision.evaluation, world.observation.scale
    assert isinstance(seen, Scale)
    assume(evaluation is not None)
    assert evaluation is not None
    if any(isinstance(result, MetricFailure) for result in evaluation.results):
        assert decision.desired is None or decision.desired >= seen.replicas
        assert decision.error is not None


@dataclass(frozen=True)
class Plain:
    """One metric whose ratio is drawn: usage out of a target of 1000."""

    metric: MetricSpec
    reading: Reading
    replicas: int
    used: int


@st.composite
def plain_metrics(draw: st.DrawFn, least: int = 0, most: int = 2500) -> Plain:
    """As many ready pods as replicas, each with a sample, all alike; totals are the same per replica."""
    replicas, used = draw(st.integers(1, 12)), draw(st.integers(least, most))
    each = [used] * replicas
    choices: tuple[tuple[MetricSpec, Reading], ...] = (
        (cpu(average_milli=1000), usage(*each)),
        (cpu(100), usage(*each)),
        (pods_metric(1000), samples(*each)),
        (object_metric(value_milli=1000), value(used)),
        (object_metric(average_milli=1000), value(used * replicas)),
        (external_metric(value_milli=1000), series(used)),
        (external_metric(average_milli=1000), series(*each)),
    )
    metric, reading = draw(st.sampled_from(choices))
    return Plain(metric, reading, replicas, used)


@profile(150)
@given(plain_metrics(), st.sampled_from((0.0, 0.1, 0.5, 3.0)), st.sampled_from((0.0, 0.1, 0.5)))
def test_within_tolerance_nothing_changes(plain: Plain, up: float, down: float) -> None:
    """§7.1 step 6, §7.3, §7.4: a ratio within tolerance gives the current count; outside it moves the ratio's way."""
    proposed = proposal(plain.metric, plain.reading, replicas=plain.replicas, tolerance=(down, up)).replicas
    # A utilization is a whole percentage.
    ratio = plain.used // 10 / 100 if plain.metric == cpu(100) else plain.used / 1000
    if 1 - down <= ratio <= 1 + up:
        assert proposed == plain.replicas
    elif ratio > 1:
        assert proposed >= plain.replicas
    else:
        assert proposed <= plain.replicas


@profile(100)
@given(plain_metrics(least=900, most=1100))
def test_within_tolerance_nothing_is_written(plain: Plain) -> None:
    """The whole sync, without recommendations of the past that could hold another count (§10.5)."""
    asked = hpa(plain.metric, replicas_max=REPLICAS_MAX, settings=settings())
    decision = decide(asked, observation(scale(plain.replicas), plain.reading), history(), now())
    assert decision.path is Path.METRICS
    assert not decision.rescales
