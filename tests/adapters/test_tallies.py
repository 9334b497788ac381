"""What we count ourselves, beside the library's own counters and histograms."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest

from controller.telemetry.instruments import AGE_BUCKETS, DURATION_BUCKETS, QUEUE_BUCKETS
from controller.telemetry.tallies import Counts, Distributions

NAMES = st.sampled_from(["status", "scale", 'with "quotes"', ""])


@given(
    buckets=st.sampled_from([AGE_BUCKETS, DURATION_BUCKETS, QUEUE_BUCKETS, (0.5,)]),
    values=st.lists(st.tuples(NAMES, NAMES, st.floats(0, 1e4) | st.sampled_from([*AGE_BUCKETS, *DURATION_BUCKETS]))),
)
def test_they_are_shown_as_the_librarys_own(buckets: tuple[float, ...], values: list[tuple[str, str, float]]) -> None:
    disable_created_metrics()  # type: ignore[no-untyped-call]  # the library lacks the annotation
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    labels = ("traffic", "verb")
    counted_as = ("times_in_seconds", "How often, by how long.")
    seconds = Distributions("seconds", "How long.", labels, buckets=buckets, registry=ours, counted_as=counted_as)
    plain = Distributions("plain_seconds", "Of all.", buckets=buckets, registry=ours)
    times = Counts("times", "How often.", labels, registry=ours)
    all_times = Counts("all_times", "How often in all.", registry=ours)
    their_times_in_seconds = Counter(*counted_as, labels, registry=theirs)
    their_seconds = Histogram("seconds", "How long.", labels, buckets=buckets, registry=theirs)
    their_plain = Histogram("plain_seconds", "Of all.", buckets=buckets, registry=theirs)
    their_times = Counter("times", "How often.", labels, registry=theirs)
    their_all_times = Counter("all_times", "How often in all.", registry=theirs)
    for traffic, verb, value in values:
        seconds.of(traffic, verb).add(value)
        plain.of().add(value)
        times.of(traffic, verb).add()
        all_times.of().add()
        their_times_in_seconds.labels(traffic, verb).inc()
        their_seconds.labels(traffic, verb).observe(value)
        their_plain.observe(value)
        their_times.labels(traffic, verb).inc()
        their_all_times.inc()
    assert generate_latest(ours) == generate_latest(theirs)


def test_what_has_been_counted_once_is_the_same_the_next_time() -> None:
    times = Counts("times", "How often.", ("verb",), registry=CollectorRegistry())
    first = times.of("GET")
    first.add()
    assert times.of("GET") is first
    assert times.of("PUT").total == 0
    assert times.of("GET").total == 1
