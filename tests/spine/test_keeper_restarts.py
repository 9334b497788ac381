"""§2.5 with --keep-history: over restarts under a moving load no window or policy is exceeded; without, they are."""

import asyncio
import random

import pytest

from controller.decide.spec import Behavior, ExternalMetric, MetricIdentifier, Policy, Rules, Target
from tests.spine.objects import autoscaler
from tests.spine.stage import PERIOD_S
from tests.spine.succession import EXACT, Succession, waves
from tests.spine.tasks import now_s
from tests.spine.world import Accepted

pytestmark = pytest.mark.looptime

RESTARTS = 50
LEASE_S = 15.0
SYNC_MAX_S = 2.0

BEHAVIORS: dict[str, Behavior | None] = {
    "web": Behavior(Rules(0, (Policy("Pods", 4, 60),)), Rules(120, (Policy("Pods", 2, 60),))),
    "shop": Behavior(
        Rules(60, (Policy("Percent", 20, 90), Policy("Pods", 3, 45)), "Min"), Rules(300, (Policy("Percent", 10, 120),))
    ),
    "plain": None,
}


def world(*, keep: bool, seed: int) -> Succession:
    succession = Succession(keep=keep)
    dice = random.Random(seed)  # noqa: S311 - a test wants the same restarts each time
    for name, behavior in BEHAVIORS.items():
        metric = ExternalMetric(MetricIdentifier(name), Target("AverageValue", average_value_milli=1_000))
        gusts = tuple(dice.uniform(-0.5, 0.5) for _ in range(97))
        watched = autoscaler(metric, name=name, behavior=behavior, replicas_max=10_000)
        succession.add(watched, 40, waves(60, 40, dice.uniform(300, 900), gusts))
    return succession


async def lived(succession: Succession, *, seed: int, restarts: int, killed: float) -> None:
    """Under so many restarts, that share of them kills, or for as long without any."""
    dice = random.Random(seed)  # noqa: S311 - a test wants the same restarts each time
    succession.start()
    for _ in range(RESTARTS):
        await asyncio.sleep(dice.uniform(20, 75))
        kill, pause_s, first_s = dice.random() < killed, dice.uniform(0.1, 3), dice.uniform(0.5, PERIOD_S)
        if restarts:
            await (succession.kill() if kill else succession.stop())
            await asyncio.sleep(pause_s + (LEASE_S if kill else 0))
            succession.start(first_s)
    await succession.stop()


def rates_exceeded(succession: Succession) -> list[str]:
    """Rescales beyond what the policies allow, by what the server has really accepted."""
    found = []
    for name, behavior in BEHAVIORS.items():
        if behavior is None:
            continue
        accepted = [write for write in succession.stage.scales.accepted if write.name == name]
        for write in accepted:
            up = write.replicas > write.before
            rules = behavior.scale_up if up else behavior.scale_down
            bounds = [_bound(policy, write, accepted, up=up) for policy in rules.policies]
            widest = (rules.select == "Max") == up
            most = max(bounds) if widest else min(bounds)
            if (write.replicas > max(most, write.before)) if up else (write.replicas < min(most, write.before)):
                found.append(f"{name} at {write.at_s:.0f} s: {write.before} → {write.replicas}, allowed {most:.1f}")
    return found


def _bound(policy: Policy, write: Accepted, accepted: list[Accepted], *, up: bool) -> float:
    """What a policy allows at most; the controller knows of a rescale up to two seconds after the server."""
    starts = []
    for lag_s in (-SYNC_MAX_S, 0.0, SYNC_MAX_S):
        recent = [each for each in accepted if write.at_s - policy.period_s + lag_s < each.at_s < write.at_s]
        starts.append(write.before - sum(each.replicas - each.before for each in recent))
    start = max(starts) if up else min(starts)
    if policy.type == "Pods":
        return start + (policy.value if up else -policy.value)
    # The controller rounds up on the way up, and down on the way down (§11.5).
    return start * (1 + policy.value / 100) + 1 if up else start * (1 - policy.value / 100) - 1


def windows_exceeded(succession: Succession) -> list[str]:
    """Rescales beyond what was asked for within the stabilization windows, by whichever controller heard it."""
    found = []
    for write in succession.stage.scales.accepted:
        behavior = BEHAVIORS[write.name]
        down_s, up_s = EXACT.downscale_stabilization_ns / 1e9, 0.0
        if behavior is not None:
            down_s, up_s = float(behavior.scale_down.window_s or 0), float(behavior.scale_up.window_s or 0)
        up = write.replicas > write.before
        # A decision is a little older than its write.
        begin_s = write.at_s - (up_s if up else down_s) + SYNC_MAX_S
        asked = [
            each.replicas for each in succession.asked if each.name == write.name and begin_s < each.at_s <= write.at_s
        ]
        if up and up_s and write.replicas > min(asked, default=write.replicas):
            found.append(f"{write.name} at {write.at_s:.0f} s: up to {write.replicas}, asked for {min(asked)}")
        if not up and write.replicas < max(asked, default=0):
            found.append(f"{write.name} at {write.at_s:.0f} s: down to {write.replicas}, asked for {max(asked)}")
    return found


def moved(succession: Succession) -> int:
    return len(succession.stage.scales.accepted)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_an_uninterrupted_run_keeps_all_windows_and_policies(seed: int) -> None:
    succession = world(keep=False, seed=seed)
    await lived(succession, seed=seed, restarts=0, killed=0)
    assert rates_exceeded(succession) == []
    assert windows_exceeded(succession) == []
    assert moved(succession) > 60
    assert now_s() > RESTARTS * 20


@pytest.mark.parametrize(("seed", "killed"), [(1, 0.0), (2, 0.5), (3, 1.0)])
async def test_so_does_one_with_fifty_restarts_that_keeps_its_history(seed: int, killed: float) -> None:
    succession = world(keep=True, seed=seed)
    await lived(succession, seed=seed, restarts=RESTARTS, killed=killed)
    assert rates_exceeded(succession) == []
    assert windows_exceeded(succession) == []
    assert moved(succession) > 20, "it does not keep them by standing still"


@pytest.mark.parametrize("killed", [0.0, 1.0])
async def test_one_that_forgets_exceeds_them(killed: float) -> None:
    """What the built-in controller does (§2.5), and this one without --keep-history."""
    succession = world(keep=False, seed=1)
    await lived(succession, seed=1, restarts=RESTARTS, killed=killed)
    assert len(rates_exceeded(succession)) > 3
