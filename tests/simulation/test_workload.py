"""Pods come, get ready after a while, and go."""

from controller.simulation.curve import parse_curve
from controller.simulation.meter import Meter, Plan
from controller.simulation.workload import Workload
from tests.builders import cpu

SECOND_NS = 10**9
REQUESTS = Meter((cpu(50),), Plan(loads={"": parse_curve("1")}), 0, lambda _: 0.5).requests()


def test_pods_are_ready_after_their_start_up() -> None:
    workload = Workload(REQUESTS, 2, 30 * SECOND_NS)
    workload.scale(5, 100 * SECOND_NS)
    assert [workload.ready(t_ns) for t_ns in (0, 100 * SECOND_NS, 130 * SECOND_NS - 1, 130 * SECOND_NS)] == [2, 2, 2, 5]
    assert workload.replicas == 5


def test_those_that_are_there_at_first_have_been_ready_for_an_hour_however_long_they_take() -> None:
    start_up_ns = 5_400 * SECOND_NS
    [pod] = Workload(REQUESTS, 1, start_up_ns).pods(0, start_ns=0)
    assert pod.ready is not None
    assert (pod.ready.status, pod.ready.since_ns) == ("True", -3_600 * SECOND_NS)
    assert pod.started_ns == -3_600 * SECOND_NS - start_up_ns


def test_those_that_are_not_ready_leave_first_then_the_youngest() -> None:
    workload = Workload(REQUESTS, 2, 30 * SECOND_NS)
    workload.scale(4, 100 * SECOND_NS)
    workload.scale(5, 120 * SECOND_NS)
    workload.scale(3, 135 * SECOND_NS)
    assert list(workload.alive(135 * SECOND_NS)) == [
        ("pod-0000001", True),
        ("pod-0000002", True),
        ("pod-0000003", True),
    ]
    workload.scale(4, 140 * SECOND_NS)
    assert [name for name, _ in workload.alive(140 * SECOND_NS)][-1] == "pod-0000006", "a name is never used again"


def test_pods_as_the_api_shows_them() -> None:
    workload = Workload(REQUESTS, 1, 30 * SECOND_NS)
    workload.scale(2, 100 * SECOND_NS)
    start_ns = 1_000_000_000_000
    old, new = workload.pods(110 * SECOND_NS, start_ns)
    assert (old.phase, old.ready and old.ready.status) == ("Running", "True")
    assert new.started_ns == start_ns + 100 * SECOND_NS
    assert new.ready is not None
    assert (new.ready.status, new.ready.since_ns) == ("False", new.started_ns)
    _, later = workload.pods(130 * SECOND_NS, start_ns)
    assert later.ready is not None
    assert (later.ready.status, later.ready.since_ns) == ("True", start_ns + 130 * SECOND_NS)
    assert [container.requests_nano["cpu"] for container in new.requests.containers] == [10**9]
