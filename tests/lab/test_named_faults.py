"""Faults by name: what they are, and when they come and go."""

import itertools

import pytest

from controller.lab.clock import LabClock
from controller.lab.cluster import Cluster
from controller.lab.metrics_feed import ObjectKey, Sample
from controller.lab.named_faults import EMPTY, NAMED, RESTART, FaultSchedule, UnknownFaultError, check
from controller.lab.server import LabServer
from tests.lab.hands import Hands

STEP_S = 0.25
LASTING = sorted(name for name, named in NAMED.items() if not named.once)
MOMENTARY = sorted(name for name, named in NAMED.items() if named.once)


class Watched:
    """A schedule that is stepped, with what it announced; `restarts` counts restarts."""

    def __init__(self, *names: str, seed: int = 1) -> None:
        self.hands = Hands()
        self.server = LabServer(Cluster(LabClock(self.hands)))
        self.changes: list[tuple[float, str, str]] = []
        self.restarts = 0
        self.schedule = FaultSchedule(names, self.server, self.restart, self.announce, seed)

    def restart(self) -> None:
        self.restarts += 1

    def announce(self, name: str, change: str) -> None:
        self.changes.append((self.hands.now_s, name, change))

    def injected(self) -> int:
        return len(self.server.faults._injections)

    def run(self, seconds: float) -> "Watched":
        for _ in range(round(seconds / STEP_S)):
            self.hands.now_s += STEP_S
            self.schedule.step()

        return self


@pytest.mark.parametrize("name", LASTING)
async def test_a_fault_comes_and_goes_and_leaves_quiet_times(name: str) -> None:
    watched = Watched(name).run(300)
    assert [change for _, _, change in watched.changes[:4]] == ["begins", "ends", "begins", "ends"]
    times = [0.0, *(at_s for at_s, _, _ in watched.changes)]
    lengths = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert all(15 <= length <= 25.25 for length in lengths[::2])
    assert all(6 <= length <= 10.25 for length in lengths[1::2])
    assert len(set(lengths)) > 2


@pytest.mark.parametrize("name", MOMENTARY)
async def test_what_happens_at_a_moment_is_over_soon(name: str) -> None:
    watched = Watched(name).run(200)
    times = [at_s for at_s, _, _ in watched.changes]
    assert all(end_s - begin_s <= 1.5 for begin_s, end_s in zip(times[::2], times[1::2], strict=False))
    assert watched.restarts == (len(times[::2]) if name == RESTART else 0)


@pytest.mark.parametrize("name", sorted(NAMED))
async def test_only_what_is_on_is_injected(name: str) -> None:
    watched, most = Watched(name), 0
    for _ in range(400):
        watched.run(STEP_S)
        assert watched.injected() == (len(NAMED[name].faults) if watched.schedule.active else 0)
        most = max(most, watched.injected())
    assert most == len(NAMED[name].faults)
    assert most or name in (EMPTY, RESTART)


async def test_times_follow_from_the_seed_and_differ_from_fault_to_fault() -> None:
    def times(name: str, seed: int) -> list[float]:
        return [at_s for at_s, _, _ in Watched(name, seed=seed).run(200).changes]

    assert times("throttle", 1) == times("throttle", 1)
    assert times("throttle", 1) != times("throttle", 2)
    assert times("throttle", 1) != times("api-slow", 1)


async def test_several_faults_do_not_disturb_each_other() -> None:
    alone = {name: Watched(name).run(200).changes for name in ("conflict", "api-slow")}
    together = Watched("conflict", "api-slow", "conflict")
    for _ in range(round(200 / STEP_S)):
        together.hands.now_s += STEP_S
        together.schedule.step()
    for name, changes in alone.items():
        assert [change for change in together.changes if change[1] == name] == changes


async def test_stopping_switches_everything_off_for_good() -> None:
    watched = Watched("metrics-fail")
    watched.run(26)
    assert watched.schedule.active == ("metrics-fail",)
    watched.schedule.stop()
    assert not watched.schedule.active
    assert watched.injected() == 0
    assert watched.changes[-1][2] == "ends"
    watched.run(200)
    assert watched.changes[-1][0] == 26


async def test_empty_metrics_are_empty_but_known() -> None:
    watched = Watched(EMPTY)
    watched.run(26)
    assert watched.schedule.active == (EMPTY,)
    feed = watched.server.cluster.metrics
    feed.set_pod("default", "a", {"app": {"cpu": "1"}})
    feed.set_custom("rate", ObjectKey("pods", "default", "a"), Sample("1"))
    feed.set_external("default", "backlog", Sample("1"))
    watched.schedule.step()
    assert (feed.pods, feed.custom, feed.external) == ({}, {"rate": {}}, {("default", "backlog"): []})


def test_a_name_that_is_no_fault_is_answered_with_those_that_are() -> None:
    check(list(NAMED))
    with pytest.raises(UnknownFaultError) as caught:
        check(["throttle", "gremlins"])
    assert str(caught.value).startswith("'gremlins' is no fault; there are ")
    assert all(name in str(caught.value) for name in NAMED)


def test_every_fault_says_in_a_line_what_it_does() -> None:
    for name, named in NAMED.items():
        assert named.text
        assert len(f"  {name:<16} {named.text}") <= 100
        assert "\n" not in named.text
