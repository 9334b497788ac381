"""Metrics by queries that HPAs name themselves: confined, shaped as their type needs, and never anybody else's."""

import asyncio

import msgspec
import pytest

from controller.decide.observed import ExternalReading, ObjectReading, PodsReading, ReadFailure, Reading
from controller.decide.selectors import LabelSelector
from controller.manifest.query_annotation import ANNOTATION
from controller.ports import ExternalQuestion, ObjectQuestion, PodsQuestion
from controller.promql.rendering import Selector
from controller.sources.ages import Ages
from controller.sources.combined import CombinedMetrics
from controller.sources.complaints import Complaints
from controller.sources.prometheus.sample_times import SELECTORS_MAX, Times
from tests.adapters.raw_server import answer
from tests.sources.asking import CountedAges, asking_by_annotations, external, of_deployment, of_pods
from tests.sources.fake_prometheus import AT_S, FakePrometheus, fake_prometheus, sample

Asked = PodsQuestion | ObjectQuestion | ExternalQuestion
UP = 'up{namespace="default"}'
AT_NS = round(AT_S * 1000) * 10**6


def by(question: Asked, query: str) -> Asked:
    return msgspec.structs.replace(question, query=query)


async def answered(question: Asked, data: object) -> Reading:
    """What becomes of data that Prometheus gives for a query."""
    async with fake_prometheus() as fake, asking_by_annotations(fake) as source:
        fake.answers = {UP: data}
        reading = await source.read(by(question, "up"))
        assert fake.queries == [UP]
        return reading


async def failure(question: Asked, data: object) -> str:
    reading = await answered(question, data)
    assert isinstance(reading, ReadFailure)
    assert reading.message.startswith(f"annotation {ANNOTATION}, metric {question.metric.name}: ")
    return reading.message


async def test_pods_by_their_label_and_only_those_of_the_target() -> None:
    data = [sample("1.5", pod="web-0"), sample("NaN", pod="web-1"), sample("9", pod="somebody-elses")]
    reading = await answered(of_pods("rps"), data)
    assert isinstance(reading, PodsReading)
    assert {pod: one.value_milli for pod, one in reading.samples.items()} == {"web-0": 1500}


async def test_an_object_has_one_value_and_an_external_metric_any_number() -> None:
    assert await answered(of_deployment("rps"), [sample("7", any="label")]) == ObjectReading(7000)
    scalar = {"resultType": "scalar", "result": [AT_S, "4"]}
    assert await answered(of_deployment("rps"), scalar) == ObjectReading(4000)
    assert await answered(external("depth"), scalar) == ExternalReading((4000,))
    data = [sample("1", queue="a"), sample("2", queue="b")]
    assert await answered(external("depth"), data) == ExternalReading((1000, 2000))
    assert await answered(external("depth"), []) == ExternalReading(())
    assert await answered(of_pods("rps"), []) == PodsReading({})


async def test_answers_of_another_shape_fail_with_a_remedy() -> None:
    assert "aggregate by (pod)" in await failure(of_pods("rps"), [sample("1", instance="a")])
    twice = [sample("1", pod="web-0", code="200"), sample("1", pod="web-0", code="500")]
    assert "two values or more for pod web-0" in await failure(of_pods("rps"), twice)
    scalar = {"resultType": "scalar", "result": [AT_S, "4"]}
    assert "gives a scalar where a vector" in await failure(of_pods("rps"), scalar)
    assert "no number for any pod" in await failure(of_pods("rps"), [sample("NaN", pod="web-0")])
    assert "2 values where one is needed" in await failure(of_deployment("rps"), [sample("1", a="1"), sample("2")])
    assert "no value at the moment" in await failure(of_deployment("rps"), [])
    assert "NaN or infinity" in await failure(external("depth"), [sample("1", a="1"), sample("+Inf")])
    said = answer(b'{"status":"error","errorType":"execution","error":"no"}', status="422 Unprocessable Entity")
    assert "refused the query (execution): no" in await failure(external("depth"), said)


@pytest.mark.parametrize("query", ["up{", "info(up)", '{a="b" or c="d"}', "up " * 400, ""])
async def test_a_query_that_is_not_taken_is_never_sent(query: str) -> None:
    async with fake_prometheus() as fake, asking_by_annotations(fake) as source:
        reading = await source.read(by(external("depth"), query))
        assert isinstance(reading, ReadFailure)
        assert reading.message.startswith(f"annotation {ANNOTATION}, metric depth: ")
        assert fake.requests() == []


async def test_a_selector_beside_a_query_is_refused() -> None:
    async with fake_prometheus() as fake, asking_by_annotations(fake) as source:
        selected = external("depth", LabelSelector((("queue", "orders"),)))
        reading = await source.read(by(selected, "up"))
        assert isinstance(reading, ReadFailure)
        assert "write its labels into the query" in reading.message
        assert fake.requests() == []
        await source.read(by(external("depth", LabelSelector()), "up"))
        assert fake.queries == ['up{namespace="default"}'], "an empty selector selects all"


async def test_the_same_query_of_two_namespaces_is_two_queries() -> None:
    async with fake_prometheus() as fake, asking_by_annotations(fake) as source:
        fake.answers = {'up{namespace="default"}': [sample("1")], 'up{namespace="other"}': [sample("2")]}
        mine = by(external("depth"), "up")
        theirs = msgspec.structs.replace(mine, namespace="other")
        readings = await asyncio.gather(source.read(mine), source.read(theirs), source.read(mine))
        assert list(readings) == [ExternalReading((1000,)), ExternalReading((2000,)), ExternalReading((1000,))]
        assert sorted(fake.queries) == ['up{namespace="default"}', 'up{namespace="other"}']


def times_of(fake: FakePrometheus) -> list[str]:
    return [query for query in fake.queries if query.startswith("min")]


async def test_samples_have_the_time_at_which_they_were_taken() -> None:
    async with fake_prometheus() as fake, asking_by_annotations(fake, sample_times=True) as source:
        hits = 'hits{namespace="default"}'
        fake.answers = {
            f"sum by (pod) (rate({hits}[120s]))": [sample("1", pod="web-0"), sample("2", pod="web-1")],
            f"min by (pod) (timestamp({hits}))": [sample(f"{AT_S - 20}", pod="web-0")],
            f"sum({hits})": [sample("3")],
            f"min(timestamp({hits}))": [sample(f"{AT_S - 30}")],
            "vector(1)": [sample("1")],
        }
        reading = await source.read(by(of_pods("rps"), "sum by (pod) (rate(hits[2m]))"))
        assert isinstance(reading, PodsReading)
        assert reading.samples["web-0"].timestamp_ns == AT_NS - 20 * 10**9
        assert reading.undated == ("web-1",), "its range may hold older samples"
        assert await source.read(by(external("depth"), "sum(hits)")) == ExternalReading((3000,), AT_NS - 30 * 10**9)
        assert await source.read(by(of_deployment("rps"), "sum(hits)")) == ObjectReading(3000, AT_NS - 30 * 10**9)
        assert await source.read(by(external("one"), "vector(1)")) == ExternalReading((1000,), AT_NS)
        assert len(times_of(fake)) == 3


@pytest.mark.parametrize(
    ("query", "times", "expected"),
    [
        # Of several selectors the oldest sample counts.
        ("a + b", {"a": 5.0, "b": 50.0}, 50.0),
        # One that finds nothing at the moment has given nothing, unless it looks back over a range.
        ("a or b", {"b": 50.0}, 50.0),
        ("a or rate(b[5m])", {"a": 5.0}, None),
        ("a or vector(0)", {}, None),
        ("max_over_time(a[5m:]) + b", {"a": 5.0, "b": 7.0}, 7.0),
        ("max_over_time(a[1h:]) + b", {"b": 7.0}, None),
        ("max_over_time(a[5m:] offset 5m) + b", {"a": 5.0, "b": 7.0}, None),
    ],
)
async def test_how_old_a_value_of_several_series_is(
    query: str, times: dict[str, float], expected: float | None
) -> None:
    async with fake_prometheus() as fake, asking_by_annotations(fake, sample_times=True) as source:
        fake.otherwise = [sample("1")]
        fake.answers = {
            f'min(timestamp({name}{{namespace="default"}}))': [sample(f"{AT_S - times[name]}")] if name in times else []
            for name in ("a", "b")
        }
        reading = await source.read(by(external("depth"), query))
        assert isinstance(reading, ExternalReading)
        assert reading.timestamp_ns == (None if expected is None else AT_NS - round(expected * 10**9))


@pytest.mark.parametrize(("count", "dated"), [(SELECTORS_MAX, True), (SELECTORS_MAX + 1, False)])
async def test_a_query_of_very_many_selectors_is_not_dated(count: int, *, dated: bool) -> None:
    query = " + ".join(f"a{number}" for number in range(count))
    async with fake_prometheus() as fake, asking_by_annotations(fake, sample_times=True) as source:
        fake.otherwise = [sample("1")]
        reading = await source.read(by(external("depth"), query))
        assert isinstance(reading, ExternalReading)
        assert (reading.timestamp_ns is not None, len(times_of(fake))) == (dated, count if dated else 0)


def test_series_without_the_labels_belong_to_every_result() -> None:
    selector = Selector("up{}", ranged=False)
    times = Times(("pod",), ((selector, {("web-0",): 50, ("web-1",): 10, ("",): 30}),))
    assert [times.of({"pod": pod}, 99) for pod in ("web-0", "web-1", "web-2")] == [30, 10, 30]


async def test_a_value_is_one_even_if_nobody_says_how_old_it_is() -> None:
    async with fake_prometheus() as fake, asking_by_annotations(fake, sample_times=True) as source:
        up = 'up{namespace="default"}'
        fake.answers = {up: [sample("3")], f"min(timestamp({up}))": answer(b"", status="502 Bad Gateway")}
        assert await source.read(by(external("depth"), "up")) == ExternalReading((3000,), None)


async def test_a_question_with_a_query_reaches_no_other_source() -> None:
    """And without permission it reaches none at all."""
    async with fake_prometheus() as fake, asking_by_annotations(fake) as source:
        fake.answers = {'up{namespace="default"}': [sample("3")]}
        counted = CountedAges()
        ages, complaints = Ages(lambda: AT_NS, counted, 0.0), Complaints("all", lambda: 0.0)
        allowed = CombinedMetrics(
            resource=(), custom=(), external=(), complaints=complaints, ages=ages, annotated=source
        )
        expected = ExternalReading((3000,), None, "annotation")
        assert await allowed.read(by(external("depth"), "up")) == expected
        assert counted.undated == [("external", "annotation", 1)]
        forbidden = CombinedMetrics(resource=(), custom=(), external=(), complaints=complaints, ages=ages)
        assert isinstance(await forbidden.read(by(external("depth"), "up")), ReadFailure)
        assert len(fake.queries) == 1
