"""How old samples are: counted by family and source, and left out beyond --max-sample-age."""

import pytest

from controller.decide.instants import NANOSECONDS, ZERO_TIME_NS
from controller.decide.observed import (
    ContainerUsage,
    ExternalReading,
    ObjectReading,
    PodsReading,
    PodUsage,
    ReadFailure,
    Reading,
    ResourceReading,
    Sample,
)
from controller.sources.ages import Ages
from tests.sources.asking import CountedAges

NOW_NS = 1_000_000 * NANOSECONDS


def ago(seconds: float) -> int:
    return NOW_NS - round(seconds * NANOSECONDS)


def usage(**ages_s: float) -> ResourceReading:
    used = (ContainerUsage("app", {"cpu": 100}),)
    return ResourceReading(tuple(PodUsage(pod, ago(age_s), 30, used) for pod, age_s in ages_s.items()))


def of_pods(*undated: str, **ages_s: float) -> PodsReading:
    return PodsReading({pod: Sample(1, ago(age_s), 60) for pod, age_s in ages_s.items()}, undated=undated)


def checked(reading: Reading, age_max_s: float, counted: CountedAges | None = None) -> Reading:
    return Ages(lambda: NOW_NS, counted or CountedAges(), age_max_s).checked("custom", "api", reading)


def test_without_a_limit_everything_passes_and_is_counted() -> None:
    counted = CountedAges()
    for reading in (usage(a=10, b=500), of_pods("b", a=20, b=0), ObjectReading(1, ago(30)), ExternalReading((1,))):
        assert checked(reading, 0.0, counted) is reading
    assert [age_s for _, _, age_s in counted.aged] == [500.0, 20.0, 30.0]
    assert [count for _, _, count in counted.undated] == [1, 1]
    assert counted.left_out == []


def test_what_is_young_enough_is_the_same_object() -> None:
    for reading in (usage(a=60), of_pods(a=60), ObjectReading(1, ago(60)), ExternalReading((1, 2), ago(60))):
        assert checked(reading, 60.0) is reading


def test_samples_of_the_future_are_new() -> None:
    counted = CountedAges()
    assert checked(usage(a=-5), 1.0, counted) == usage(a=-5)
    assert counted.aged == [("custom", "api", 0.0)]


def test_a_pod_with_an_old_sample_is_one_without() -> None:
    counted = CountedAges()
    found = checked(usage(a=10, b=61.5), 60.0, counted)
    assert isinstance(found, ResourceReading)
    assert found.items == usage(a=10).items
    assert found.left_out == {"b": "its sample is 1m1s old, and --max-sample-age is 1m0s"}
    assert counted.left_out == [("custom", "api", 1)]
    of_custom = checked(of_pods("c", a=10, b=3600, c=0), 60.0)
    assert isinstance(of_custom, PodsReading)
    assert set(of_custom.samples) == {"a"}
    assert of_custom.left_out["b"].startswith("its sample is 1h0m0s old")
    assert of_custom.left_out["c"].startswith("its sample has no timestamp")


@pytest.mark.parametrize(
    ("reading", "part"),
    [
        (usage(a=61, b=62), "no pod has a sample that may be used: of a, its sample is 1m1s old"),
        (of_pods("a", a=0), "its sample has no timestamp"),
        (ObjectReading(0, ago(61)), "the value is 1m1s old, and --max-sample-age is 1m0s"),
        (ObjectReading(5), "the value has no timestamp"),
        (ObjectReading(5, ZERO_TIME_NS), "the value has no timestamp"),
        (ExternalReading((1, 2), ago(100)), "the value is 1m40s old"),
        (ExternalReading((0,)), "the value has no timestamp"),
    ],
)
def test_a_metric_of_which_nothing_may_be_used_fails(reading: Reading, part: str) -> None:
    found = checked(reading, 60.0)
    assert isinstance(found, ReadFailure)
    assert part in found.message


@pytest.mark.parametrize("reading", [ReadFailure("down"), PodsReading({}), ResourceReading(()), ExternalReading(())])
def test_no_samples_have_no_age(reading: Reading) -> None:
    counted = CountedAges()
    assert checked(reading, 60.0, counted) is reading
    assert counted.aged == counted.undated == counted.left_out == []
