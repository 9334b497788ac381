"""How far a decided count may be from the current one, for any orderly world (§4.7, §10, §11)."""

from hypothesis import assume, given
from hypothesis import strategies as st

from controller.decide.decision import conclude, decide
from controller.decide.history import History, ScaleEvent
from controller.decide.observed import Scale
from controller.decide.result import Decision, Path, Written
from controller.decide.spec import Autoscaler, Policy, Rules
from controller.decide.status import Status
from tests.builders import behavior, by_pods, external_metric, history, hpa, monotonic_ns, now, rules
from tests.decide.orderly import BEHAVIORS, REPLICAS_MOST, asking, orderly_worlds
from tests.decide.strategies import World, profile


def decided(world: World) -> Decision:
    return decide(world.autoscaler, world.observation, world.history, now())


def replicas_of(world: World) -> int:
    assert isinstance(world.observation.scale, Scale)
    return world.observation.scale.replicas


@profile(130)
@given(orderly_worlds())
def test_never_above_the_maximum(world: World) -> None:
    """Every limit ends at the maximum (§10.3, §11.4), and what is above it already comes down at once (§4.7c)."""
    desired = decided(world).desired
    assert desired is None or desired <= world.autoscaler.spec.replicas_max


@profile(130)
@given(orderly_worlds())
def test_never_below_the_minimum_unless_paused(world: World) -> None:
    """Up is not held to the minimum (§11.4), but only zero is below it here, from where §4.8 step 7 lifts."""
    decision = decided(world)
    if decision.path is Path.PAUSED:
        assert decision.desired == 0
    else:
        assert decision.desired is None or decision.desired >= world.autoscaler.replicas_min


def changed(events: tuple[ScaleEvent, ...], period_s: int) -> int:
    return sum(event.change for event in events if event.at_ns > monotonic_ns(-period_s))


def furthest(rules: Rules, past: History, replicas: int, *, upwards: bool) -> int:
    """How far the policies let the count go, written down once more from the table of §11.5."""
    if rules.select == "Disabled":
        return replicas

    def bound(policy: Policy) -> int:
        start = replicas - changed(past.scale_ups, policy.period_s) + changed(past.scale_downs, policy.period_s)
        if policy.type == "Pods":
            return start + policy.value if upwards else start - policy.value
        product = start * (1 + policy.value / 100) if upwards else start * (1 - policy.value / 100)
        return -int(-product // 1) if upwards else int(product)

    bounds = [bound(policy) for policy in rules.policies]
    widest = upwards == (rules.select == "Max")
    return max(bounds) if widest else min(bounds)


@profile(150)
@given(orderly_worlds(BEHAVIORS))
def test_policies_are_obeyed_where_metrics_decide(world: World) -> None:
    """§11.4 clamps the stabilized count to what §11.5 allows; only the lift from zero is not held to it (§4.8)."""
    decision, replicas = decided(world), replicas_of(world)
    assume(decision.path is Path.METRICS and not decision.lifted_to_min)
    assert decision.desired is not None
    given_behavior = world.autoscaler.spec.behavior
    assert given_behavior is not None
    lowest = furthest(given_behavior.scale_down, world.history, replicas, upwards=False)
    highest = furthest(given_behavior.scale_up, world.history, replicas, upwards=True)
    assert min(lowest, replicas) <= decision.desired <= max(highest, replicas)


@profile(120)
@given(orderly_worlds(st.none()))
def test_without_behavior_down_is_not_limited(world: World) -> None:
    """§10.5: there is no rate limit downwards, only the window and the minimum; upwards there is a factor (§10.3)."""
    decision, replicas = decided(world), replicas_of(world)
    assume(decision.path is Path.METRICS and decision.stabilization is not None and not decision.lifted_to_min)
    assert decision.desired is not None
    assert decision.stabilization is not None
    if decision.stabilization.stabilized < replicas:
        assert decision.desired == max(decision.stabilization.stabilized, world.autoscaler.replicas_min)
    assert decision.desired <= max(2 * replicas, 4)


@profile(100)
@given(orderly_worlds(BEHAVIORS), st.integers(1, 30))
def test_the_bounds_are_jumped_to_whatever_the_policies(world: World, beyond: int) -> None:
    """§4.7c, d: no stabilization, rate limit or behavior applies."""
    autoscaler = world.autoscaler
    above = decide(autoscaler, asking((1,), autoscaler.spec.replicas_max + beyond), world.history, now())
    assert above.desired == autoscaler.spec.replicas_max
    if autoscaler.replicas_min > 1:
        below = decide(autoscaler, asking((99,), autoscaler.replicas_min - 1), world.history, now())
        assert below.desired == autoscaler.replicas_min


PERIODS_S = (15, 30, 45, 90)


@profile(120)
@given(
    wanted=st.lists(st.integers(0, REPLICAS_MOST), min_size=2, max_size=25),
    up=st.tuples(st.integers(1, 9), st.sampled_from(PERIODS_S)),
    down=st.tuples(st.integers(1, 9), st.sampled_from(PERIODS_S)),
)
def test_over_time_no_more_than_a_policy_per_period(
    wanted: list[int], up: tuple[int, int], down: tuple[int, int]
) -> None:
    """§11.5: a rescale never ends further from the size at the start of its policy's period than the policy's value."""
    asked = hpa(
        external_metric(average_milli=1000),
        replicas_max=2 * REPLICAS_MOST,
        behavior=behavior(up=rules(by_pods(*up)), down=rules(by_pods(*down))),
    )
    sizes = _sizes(asked, wanted, every_s=15)
    for index in range(1, len(sizes)):
        change = sizes[index] - sizes[index - 1]
        value, period_s = up if change > 0 else down
        start = sizes[max(index - period_s // 15, 0)]
        if change > 0:
            assert sizes[index] <= start + value
        elif change < 0:
            assert sizes[index] >= start - value


def _sizes(asked: Autoscaler, wanted: list[int], *, every_s: int) -> list[int]:
    """The size before the first sync and after each."""
    sizes, past = [10], history((0, -600))
    for index, count in enumerate(wanted):
        seen, moment = asking((count,), sizes[-1]), now(index * every_s)
        decision = decide(asked, seen, past, moment)
        conclusion = conclude(asked, Status(), decision, Written() if decision.rescales else None, moment)
        past = conclusion.history
        sizes.append(sizes[-1] if conclusion.scaled_to is None else conclusion.scaled_to)
    return sizes
