"""`/metrics`: what the library would render at once, in parts, and a clock on the loop."""

import asyncio
import itertools
import time
from collections.abc import Iterator

import aiohttp
import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from controller.telemetry.exposition import SAMPLES_PER_ITERATION, metrics_route, parts
from controller.telemetry.families import gauge
from controller.telemetry.instruments import PrometheusInstruments
from controller.telemetry.loop_lag import BUSY_LOOK_S, LOOK_S, LoopLag
from controller.telemetry.server import Listener
from tests.adapters.unread import is_cut_off_unread
from tests.spine.tasks import LoopIterations

SERIES = 5 * SAMPLES_PER_ITERATION + 7


def registry() -> CollectorRegistry:
    """All that needs care: many series, none, odd names, several samples per series."""
    PrometheusInstruments(lambda: 0.0)  # switches the library's series of creation times off, as in the controller
    built = CollectorRegistry()
    many = Gauge("many", "Many.", ("name",), registry=built)
    for number in range(SERIES):
        many.labels(f'a "quoted"\n\\ name {number}').set(number / 3)
    Counter("none", "None at all.", ("name",), registry=built)
    Counter("requests", "Counts.", registry=built).inc(3)
    Info("about", "About.", registry=built).info({"version": "1"})
    seconds = Histogram("seconds", "Lines\nand \\ slashes.", ("verb",), registry=built)
    for number in range(SERIES // 10):
        seconds.labels(f"verb-{number}").observe(number)
    return built


def test_the_parts_are_the_whole_and_none_is_large() -> None:
    built = registry()
    made = list(parts(built.collect()))
    assert b"".join(made) == generate_latest(built)
    assert max(part.count(b"\n") for part in made) <= SAMPLES_PER_ITERATION + 2


def test_desired_replicas_are_one_series_for_each_hpa() -> None:
    instruments = PrometheusInstruments(lambda: 0.0)
    for number in range(SERIES):
        instruments.replicas_desired("shop", f"web-{number}", 1)
    instruments.replicas_desired("shop", "web-0", 7)
    assert b"desired_replicas{" not in b"".join(parts(instruments.registry.collect())), "only of who decides"
    instruments.publish(instruments.desired_families)
    text = b"".join(parts(instruments.registry.collect())).decode()
    name = "horizontal_pod_autoscaler_controller_desired_replicas"
    lines = [line for line in text.splitlines() if line.startswith(f"{name}{{")]
    assert len(lines) == SERIES
    assert lines[0] == f'{name}{{hpa_name="web-0",namespace="shop"}} 7.0'
    assert text.count(f"# TYPE {name} gauge") == 1


def test_samples_are_those_of_the_moment_in_which_they_were_counted() -> None:
    values = {("a",): 1.0}
    family: Metric = gauge("g", "G.", values.items(), ("name",))
    values["b",] = 2.0
    assert [(sample.labels, sample.value) for sample in family.samples] == [({"name": "a"}, 1.0)]
    assert family.samples[-1:][0].name == "g"


QUEUE = {"name": "horizontalpodautoscaler"}


def test_the_queue_is_told_under_the_names_that_controllers_use() -> None:
    """§17.6: every add is a delayed one, and every delayed add counts as a retry upstream."""
    now_s = [10.0]
    instruments = PrometheusInstruments(lambda: now_s[0])
    value = instruments.registry.get_sample_value
    instruments.publish(lambda: instruments.work_families(depth=3, added=7))
    assert value("workqueue_longest_running_processor_seconds", QUEUE) == 0
    instruments.sync_started("shop/web", 0.5)
    now_s[0] = 14.0
    instruments.sync_started("shop/api", 2.0)
    now_s[0] = 20.0
    assert value("workqueue_depth", QUEUE) == 3
    assert value("workqueue_adds_total", QUEUE) == value("workqueue_retries_total", QUEUE) == 7
    assert value("workqueue_unfinished_work_seconds", QUEUE) == 10 + 6
    assert value("workqueue_longest_running_processor_seconds", QUEUE) == 10
    assert value("workqueue_queue_duration_seconds_sum", QUEUE) == 2.5
    assert value("hpa_controller_sync_lag_seconds_sum") == 2.5
    instruments.sync_ended("shop/web", 10.0)
    assert value("workqueue_unfinished_work_seconds", QUEUE) == 6
    assert value("workqueue_work_duration_seconds_sum", QUEUE) == 10


def test_durations_are_counted_in_the_buckets_of_upstream() -> None:
    """§17: from a millisecond on, twice as long each time; of the queue from ten nanoseconds on, ten times."""
    instruments = PrometheusInstruments(lambda: 0.0)
    instruments.reconciled("scale_up", "none", 1.0)
    instruments.sync_started("shop/web", 1.0)
    ends: dict[str, list[float]] = {}
    for family in instruments.registry.collect():
        for sample in family.samples:
            if sample.name.endswith("_bucket"):
                ends.setdefault(family.name, []).append(float(sample.labels["le"]))
    reconciliation = ends["horizontal_pod_autoscaler_controller_reconciliation_duration_seconds"]
    assert reconciliation == pytest.approx([*(0.001 * 2**power for power in range(15)), float("inf")])
    assert len(reconciliation) == 16
    queue = ends["workqueue_queue_duration_seconds"]
    assert queue == pytest.approx([1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, float("inf")])


def test_what_happens_is_counted_under_its_name_and_labels() -> None:
    instruments = PrometheusInstruments(lambda: 0.0)
    instruments.metric_computed("scale_up", "none", "Resource", 0.5)
    instruments.autoscalers_counted(3)
    instruments.autoscalers_counted(-1)
    instruments.sync_postponed("busy")
    instruments.watch_restarted("pods", "closed")
    instruments.answered("status", "PUT", "200", 0.25)
    upstream, value = "horizontal_pod_autoscaler_controller", instruments.registry.get_sample_value
    computed = {"action": "scale_up", "error": "none", "metric_type": "Resource"}
    assert value(f"{upstream}_metric_computation_total", computed) == 1
    assert value(f"{upstream}_metric_computation_duration_seconds_sum", computed) == 0.5
    assert value(f"{upstream}_num_horizontal_pod_autoscalers") == 2
    assert value("hpa_controller_syncs_postponed_total", {"reason": "busy"}) == 1
    assert value("hpa_controller_watch_restarts_total", {"resource": "pods", "reason": "closed"}) == 1
    asked = {"traffic": "status", "verb": "PUT"}
    assert value("hpa_controller_client_requests_total", asked | {"code": "200"}) == 1
    assert value("hpa_controller_client_request_duration_seconds_sum", asked) == 0.25


async def test_the_loop_turns_while_the_page_is_sent() -> None:
    built, loop = registry(), LoopIterations()
    listener = Listener("127.0.0.1:0", {"/metrics": metrics_route(built)})
    await listener.start()
    try:
        async with (
            aiohttp.ClientSession() as http,
            http.get(f"http://127.0.0.1:{listener.port}/metrics") as answer,
        ):
            assert answer.headers["Content-Type"].startswith("text/plain; version=")
            assert await answer.read() == generate_latest(built)
    finally:
        await loop.stop()
        await listener.stop()
    assert loop.number >= len(list(parts(built.collect())))


async def test_the_root_names_the_pages() -> None:
    page = metrics_route(CollectorRegistry())
    listener = Listener("127.0.0.1:0", {"/readyz": page, "/metrics": page})
    await listener.start()
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{listener.port}") as http:
            async with http.get("/") as answer:
                assert await answer.json() == {"paths": ["/metrics", "/readyz"]}
            async with http.get("/elsewhere") as answer:
                assert answer.status == 404
    finally:
        await listener.stop()


async def test_a_visitor_who_leaves_in_the_middle_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    left = asyncio.get_running_loop().create_future()

    async def endless(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        try:
            for _ in range(10_000):
                await answer.write(b"x" * 10_000)
                await asyncio.sleep(0.001)
        except ConnectionResetError as error:
            left.set_result(type(error))
            raise
        return answer

    listener = Listener("127.0.0.1:0", {"/metrics": endless})
    await listener.start()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: metrics\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.transport.abort()
        assert issubclass(await asyncio.wait_for(left, 10.0), ConnectionResetError)
    finally:
        await listener.stop()
    assert caplog.records == []


class Endless(Collector):
    """More than any buffer holds."""

    def collect(self) -> Iterator[Metric]:
        while True:
            yield Metric("endless", "Endless.", "gauge")


async def test_a_visitor_who_takes_nothing_any_more_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    built = CollectorRegistry()
    built.register(Endless())
    assert await is_cut_off_unread(metrics_route(built, unread_max_s=0.1))
    assert caplog.records == []


@pytest.mark.looptime
async def test_the_lag_of_a_loop_that_has_nothing_to_do_is_none() -> None:
    built = CollectorRegistry()
    watching = asyncio.create_task(LoopLag(built).run())
    await asyncio.sleep(10.01)
    watching.cancel()
    await asyncio.wait([watching])
    name = "hpa_controller_event_loop_lag_seconds"
    assert built.get_sample_value(f"{name}_count") == round(10 / LOOK_S)
    assert built.get_sample_value(f"{name}_bucket", {"le": "0.001"}) == round(10 / LOOK_S)


@pytest.mark.looptime
async def test_a_loop_that_computes_much_is_looked_at_more_often() -> None:
    built = CollectorRegistry()
    watching = asyncio.create_task(LoopLag(built, itertools.count(0.0, LOOK_S).__next__).run())
    await asyncio.sleep(LOOK_S + 10.01)
    watching.cancel()
    await asyncio.wait([watching])
    assert built.get_sample_value("hpa_controller_event_loop_held_seconds_count") == 1 + round(10 / BUSY_LOOK_S)


@pytest.mark.parametrize(("computed", "held"), [(itertools.repeat(7.0), False), (itertools.count(0.0, 60.0), True)])
async def test_of_a_late_loop_only_what_it_computed_counts_as_held(computed: Iterator[float], *, held: bool) -> None:
    built = CollectorRegistry()
    watching = asyncio.create_task(LoopLag(built, lambda: next(computed)).run())
    await asyncio.sleep(LOOK_S / 2)
    time.sleep(2 * LOOK_S)  # noqa: ASYNC251 - it stands still
    await asyncio.sleep(LOOK_S / 2)
    watching.cancel()
    await asyncio.wait([watching])
    lag_s = built.get_sample_value("hpa_controller_event_loop_lag_seconds_sum") or 0.0
    assert lag_s > LOOK_S
    assert built.get_sample_value("hpa_controller_event_loop_held_seconds_sum") == (lag_s if held else 0.0)
