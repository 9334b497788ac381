"""The stub's answers, copies of stored objects, the null client's plan, goals and what is written of them."""

import datetime as dt
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from tests.bench_cluster import plots, tables
from tests.bench_cluster.goals import goals, largest_held
from tests.bench_cluster.loads import RAISED, REST, Answers, Delay, load_nano
from tests.bench_cluster.loop_lag import METRIC, loop_between
from tests.bench_cluster.null_client import Connection, Plan, Planned
from tests.bench_cluster.planning import planned
from tests.bench_cluster.populations import parse
from tests.bench_cluster.processes import machine, usage
from tests.bench_cluster.requests import Request
from tests.bench_cluster.results import Cost, Loop, Reaction, Report, Result
from tests.bench_cluster.stored import exchanged
from tests.bench_cluster.timings import Spread
from tests.e2e.controller_process import Metrics

NOW = dt.datetime(2026, 3, 1, 10, 0, 0, tzinfo=dt.UTC)
POD_METRICS = "/apis/metrics.k8s.io/v1beta1/namespaces/space-000000/pods"


def answer(population: str, target: str) -> Any:
    body = Answers(parse(population)).body(target, 2_000_000_000, NOW)
    assert body is not None
    return json.loads(body)


# --- processes ---


def test_a_process_that_has_ended_has_no_usage() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        # It stays in the table of processes until it is waited for.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(ProcessLookupError, match=f"{process.pid} has ended"):
            usage(process.pid)
    with pytest.raises(ProcessLookupError, match="no process"):
        usage(process.pid)


def test_idle_time_is_told_of_all_cores_together() -> None:
    before, began_s = machine(), time.monotonic()
    time.sleep(0.5)
    after, passed_s = machine(), time.monotonic() - began_s
    cores = os.cpu_count() or 1
    assert 0 <= after.idle_s - before.idle_s <= cores * (passed_s + 0.1)
    assert 0 <= after.stolen_s - before.stolen_s <= cores * (passed_s + 0.1)


# --- the load and the stub ---


def test_the_load_is_another_at_each_of_many_ticks_and_scales_every_hpa_alike_when_raised() -> None:
    values = {load_nano(tick, REST) // 1_000_000 for tick in range(61)}
    assert len(values) == 61
    assert all(0.9 < value / 2000 < 1.1 for value in values)
    assert {-(-5 * load_nano(tick, RAISED) // 2_000_000_000) for tick in range(61)} == {10}


def test_a_selector_selects_the_pods_of_one_hpa() -> None:
    everything = answer("4-one-cpu", POD_METRICS)["items"]
    assert len(everything) == 20
    selected = answer("4-one-cpu", f"{POD_METRICS}?labelSelector=app%3Dapp-000002")["items"]
    assert selected == [item for item in everything if item["metadata"]["labels"] == {"app": "app-000002"}]
    assert selected[0]["containers"][0]["usage"]["cpu"] == "2000000000n"
    assert selected[0]["timestamp"] == "2026-03-01T10:00:00Z"


def test_metrics_of_pods_objects_and_of_nothing_are_answered() -> None:
    space = "/namespaces/space-000000"
    pods = answer(
        "5-one-mixed", f"/apis/custom.metrics.k8s.io/v1beta2{space}/pods/*/load?labelSelector=app%3Dapp-000002"
    )
    assert [item["describedObject"]["name"] for item in pods["items"]] == [
        f"app-000002-{number}" for number in range(5)
    ]
    (found,) = answer("5-one-mixed", f"/apis/custom.metrics.k8s.io/v1beta2{space}/deployments.apps/app-000003/load")[
        "items"
    ]
    assert (found["describedObject"]["kind"], found["value"]) == ("Deployment", "2000m")
    (external,) = answer("5-one-mixed", f"/apis/external.metrics.k8s.io/v1beta1{space}/external")["items"]
    assert external["value"] == "2000m"
    assert Answers(parse("5-one-mixed")).body("/openapi/v2", 1, NOW) is None


def test_only_answers_to_those_meant_to_wait_are_delayed() -> None:
    answers = Answers(parse("100-one-slow"))
    custom = "/apis/custom.metrics.k8s.io/v1beta2"
    assert answers.delay(POD_METRICS) is Delay.NONE
    assert answers.delay(custom) is Delay.NONE
    assert answers.delay(f"{custom}/namespaces/space-900005/pods/*/load") is Delay.NEVER
    assert answers.delay("/apis/external.metrics.k8s.io/v1beta1/namespaces/space-900001/slow") is Delay.SLOW


def test_a_copy_differs_in_its_names_only_and_in_no_length() -> None:
    assert exchanged(b"\x0aapp-zz\x06uid-zz", {"app-zz": "app-01", "uid-zz": "uid-01"}) == b"\x0aapp-01\x06uid-01"
    with pytest.raises(ValueError, match="another length"):
        exchanged(b"app-zz", {"app-zz": "app-001"})


# --- the null client ---


def seen(received_s: float, verb: str, resource: str, key: str, target: str) -> Request:
    return Request(received_s, verb, resource, key, 200, target)


STATUS = "horizontalpodautoscalers/status.autoscaling"


def test_a_plan_has_a_write_of_every_hpa_and_the_reads_of_one_period() -> None:
    requests = [
        seen(101.0, "list", "pods.metrics.k8s.io", "a/", "/metrics"),
        seen(102.0, "update", STATUS, "a/x", "/a/x/status"),
        seen(103.0, "update", "leases.coordination.k8s.io", "b/c", "/lease"),
        seen(104.0, "get", "deployments/scale.apps", "a/x", "/scale"),
        seen(116.5, "list", "pods.metrics.k8s.io", "a/", "/metrics"),
        seen(117.0, "update", STATUS, "a/x", "/a/x/status"),
    ]
    found = planned(requests, {"a/x": "X", "a/y": "Y"}, start_s=100.0, period_s=15.0)
    writes = {one.target.split("/")[-2]: one for one in found if one.method == "PUT"}
    assert writes["x"].offset_s == 2.0
    # It was not seen to be written in time, which is no reason to leave it out.
    assert 0.0 <= writes["y"].offset_s < 15.0
    assert [one.target for one in found if one.method == "GET"] == ["/metrics"]
    assert [one.offset_s for one in found] == sorted(one.offset_s for one in found)


async def test_the_null_client_sends_what_is_planned_and_reads_answers_of_both_forms() -> None:
    bodies: list[str] = []

    async def plain(request: web.Request) -> web.Response:
        bodies.append(await request.text())
        return web.Response(text="done")

    async def chunked(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for _ in range(3):
            await response.write(b"x" * 70_000)
        await response.write_eof()
        return response

    application = web.Application()
    application.router.add_put("/plain", plain)
    application.router.add_get("/chunked", chunked)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        plan = Plan("127.0.0.1", runner.addresses[0][1], "", "token", 15.0, [], [])
        connection = Connection(plan, None)
        for number in (1, 2):
            await connection.send(Planned(0.0, "PUT", "/plain", '{"value": "@number@m"}'), number)
            await connection.send(Planned(0.0, "GET", "/chunked"), number)
        connection.close()
    finally:
        await runner.cleanup()
    assert bodies == ['{"value": "1m"}', '{"value": "2m"}']


# --- goals and reports ---


def result(cell: str, contender: str, **changed: Any) -> Result:
    population = parse(cell)
    measured = Result(
        cell=cell,
        contender=contender,
        command="command",
        hpas=population.count,
        pods=population.count * population.pods_each,
        period_s=15.0,
        ready_s=1.0,
        first_pass_s=15.0,
        warm_s=30.0,
        window_s=60.0,
        syncs=4 * population.count,
        interval=Spread(15.0, 15.5, 16.0, 4),
        lateness=Spread(0.0, 0.5, 1.0, 4),
        requests_per_sync={"update status": 1.0},
        refused={"409 update status": 2},
        reads_per_sync=2.0,
        status_writes_per_sync=1.0,
        cost=Cost(4.0, 100.0, 110.0),
        cpu_s_per_1000_syncs=1.0,
        others={name: Cost(1.0, 10.0, 10.0) for name in ("kube-apiserver", "etcd", "metrics stub", "benchmark")},
        status_writes_at_rest=0,
        rest_s=20.0,
        reaction=Reaction(Spread(7.0, 15.0, 16.0, 4), 0, 60.0),
        loop=Loop(1_200, 0, 0.025),
        postponed=0,
        load_average=1.0,
    )
    return msgspec.structs.replace(measured, **changed)


def report(*results: Result) -> Report:
    return Report("make bench-cluster", "a processor", 2, 60.0, list(results), ["3000-small-cpu:defaults"])


def missed(*results: Result) -> set[str]:
    return {goal.what for goal in goals(report(*results)) if goal.verdict != "reached"}


def test_one_who_reads_less_and_costs_the_same_reaches_all_goals() -> None:
    cell = "1000-hundred-cpu"
    slow = {"lateness": Spread(30.0, 40.0, 50.0, 4), "reaction": Reaction(Spread(80.0, 200.0, 200.0, 4), 0, 300.0)}
    results = [result(cell, "defaults", **slow), result(cell, "tuned"), result(cell, "ours", reads_per_sync=0.02)]
    assert missed(*results) == set()
    assert largest_held(results) == 1_000


@pytest.mark.parametrize(
    ("changed", "goal"),
    [
        ({"interval": Spread(15.0, 16.6, 17.0, 4)}, "interval p99, in periods"),
        ({"interval": None}, "interval p99, in periods"),
        ({"reads_per_sync": 0.2}, "reads per sync, by tuned's"),
        ({"status_writes_per_sync": 1.01}, "status writes per sync, by tuned's"),
        ({"status_writes_at_rest": 1}, "status writes when nothing changed"),
        ({"cpu_s_per_1000_syncs": 1.1}, "CPU per sync, by tuned's"),
        ({"cost": Cost(4.0, 100.0, 120.0)}, "resident memory, by tuned's"),
        ({"lateness": Spread(0.0, 0.6, 1.0, 4)}, "lateness p99, by tuned's"),
        ({"reaction": Reaction(Spread(7.0, 15.0, 16.0, 4), 1, 60.0)}, "reaction p99, by tuned's"),
        ({"loop": Loop(1_200, 1, 0.1)}, "event loop held for more than 50 ms, times"),
        ({"loop": None}, "event loop held for more than 50 ms, times"),
    ],
)
def test_each_goal_can_be_missed(changed: dict[str, Any], goal: str) -> None:
    ours = result("1000-hundred-cpu", "ours", **{"reads_per_sync": 0.02, **changed})
    assert missed(result("1000-hundred-cpu", "tuned"), ours) == {goal}


def test_an_interval_that_not_even_a_null_client_keeps_is_beyond_reach_and_does_not_hold() -> None:
    late = Spread(20.0, 30.0, 40.0, 4)
    ours, null = result("3000-one-cpu", "ours", interval=late), result("3000-one-cpu", "null")
    (interval, *_) = goals(report(ours, null))
    assert interval.verdict == "missed"
    (interval, *_) = goals(report(ours, msgspec.structs.replace(null, interval=late)))
    assert interval.verdict == "beyond reach"
    assert largest_held([ours, null]) is None


@pytest.mark.parametrize(("its_p99_s", "verdict"), [(100.0, "beyond reach"), (149.0, "missed"), (151.0, "reached")])
def test_nobody_reacts_sooner_than_the_period_lets_him(its_p99_s: float, verdict: str) -> None:
    def reacts(p99_s: float) -> Reaction:
        return Reaction(Spread(p99_s / 2, p99_s, p99_s, 4), 0, 600.0)

    cell = "1000-hundred-cpu"
    defaults = result(cell, "defaults", reaction=reacts(its_p99_s), lateness=Spread(20.0, 45.0, 46.0, 4))
    ours = result(cell, "ours", reads_per_sync=0.02, reaction=reacts(15.0))
    found = {goal.what: goal for goal in goals(report(defaults, ours))}
    assert found["reaction p99, by the built-in defaults'"].verdict == verdict


@pytest.mark.parametrize(("its_p99_s", "left"), [(15.0, set()), (14.0, {"reaction p99, by tuned's"})])
def test_who_beats_those_that_scaled_beats_one_whose_others_never_did(its_p99_s: float, left: set[str]) -> None:
    cell = "1000-hundred-cpu"
    tuned = result(cell, "tuned", reaction=Reaction(Spread(7.0, its_p99_s, 16.0, 4), 1, 60.0))
    ours = result(cell, "ours", reads_per_sync=0.02)
    assert missed(tuned, ours) == left


def test_lateness_of_the_loop_is_what_was_counted_between_two_looks() -> None:
    def metrics(*counts: int) -> Metrics:
        buckets = zip(("0.01", "0.05", "0.1", "+Inf"), counts, strict=True)
        lines = [f'{METRIC}_bucket{{le="{bound}"}} {count}' for bound, count in buckets]
        return Metrics("\n".join([f"# TYPE {METRIC} histogram", *lines, f"{METRIC}_count {counts[-1]}", ""]))

    assert loop_between(metrics(0, 4, 5, 6), metrics(9, 14, 15, 16)) == Loop(10, 0, 0.05)
    assert loop_between(metrics(0, 4, 4, 4), metrics(9, 14, 14, 16)) == Loop(12, 2, None)
    assert loop_between(Metrics(""), Metrics("")) is None


def test_writes_at_rest_are_not_judged_where_syncs_were_too_late_to_have_seen_the_last_change() -> None:
    late = result("1000-one-cpu", "ours", interval=Spread(15.0, 16.0, 60.0, 4), status_writes_at_rest=9)
    assert missed(late) == set()


def test_costs_may_grow_with_the_number_but_not_with_its_square() -> None:
    small = result("1000-hundred-cpu", "ours")
    assert missed(small, result("10000-hundred-cpu", "ours", cpu_s_per_1000_syncs=1.1)) == set()
    costly = result("10000-hundred-cpu", "ours", cpu_s_per_1000_syncs=1.2)
    assert missed(small, costly) == {"CPU grows with the number to the power of"}


def test_a_report_survives_being_written_and_comes_into_a_document(tmp_path: Path) -> None:
    written = report(result("1000-hundred-cpu", "tuned"), result("1000-hundred-cpu", "ours"))
    assert msgspec.json.decode(msgspec.json.encode(written), type=Report) == written
    document = tmp_path / "performance.md"
    document.write_text(f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n")
    for _ in range(2):
        tables.write_into(document, written)
    content = document.read_text()
    assert content.count("ours, defaults") == tables.text(written).count("ours, defaults")
    assert content.startswith("before\n")
    assert content.endswith("after\n")
    assert "old" not in content
    document.write_text("no place")
    with pytest.raises(tables.MarkersMissingError, match="no place for the figures"):
        tables.write_into(document, written)


def test_the_hour_is_told_where_it_was_looked_at() -> None:
    known = result("1000-hundred-cpu", "ours", idle_cores=1.25, stolen_cores=0.5, additions_s=0.75)
    row = "| 1.25 | 0.50   | 1.0  | 0.75 s    |"
    assert row in tables.text(report(known))
    fields = msgspec.to_builtins(known)
    for name in ("idle_cores", "stolen_cores", "additions_s"):
        del fields[name]
    older = msgspec.convert(fields, Result)
    assert "|      |        | 1.0  |           |" in tables.text(report(older))


def test_a_page_with_plots_has_all_figures_and_loads_nothing(tmp_path: Path) -> None:
    plots.write(tmp_path / "plots.html", report(result("1000-hundred-cpu", "ours", reaction=None)))
    page = (tmp_path / "plots.html").read_text()
    assert page.count("ours, defaults") >= 6
    assert "<script src" not in page
