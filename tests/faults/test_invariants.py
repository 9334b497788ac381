"""The checker of what must hold under faults finds what is wrong, and nothing else, in hand-made audit logs."""

from __future__ import annotations

import datetime as dt
from typing import Any

from tests.e2e.audited import Audited
from tests.e2e.faults.invariants import Costs, Opened, Seen, fenced, flat, fresh, held, intervals_s, resumed, watched

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def at(second: float) -> dt.datetime:
    return START + dt.timedelta(seconds=second)


def request(user: str, second: float, verb: str, resource: str, name: str = "shop", **fields: Any) -> Seen:
    values: dict[str, Any] = {"group": "", "code": 200, "sent": {}, "got": {}} | fields
    audited = Audited(
        verb=verb,
        resource=resource,
        namespace="faults",
        name=name,
        received=at(second),
        answered=at(second + 0.01),
        query={},
        user_agent="hpa-controller/1.0.0 (linux/x86_64)",
        credential="",
        **values,
    )
    return Seen(user, audited)


def lease(user: str, second: float, holder: str | None = "me", code: int = 200) -> Seen:
    return request(user, second, "update", "leases", sent={"spec": {"holderIdentity": holder}}, code=code)


def scale(user: str, second: float, replicas: int = 3, code: int = 200, name: str = "shop") -> Seen:
    return request(
        user, second, "update", "statefulsets/scale", name=name, sent={"spec": {"replicas": replicas}}, code=code
    )


def status(user: str, second: float) -> Seen:
    return request(user, second, "update", "horizontalpodautoscalers/status")


def metric(user: str, second: float, name: str, code: int = 200) -> Seen:
    group = "external.metrics.k8s.io" if name.startswith("load") else "custom.metrics.k8s.io"
    resource = name if name.startswith("load") else f"services/{name}"
    return request(user, second, "list", resource, group=group, code=code)


# --- fenced ---


def test_a_handover_by_the_book_breaks_nothing() -> None:
    log = [lease("a", 0), scale("a", 1), lease("a", 2), status("a", 3), lease("b", 10), scale("b", 11)]
    assert fenced(log) == []


def test_a_write_between_the_takeover_and_the_successors_first_write_is_harmless() -> None:
    assert fenced([lease("a", 0), lease("b", 10), scale("a", 10.5), scale("b", 11)]) == []


def test_a_write_after_the_successors_first_write_is_found() -> None:
    [found] = fenced([lease("a", 0), lease("b", 10), scale("b", 11), status("a", 11.5)])
    assert "a wrote horizontalpodautoscalers/status" in str(found)
    assert "b has led" in str(found)


def test_who_leads_again_may_write_again() -> None:
    assert fenced([lease("a", 0), lease("b", 10), scale("b", 11), lease("a", 20), scale("a", 21)]) == []


def test_what_was_refused_harms_nobody() -> None:
    assert fenced([lease("a", 0), lease("b", 10), scale("b", 11), scale("a", 12, code=409)]) == []
    assert fenced([lease("a", 0), lease("b", 10, code=409), scale("a", 12)]) == []


def test_a_write_before_anybody_leads_is_found() -> None:
    assert len(fenced([scale("a", 1), lease("a", 2)])) == 1


def test_after_a_release_nobody_may_write_once_another_has() -> None:
    log = [lease("a", 0), lease("a", 5, holder=""), lease("b", 6), scale("b", 7), scale("a", 8)]
    assert len(fenced(log)) == 1


# --- fresh ---


def process(user: str, second: float, identity: str) -> Seen:
    return lease(user, second, holder=identity)


def scale_read(user: str, second: float, code: int = 200, name: str = "shop") -> Seen:
    return request(user, second, "get", "statefulsets/scale", name=name, code=code)


def test_writes_of_what_was_read_as_leader_are_fresh() -> None:
    assert fresh([process("a", 0, "one"), scale_read("a", 1), scale("a", 2), scale("a", 17)]) == []


def test_renewing_does_not_make_reads_old() -> None:
    assert fresh([process("a", 0, "one"), scale_read("a", 1), process("a", 2, "one"), scale("a", 3)]) == []


def test_a_write_that_rests_on_a_read_of_an_earlier_term_is_found() -> None:
    log = [process("a", 0, "one"), scale_read("a", 1), process("b", 10, "two"), process("a", 20, "one")]
    [found] = fresh([*log, scale("a", 21)])
    assert "which it has not read as leader" in str(found)


def test_a_write_that_rests_on_what_the_killed_predecessor_has_read_is_found() -> None:
    log = [process("a", 0, "one"), scale_read("a", 1), process("a", 10, "two"), scale("a", 11)]
    assert len(fresh(log)) == 1


def test_a_write_in_hand_when_another_takes_over_is_judged_by_fenced_alone() -> None:
    log = [process("a", 0, "one"), scale_read("a", 1), process("b", 10, "two"), scale("a", 10.1)]
    assert fresh(log) == []
    assert fenced(log) == []


def test_reads_of_other_objects_and_users_and_failed_ones_do_not_count() -> None:
    for read in (scale_read("a", 1, name="bank"), scale_read("b", 1), scale_read("a", 1, code=500)):
        assert len(fresh([process("a", 0, "one"), read, scale("a", 2)])) == 1


def test_a_refused_write_of_what_was_not_read_is_not_found() -> None:
    assert fresh([process("a", 0, "one"), scale("a", 2, code=409)]) == []


# --- watched ---


def open_watches(user: str, since: float = 0, until: float | None = None) -> list[Opened]:
    return [
        Opened(user, resource, at(since), None if until is None else at(until))
        for resource in ("horizontalpodautoscalers", "pods")
    ]


def test_a_write_under_open_watches_breaks_nothing() -> None:
    assert watched([scale("a", 5)], open_watches("a")) == []


def test_a_write_long_after_a_watch_has_ended_is_found() -> None:
    hpas, pods = open_watches("a", until=5)
    assert watched([scale("a", 6)], [hpas, pods]) == [], "what was in hand may arrive"
    assert [str(found)[:8] for found in watched([scale("a", 9)], [hpas, pods])] == ["watched:", "watched:"]
    assert len(watched([scale("a", 9)], [hpas, Opened("a", "pods", at(0), None)])) == 1


def test_watches_of_others_do_not_count() -> None:
    assert len(watched([scale("a", 5)], open_watches("b"))) == 2


def test_a_watch_that_was_opened_anew_counts() -> None:
    assert watched([scale("a", 9)], [*open_watches("a", until=3), *open_watches("a", since=4)]) == []


# --- held ---


def reads(user: str, second: float, guard: int = 200) -> list[Seen]:
    return [metric(user, second, "load-shop"), metric(user, second, "guard-shop", code=guard)]


def test_shrinking_on_good_metrics_is_fine() -> None:
    assert held([*reads("a", 1), scale("a", 2, 1)], {"shop": 5}, []) == []


def test_shrinking_on_a_failed_metric_is_found() -> None:
    [found] = held([*reads("a", 1, guard=503), scale("a", 2, 1)], {"shop": 5}, [])
    assert "from 5 to 1" in str(found)


def test_growing_on_a_failed_metric_is_fine() -> None:
    assert held([*reads("a", 1, guard=503), scale("a", 2, 7)], {"shop": 5}, []) == []


def test_what_was_scaled_since_is_what_counts() -> None:
    log = [*reads("a", 1), scale("a", 2, 7), *reads("a", 3, guard=500), scale("a", 4, 6)]
    assert len(held(log, {"shop": 5}, [])) == 1


def test_an_answer_that_was_a_lie_counts_as_a_failure() -> None:
    log = [*reads("a", 1), scale("a", 2, 1)]
    assert len(held(log, {"shop": 5}, [(at(0), at(1.5))])) == 1
    assert held(log, {"shop": 5}, [(at(1.2), at(1.5))]) == []


def test_an_answer_after_the_end_of_a_lie_may_be_true() -> None:
    assert held([*reads("a", 1), scale("a", 2, 1)], {"shop": 5}, [(at(0), at(1.005))]) == []


def test_reads_of_another_do_not_count() -> None:
    assert len(held([*reads("b", 1), scale("a", 2, 1)], {"shop": 5}, [])) == 1


# --- resumed ---


def test_hpas_that_are_not_synced_in_time_are_named() -> None:
    log = [metric("a", 3, "load-shop"), metric("a", 9, "load-bank")]
    assert resumed(log, ["shop", "bank"], at(2), 10) == []
    [found] = resumed(log, ["shop", "bank"], at(2), 5)
    assert "1 HPAs were not synced within 5.0 s: bank" in str(found)


def test_intervals_are_those_between_syncs_of_one_hpa() -> None:
    log = [metric("a", 1, "load-shop"), metric("a", 2, "load-bank"), metric("b", 3.5, "load-shop")]
    assert intervals_s(log) == [2.5]


# --- flat ---


def test_what_stays_about_the_same_is_flat() -> None:
    assert flat([]) == []
    assert flat([{"a": Costs(100e6, 60, 170)}]) == []
    between = {"a": Costs(500e6, 900, 900)}
    assert flat([{"a": Costs(100e6, 60, 170)}, between, {"a": Costs(156e6, 92, 202)}]) == []


def test_a_process_is_held_against_itself_only_and_each_that_grows_is_named() -> None:
    small, large, larger = Costs(100e6, 60, 170), Costs(300e6, 160, 170), Costs(300e6, 260, 170)
    assert flat([{"a": small, "b": large}, {"b": large, "a of another life": larger}]) == []
    [found] = flat([{"a": small}, {"a": small, "b": large}, {"b": larger, "a": small}])
    assert str(found) == "flat: descriptors of b went from 160 to 260, over 192"


def test_what_is_in_hand_at_one_moment_is_no_leak() -> None:
    little, much = {"a": Costs(100e6, 60, 12)}, {"a": Costs(100e6, 60, 105)}
    assert flat([little, little, little, much, little]) == []
    assert flat([little, little, little, little, much]) == []
    assert [one.rule for one in flat([much, little, much, much, much])] == ["flat"]


def test_each_thing_that_grows_is_named() -> None:
    first = Costs(100e6, 60, 170)
    for grown, name in (
        (Costs(158e6, 60, 170), "memory_bytes"),
        (Costs(100e6, 93, 170), "descriptors"),
        (Costs(100e6, 60, 203), "tasks"),
    ):
        [found] = flat([{"a": first}, {"a": grown}])
        assert str(found).startswith(f"flat: {name} of a went from")
