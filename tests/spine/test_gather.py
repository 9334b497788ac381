"""What one sync reads, when, and that failing to read is part of what it sees (§4.7, §5, §6)."""

import asyncio

import pytest

from controller.decide import selectors
from controller.decide.observed import (
    ExternalReading,
    ObjectReading,
    PodsReading,
    ReadFailure,
    Scale,
    ScaleFailure,
)
from controller.decide.selectors import LabelSelector, LabelSelectorRequirement
from controller.decide.spec import (
    Autoscaler,
    ContainerResourceMetric,
    MetricIdentifier,
    MetricSpec,
    PodsMetric,
    Settings,
    Target,
    UnknownMetric,
)
from controller.decide.status import Status
from controller.gather import Gathered, Gatherer
from controller.manifest.query_annotation import queries_of
from controller.pod_cache import PodCache
from controller.ports import ExternalQuestion, ObjectQuestion, PodsQuestion, Question, ResourceQuestion
from controller.rivals import Rivals
from tests.spine.objects import (
    BACKLOG,
    CPU,
    HITS,
    KEY,
    NAMESPACE,
    REQUESTS_PER_POD,
    autoscaler,
    list_anew,
    pods_of,
    scale,
    usage,
    watched_pod,
)
from tests.spine.tasks import others
from tests.spine.world import MemoryMetrics

pytestmark = pytest.mark.looptime

SELECTOR = selectors.parse("app=web")
USAGE = ResourceQuestion(NAMESPACE, SELECTOR)
PER_POD = PodsQuestion(NAMESPACE, REQUESTS_PER_POD.metric, SELECTOR)
OF_OBJECT = ObjectQuestion(NAMESPACE, HITS.metric, HITS.described)
OUTSIDE = ExternalQuestion(NAMESPACE, BACKLOG.metric)


class Field:
    """Three pods of one registered HPA, and metrics that answer everything after a second."""

    def __init__(self) -> None:
        self.pods = PodCache()
        list_anew(self.pods, pods_of("web", 3))
        self.rivals = Rivals()
        self.rivals.register(NAMESPACE, "web")
        self.metrics = MemoryMetrics()
        self.metrics.answers = {
            USAGE: usage(1, 2, 3),
            PER_POD: PodsReading({}),
            OF_OBJECT: ObjectReading(7),
            OUTSIDE: ExternalReading((1, 2)),
        }
        self.metrics.read_s = dict.fromkeys((USAGE, PER_POD, OF_OBJECT, OUTSIDE), 1.0)
        self.gatherer = Gatherer(self.pods, self.metrics, self.rivals)

    async def gather(self, *metrics: MetricSpec, seen: Scale | ScaleFailure | None = None) -> Gathered:
        watched = autoscaler(*metrics)
        asked = Autoscaler(watched.namespace, watched.name, watched.spec, Settings())
        return await self.gatherer.gather(asked, Status(), seen or scale(3))


async def test_all_metrics_are_read_at_the_same_time_and_answered_in_the_order_of_the_spec() -> None:
    field = Field()
    began_s = asyncio.get_running_loop().time()
    gathered = await field.gather(BACKLOG, CPU, HITS, REQUESTS_PER_POD)
    assert asyncio.get_running_loop().time() - began_s == pytest.approx(1.0)
    expected = [field.metrics.answers[question] for question in (OUTSIDE, USAGE, OF_OBJECT, PER_POD)]
    assert list(gathered.observation.readings) == expected
    assert gathered.durations_s == pytest.approx((1.0, 1.0, 1.0, 1.0))
    assert [pod.name for pod in gathered.observation.pods] == ["web-0", "web-1", "web-2"]
    assert gathered.observation.overlapping == (KEY,)


async def test_a_question_that_several_metrics_share_is_asked_once() -> None:
    field = Field()
    container = ContainerResourceMetric("cpu", "app", Target("Utilization", average_utilization=50))
    gathered = await field.gather(CPU, HITS, container, HITS)
    assert sorted(field.metrics.asked, key=repr) == sorted((USAGE, OF_OBJECT), key=repr)
    readings = gathered.observation.readings
    assert (readings[0], readings[1]) == (readings[2], readings[3])


@pytest.mark.parametrize("metrics", [(CPU,), (CPU, HITS)], ids=["alone", "beside another"])
@pytest.mark.parametrize("failure", [ZeroDivisionError("bug"), asyncio.CancelledError()], ids=repr)
async def test_a_source_that_raises_is_a_failed_metric_and_no_more(
    metrics: tuple[MetricSpec, ...], failure: BaseException
) -> None:
    field = Field()
    field.metrics.raises[USAGE] = failure
    gathered = await field.gather(*metrics)
    assert isinstance(gathered.observation.readings[0], ReadFailure)
    if len(metrics) > 1:
        assert gathered.observation.readings[1] == ObjectReading(7)


@pytest.mark.parametrize("metrics", [(CPU,), (CPU, HITS)], ids=["alone", "beside another"])
async def test_cancelling_a_sync_ends_its_reads(metrics: tuple[MetricSpec, ...]) -> None:
    field = Field()
    before = others()
    reading = asyncio.create_task(field.gather(*metrics))
    await asyncio.sleep(0.5)
    assert field.metrics.under_way == len(metrics)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert reading.cancelled()
    await asyncio.sleep(0)
    assert (field.metrics.under_way, others()) == (0, before)


async def test_pods_are_looked_at_after_the_samples_came() -> None:
    field = Field()
    field.metrics.while_reading.append(lambda: field.pods.put(watched_pod("web-9")))
    gathered = await field.gather(CPU)
    assert [pod.name for pod in gathered.observation.pods] == ["web-0", "web-1", "web-2", "web-9"]


@pytest.mark.parametrize(
    "seen",
    [
        ScaleFailure("not found"),
        scale(0),
        scale(101),
        scale(3, selector=""),
        scale(3, selector="app in"),
    ],
    ids=["no scale", "paused", "above the maximum", "no selector", "a bad selector"],
)
async def test_nothing_is_read_where_the_decision_needs_no_metrics(seen: Scale | ScaleFailure) -> None:
    field = Field()
    gathered = await field.gather(CPU, seen=seen)
    assert field.metrics.asked == []
    assert (gathered.observation.scale, gathered.observation.pods, gathered.observation.readings) == (seen, (), ())


async def test_nothing_is_read_for_hpas_that_share_pods() -> None:
    field = Field()
    field.rivals.register(NAMESPACE, "api")
    field.rivals.store(NAMESPACE, "api", selectors.parse("app in (web,api)"))
    gathered = await field.gather(CPU)
    assert gathered.observation.overlapping == (f"{NAMESPACE}/api", KEY)
    assert field.metrics.asked == []


async def test_an_hpa_makes_its_selector_known_by_its_own_sync() -> None:
    field = Field()
    assert field.rivals.sharing(NAMESPACE, [{"app": "web"}]) == ()
    await field.gather(CPU)
    assert field.rivals.sharing(NAMESPACE, [{"app": "web"}]) == (KEY,)


async def test_what_cannot_be_asked_is_a_failure_and_the_others_are_asked() -> None:
    field = Field()
    bad = LabelSelector((), (LabelSelectorRequirement("a", "Near", ("b",)),))
    unaskable = PodsMetric(MetricIdentifier("requests", bad), REQUESTS_PER_POD.target)
    gathered = await field.gather(unaskable, UnknownMetric("Sunspots"), CPU)
    kinds = [isinstance(reading, ReadFailure) for reading in gathered.observation.readings]
    assert kinds == [True, True, False]
    assert gathered.durations_s == pytest.approx((0.0, 0.0, 1.0))
    asked: list[Question] = [USAGE]
    assert field.metrics.asked == asked


METADATA = b'{"annotations":{"hpa-controller.io/queries":"%s"}}'


def annotated(field: Field) -> Field:
    """The same with annotations looked at; everything that is not known answers 99."""
    field.gatherer = Gatherer(field.pods, field.metrics, field.rivals, queries_of)
    field.metrics.otherwise = ExternalReading((99,))
    return field


async def observed_with(field: Field, metadata: bytes, *metrics: MetricSpec) -> Gathered:
    watched = autoscaler(*metrics)
    asked = Autoscaler(watched.namespace, watched.name, watched.spec, Settings())
    return await field.gatherer.gather(asked, Status(), scale(3), metadata)


async def test_a_query_of_the_hpa_goes_into_the_question() -> None:
    field = annotated(Field())
    identifiers = (HITS.metric, BACKLOG.metric, REQUESTS_PER_POD.metric)
    named = b"\\n".join(b"%s: up" % one.name.encode() for one in identifiers)
    await observed_with(field, METADATA % named, CPU, HITS, BACKLOG, REQUESTS_PER_POD)
    assert [getattr(question, "query", None) for question in field.metrics.asked] == [None, "up", "up", "up"]


async def test_only_the_metrics_that_it_names_are_asked_by_query() -> None:
    field = annotated(Field())
    gathered = await observed_with(field, METADATA % b"other: up", CPU, BACKLOG)
    assert field.metrics.asked == [USAGE, OUTSIDE]
    assert gathered.observation.readings[1] == ExternalReading((1, 2))


async def test_an_annotation_that_cannot_be_read_fails_what_it_might_name() -> None:
    field = annotated(Field())
    gathered = await observed_with(field, METADATA % b"[", CPU, BACKLOG, HITS)
    assert field.metrics.asked == [USAGE], "usage has no query in any case"
    names = (BACKLOG.metric.name, HITS.metric.name)
    for reading, name in zip(gathered.observation.readings[1:], names, strict=True):
        assert isinstance(reading, ReadFailure)
        assert f"annotation hpa-controller.io/queries, which may name metric {name}" in reading.message
    assert gathered.durations_s[1:] == (0.0, 0.0)


async def test_unless_it_is_told_to_nothing_looks_at_annotations() -> None:
    field = Field()
    await observed_with(field, METADATA % b"[", BACKLOG)
    assert field.metrics.asked == [OUTSIDE]
