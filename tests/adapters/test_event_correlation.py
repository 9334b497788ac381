import re

import pytest

from controller.decide.events import Event
from controller.decide.instants import Now
from controller.kube.event_correlation import BURST, COMBINED_PREFIX, GONE_MAX, Correlator, Posting, Subject
from tests.adapters.parts import START_NS

WEB = Subject("default", "web", "uid", "1")


def at(passed_s: float) -> Now:
    return Now(START_NS + round(passed_s * 1e9), round(passed_s * 1e9))


def always_there(uid: str, key: str) -> bool:
    return bool(uid and key)


def warning(message: str, reason: str = "FailedGetScale") -> Event:
    return Event("Warning", reason, message)


def post(correlator: Correlator, message: str, at_s: float = 0.0, subject: Subject = WEB) -> Posting | None:
    return correlator.correlate(subject, warning(message), at(at_s).wall_ns, at(at_s))


def test_the_same_event_again_counts_up() -> None:
    correlator = Correlator(always_there)
    first, second = post(correlator, "a", 0), post(correlator, "a", 60)
    assert first is not None
    assert second is not None
    assert (first.count, second.count) == (1, 2)
    assert (second.name, second.first_ns, second.last_ns) == (first.name, first.first_ns, at(60).wall_ns)


def test_after_a_burst_of_25_one_passes_every_300_seconds() -> None:
    correlator = Correlator(always_there)
    passed = [post(correlator, "a") is not None for _ in range(30)]
    assert passed == [True] * 25 + [False] * 5
    assert post(correlator, "a", 299) is None
    assert post(correlator, "a", 301) is not None
    assert post(correlator, "a", 302) is None


def test_hpas_and_types_have_budgets_of_their_own() -> None:
    correlator = Correlator(always_there)
    for _ in range(26):
        post(correlator, "a")
    assert post(correlator, "a", subject=Subject("default", "other", "uid2", "1")) is not None
    assert correlator.correlate(WEB, Event("Normal", "SuccessfulRescale", "a"), START_NS, at(0)) is not None
    assert correlator.correlate(WEB, warning("a", "OtherReason"), START_NS, at(0)) is None


def test_the_tenth_distinct_message_becomes_one_of_many() -> None:
    correlator = Correlator(always_there)
    postings = [post(correlator, f"m{index}") for index in range(12)]
    combined = [posting is not None and posting.event.message.startswith(COMBINED_PREFIX) for posting in postings]
    assert combined == [False] * 9 + [True] * 3
    assert [posting.count for posting in postings[9:] if posting is not None] == [1, 2, 3]
    last = postings[-1]
    assert last is not None
    assert last.event.message == f"{COMBINED_PREFIX}m11"


def test_a_message_that_was_the_tenth_stands_alone_when_it_comes_again() -> None:
    """For the tenth one that was before it is forgotten: nine are known then, and it is one of them."""
    correlator = Correlator(always_there)
    *_, tenth, again = [post(correlator, f"m{index}") for index in (*range(10), 9)]
    assert tenth is not None
    assert tenth.event.message == f"{COMBINED_PREFIX}m9"
    assert again is not None
    assert (again.event.message, again.count) == ("m9", 1)


def test_after_ten_quiet_minutes_messages_stand_alone_again() -> None:
    for gap_s, combined in ((600, True), (601, False)):
        correlator = Correlator(always_there)
        for index in range(9):
            post(correlator, f"m{index}")
        posting = post(correlator, "new", gap_s)
        assert posting is not None
        assert posting.event.message.startswith(COMBINED_PREFIX) is combined


def test_an_event_that_is_gone_begins_anew() -> None:
    correlator = Correlator(always_there)
    first = post(correlator, "a")
    assert first is not None
    correlator.lost(first)
    second = post(correlator, "a", 5)
    assert second is not None
    assert second.count == 1
    assert second.name != first.name


def test_of_hpas_that_are_gone_nothing_is_remembered_for_long() -> None:
    stays = Subject("default", "stays", "uid of stays", "1")
    there = {(stays.uid, "default/stays")}
    correlator = Correlator(lambda uid, key: (uid, key) in there)
    post(correlator, "a", subject=stays)
    gone = [Subject("default", f"web-{number}", f"uid {number}", "1") for number in range(2 * GONE_MAX)]
    for subject in gone[:GONE_MAX]:
        for _ in range(BURST + 1):
            post(correlator, "a", subject=subject)
        correlator.one_is_gone()
    _remembers_nothing(correlator, gone[:GONE_MAX])
    # What is told of them when they are gone, as their last syncs do, is forgotten with those that go next.
    for subject in gone:
        for _ in range(BURST + 1):
            post(correlator, "a", 10, subject)
    for _ in range(GONE_MAX):
        correlator.one_is_gone()
    _remembers_nothing(correlator, gone)
    kept = post(correlator, "a", 20, stays)
    assert kept is not None
    assert kept.count == 2


def test_asking_whether_an_hpa_is_there_may_be_how_it_is_told_that_others_are_gone() -> None:
    subjects = [Subject("default", f"web-{number}", f"uid {number}", "1") for number in range(3 * GONE_MAX)]
    untold = [subject.uid for subject in subjects]

    def is_there(uid: str, _: str) -> bool:
        if uid in untold:
            untold.remove(uid)
            correlator.one_is_gone()
        return False

    correlator = Correlator(is_there)
    for subject in subjects:
        for _ in range(BURST + 1):
            post(correlator, "a", subject=subject)
    for _ in range(GONE_MAX):
        correlator.one_is_gone()
    assert not untold
    _remembers_nothing(correlator, subjects)


def _remembers_nothing(correlator: Correlator, gone: list[Subject]) -> None:
    for subject in gone:
        again = post(correlator, "a", 5, subject)
        assert again is not None, "its budget is spent"
        assert again.count == 1


@pytest.mark.parametrize("name", ["x" * 253, "x" * 235 + "." + "y" * 17, "x" * 234 + ".-" * 9, "web"])
def test_names_of_events_are_names_that_the_server_takes(name: str) -> None:
    posting = post(Correlator(always_there), "a", subject=Subject("default", name, "uid", "1"))
    assert posting is not None
    assert len(posting.name) <= 253
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", posting.name)
