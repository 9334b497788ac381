"""An explanation on terminals: the order of its parts, lines that fit, and very many pods."""

import msgspec
import pytest

from controller.cli.explain_text import PODS_SHOWN, page
from controller.explain.answer import Answer, SyncTold
from controller.explain.changes import Moment
from controller.explain.report import explained
from tests.builders import (
    behavior,
    by_pods,
    container,
    cpu,
    event,
    external_metric,
    history,
    hpa,
    now,
    observation,
    pod,
    pods,
    requests,
    rules,
    scale,
    series,
    usage,
)

PODS = 40


def told(not_written: str = "", missing: int = PODS // 2) -> Answer:
    """Some of the pods, half of them by default, have no metric yet."""
    asked = hpa(cpu(60), external_metric(average_milli=1000), replicas_max=100)
    seen = observation(scale(PODS), usage(*[900] * (PODS - missing)), series(15_000), pods=pods(PODS))
    moment = Moment(asked, seen, history((PODS, -15)), now())
    words = explained(moment, None, not_written)
    return Answer("shop/web", (SyncTold("2026-01-31T12:00:00.000Z", PODS, PODS, None, "", explained=words),), "1")


def lines(answer: Answer, width: int) -> list[str]:
    return [line.plain for line in page(answer, width)]


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_lines_fit(width: int) -> None:
    found = lines(told(), width)
    assert max(map(len, found)) <= width
    assert all(line == line.rstrip() for line in found)


def test_parts_come_in_the_order_of_their_use() -> None:
    found = lines(told("it runs with --shadow"), 100)
    order = [
        "shop/web  2026-01-31T12:00:00.000Z",
        "not written: it runs with --shadow",
        "what would change it",
        "metric 1 of 2: CPU (Resource), which binds",
        "metric 2 of 2: external backlog (External)",
        "windows, policies, bounds",
        "cost and age of data",
    ]
    places = [found.index(title) for title in order]
    assert places == sorted(places)


def test_of_many_pods_some_are_named_and_the_others_counted() -> None:
    found = lines(told(), 100)
    assert f"  pods: {PODS // 2} used, {PODS // 2} missing" in found
    assert sum("is missing: there is no metric for it" in line for line in found) == PODS_SHOWN
    assert f"    … and {PODS // 2 - PODS_SHOWN} more missing" in found
    found = lines(told(missing=PODS_SHOWN), 100)
    assert sum("is missing: there is no metric for it" in line for line in found) == PODS_SHOWN
    assert not any("more missing" in line for line in found)


def of(moment: Moment) -> list[str]:
    """The lines about a sync, on a wide terminal."""
    sync = SyncTold("2026-01-31T12:00:00.000Z", 1, None, None, "", explained=explained(moment, None))
    return lines(Answer("shop/web", (sync,)), 200)


def test_where_not_all_was_tried_it_is_not_said_that_nothing_was() -> None:
    """Here it cannot become more or fewer, whatever lets go."""
    twice = behavior(up=rules(by_pods(2), by_pods(1, 1800)), down=rules(by_pods(1, 900)))
    asked = hpa(cpu(60), replicas_min=4, replicas_max=4, behavior=twice)
    spent = history((4, -15), ups=tuple(event(1, -7 * number - 0.5) for number in range(120)))
    found = of(Moment(asked, observation(scale(4), usage(*[600] * 4)), spent, now()))
    assert found[found.index("what would change it") + 1] == "  nothing of what was tried"
    assert found[-1].startswith("note: not everything that might change the outcome was tried: there are very many")


def test_a_metric_that_failed_comes_with_what_helps() -> None:
    unasking = pod(requests=requests(container(requests_milli={})))
    moment = Moment(hpa(cpu(60)), observation(scale(1), usage(900), pods=(unasking,)), history((1, -15)), now())
    found = of(moment)
    at = next(at for at, line in enumerate(found) if line.startswith("  failed: "))
    assert found[at + 1] == "  what helps: set resources.requests.cpu in the pod template, or target an averageValue"


def test_a_metric_that_failed_for_its_pods_says_what_they_lack() -> None:
    starting = tuple(pod(f"web-{number}", started_s=-30, ready="False") for number in range(2))
    moment = Moment(hpa(cpu(60)), observation(scale(2), usage(900, 900), pods=starting), history((2, -15)), now())
    found = of(moment)
    assert any(line.startswith("  failed: ") and "pods might be unready" in line for line in found)
    assert "  pods: 0 used, 2 unready" in found
    assert "    web-1 is unready: it is not ready within its CPU initialization period" in found


def test_terminals_are_not_obeyed_to_by_names() -> None:
    found = lines(Answer("shop/web", (SyncTold("2026-01-31T12:00:00.000Z", 1, 1, None, "a \x1b[31mred\nherring"),)), 80)
    assert all(character.isprintable() for line in found for character in line)


def test_what_asked_nothing_shared_nothing() -> None:
    """Above maxReplicas the metrics are not looked at."""
    words = explained(Moment(hpa(cpu(60)), observation(scale(50)), history((50, -15)), now()), None)
    answer = Answer("shop/web", (SyncTold("2026-01-31T12:00:00.000Z", 50, 10, None, "", explained=words),), "1")
    [cost] = [line for line in lines(answer, 200) if "metrics question" in line]
    assert cost.startswith("  0 metrics questions,")


def test_where_metrics_came_from_stands_beside_their_age() -> None:
    usual, by_query = usage(*[900] * PODS), msgspec.structs.replace(series(15_000), origin="annotation")
    elsewhere = msgspec.structs.replace(series(15_000), timestamp_ns=None, origin="prometheus")
    outside = external_metric(average_milli=1000)
    asked = hpa(cpu(60), outside, outside, replicas_max=100)
    moment = Moment(asked, observation(scale(PODS), usual, by_query, elsewhere), history((PODS, -15)), now(7))
    words = explained(moment, None)
    answer = Answer("shop/web", (SyncTold("2026-01-31T12:00:00.000Z", PODS, PODS, None, "", explained=words),), "1")
    found = lines(answer, 200)
    assert "  CPU: 7 s old when decided on" in found
    assert "  external backlog: 7 s old when decided on, by the query in the HPA's annotation" in found
    assert "  external backlog: the answer does not say how old it was, from prometheus" in found
