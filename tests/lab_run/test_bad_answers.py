"""One Prometheus that answers badly to many HPAs, each in its own way, and well to one: what is said of it."""

import asyncio
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, Final

import msgspec
import pytest
import structlog

from controller.sources.complaints import PERIOD_S
from tests.adapters.raw_server import Received, answer
from tests.lab_run.runs import Run, in_fast_time, running
from tests.lab_run.scaled_by import BEGIN, cpu, external, of_deployment, scenario
from tests.sources.fake_prometheus import FakePrometheus, fake_prometheus, sample

LONG_S: Final = 36_000.0
SYNCS: Final = 10
SYNCS_OF_TIMEOUTS: Final = 2
SPEED: Final = 12.0
"""So that the API's time limits are seconds of any machine, since the bad answers must be the only ones."""
_STATES = itertools.count()


async def _redirected(_: Received, writer: asyncio.StreamWriter) -> None:
    """To a page that is made for each request, as logins have it."""
    writer.write(answer(b"", f"Location: http://sso.example/login?state={next(_STATES)}", status="302 Found"))


async def _half_open(_: Received, __: asyncio.StreamWriter) -> None:
    await asyncio.sleep(LONG_S)


async def _slow(_: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
    for __ in range(round(LONG_S)):
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(1)


MANY = answer(
    msgspec.json.encode(
        {
            "status": "success",
            "data": {"resultType": "vector", "result": [sample("1", n=str(number)) for number in range(50_000)]},
        }
    )
)
INCOMPLETE = b'{"status":"success","warnings":["store-1 is away"],"data":{"resultType":"vector","result":[]}}'
REFUSED = b'{"status":"error","errorType":"bad_data","error":"parse error"}'

CASES: Final[dict[str, tuple[Any, str, str]]] = {
    # name: the answer; what is said of it, %s being the rule's line; the cause, where two cases have the same
    "matrix": ({"resultType": "matrix", "result": []}, "line %s: the query gives a matrix where a vector is", ""),
    "string": ({"resultType": "string", "result": [1, "a"]}, "line %s: the query gives a string where a vector is", ""),
    "many": (MANY, "line %s: the query gives 50000 series, more than 20000: let it aggregate", ""),
    "refused": (answer(REFUSED, status="400 Bad Request"), "line %s: Prometheus refused the query (bad_data): ", ""),
    "nan": ([sample("NaN")], "line %s gives NaN or infinity", ""),
    "infinite": ([sample("-Inf"), sample("3", n="2")], "line %s gives NaN or infinity", ""),
    "incomplete": (answer(INCOMPLETE), "the answer may be incomplete: store-1 is away", ""),
    "redirected": (_redirected, "a redirection to http://sso.example/login, which is not followed", ""),
    "html": (answer(b"<html>Log in</html>"), "is no answer of Prometheus, beginning with '<html>Log in</html>'", ""),
    "gateway": (answer(b"no", status="502 Bad Gateway"), "answered with HTTP status 502: no", ""),
    "half-open": (_half_open, "did not answer within 40 s", "timeout"),
    "slow": (_slow, "did not answer within 40 s", "timeout"),
}  # fmt: skip
TWICE = "twice"
EMPTY = "empty"
RULE_LINES = {name: 2 + 4 * number for number, name in enumerate(CASES)}


def rules() -> str:
    """A rule of four lines for each case, one for what is healthy and empty, and one for metrics of Deployments."""
    names = [f"case_{name}".replace("-", "_") for name in (*CASES, EMPTY, "healthy")]
    external_rules = "".join(
        f"- seriesQuery: {name}\n"
        "  resources: {namespaced: false}\n"
        f"  name: {{matches: ^{name}$, as: {name}}}\n"
        f"  metricsQuery: {name}\n"
        for name in names
    )
    custom = (
        'rules:\n- seriesQuery: case_twice\n  name: {matches: "^case_twice$", as: case_twice}\n'
        "  resources:\n"
        "    overrides: {namespace: {resource: namespace}, deployment: {group: apps, resource: deployment}}\n"
        "  metricsQuery: case_twice\n"
    )
    return f"externalRules:\n{external_rules}{custom}"


class Told:
    """What was seen: conditions and events by HPA, log lines with their time, and replicas at the end."""

    def __init__(self, run: Run, lines: list[Any], healthy: dict[str, list[int]]) -> None:
        self.replicas = run.desired()
        self.syncs = {key.partition("/")[2]: count for key, count in run.board.syncs.items()}
        self.healthy = healthy
        self.lines = list(lines)
        self.conditions = {
            view.name: (active.status, active.reason, active.message)
            for view in run.lab.look()
            for active in (view.conditions["ScalingActive"],)
        }
        self.events: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for event in _events(run):
            self.events[event["involvedObject"]["name"]].append((event["reason"], event["message"]))


def _played(fake: FakePrometheus) -> None:
    for name, (said, _, _) in CASES.items():
        fake.answers[f"case_{name}".replace("-", "_")] = said
    fake.answers["case_empty"] = []
    fake.answers["case_twice"] = [sample("1", deployment=TWICE), sample("2", deployment=TWICE)]
    fake.answers["case_healthy"] = [sample("30")]
    fake.series = [{"__name__": name, "namespace": "default"} for name in fake.answers]
    fake.series.append({"__name__": "case_twice", "namespace": "default", "deployment": TWICE})


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A run in which the healthy HPAs go up and down beside those with bad answers."""
    folder = tmp_path_factory.mktemp("bad-answers")
    (folder / "rules.yaml").write_text(rules())
    metrics = {name: external(f"case_{name}".replace("-", "_")) for name in (*CASES, EMPTY, "healthy")}
    metrics |= {TWICE: of_deployment("case_twice", TWICE), "plain": cpu()}
    load = {
        "target": {"kind": "Deployment", "name": "plain"},
        "equivalent": {"pods": {"points": [{"at": "0s", "value": 3}]}},
    }
    about = scenario(folder, metrics, [load])

    async def story() -> Told:
        loop = asyncio.get_running_loop()

        def stamped(_: object, __: str, event: Any) -> Any:
            return {**event, "at_s": loop.time()}

        async with fake_prometheus() as fake:
            _played(fake)
            flags = (
                "--metrics-source=external=prometheus",
                "--metrics-source=custom=prometheus",
                f"--prometheus-url={fake.url}",
                f"--prometheus-rules={folder / 'rules.yaml'}",
                "--prometheus-timeout=40s",
            )
            with structlog.testing.capture_logs(processors=[stamped]) as lines:
                async with running(about, flags=flags, speed=SPEED) as run:
                    healthy: dict[str, list[int]] = {"healthy": [], "plain": []}
                    for height in (6, 2):
                        fake.answers["case_healthy"] = [sample(str(height * 10))]
                        run.lab.hold("default", "load-0", height - 0.3)
                        await run.until(_at(run, height), f"{height} replicas of the healthy ones")
                        for name, counts in healthy.items():
                            counts.append(run.desired()[name])
                    await run.until(_synced(run), "enough syncs")
                    await run.until(_both_events(run), "events, which are posted beside the syncs")
                    return Told(run, lines, healthy)

    return in_fast_time(story, SPEED)


def _at(run: Run, height: int) -> Callable[[], bool]:
    return lambda: run.desired()["healthy"] == run.desired()["plain"] == height


def _synced(run: Run) -> Callable[[], bool]:
    # Two that time out wait for forty seconds each time.
    timeouts = ("default/half-open", "default/slow")
    return lambda: all(
        count >= (SYNCS_OF_TIMEOUTS if name in timeouts else SYNCS) for name, count in run.board.syncs.items()
    )


def _both_events(run: Run) -> Callable[[], bool]:
    def there() -> bool:
        about = Counter(event["involvedObject"]["name"] for event in _events(run))
        return all(about[name] > 1 for name in (*CASES, TWICE))

    return there


def _events(run: Run) -> list[dict[str, Any]]:
    found = run.lab.cluster.list("events")
    return [
        event
        for event in found
        if event["involvedObject"]["kind"] == "HorizontalPodAutoscaler" and event["reason"].startswith("Failed")
    ]


def _message(name: str) -> str:
    said = CASES[name][1]
    return said % RULE_LINES[name] if "%s" in said else said


def test_the_others_scale(told: Told) -> None:
    assert told.healthy == {"healthy": [6, 2], "plain": [6, 2]}


@pytest.mark.parametrize("name", [*CASES, TWICE, EMPTY])
def test_nothing_is_scaled_by_a_bad_answer(told: Told, name: str) -> None:
    assert told.replicas[name] == BEGIN


@pytest.mark.parametrize("name", CASES)
def test_one_condition_says_what_is_wrong(told: Told, name: str) -> None:
    status, reason, message = told.conditions[name]
    assert (status, reason) == ("False", "FailedGetExternalMetric")
    assert _message(name) in message


def test_two_series_where_one_is_needed(told: Told) -> None:
    status, reason, message = told.conditions[TWICE]
    assert (status, reason) == ("False", "FailedGetObjectMetric")
    assert "two series or more for deployments.apps twice; let its query aggregate by deployment" in message


@pytest.mark.parametrize("name", [*CASES, TWICE])
def test_one_event_says_it_whatever_the_number_of_syncs(told: Told, name: str) -> None:
    # A status that the lab was too busy to take is another story.
    events = [(reason, message) for reason, message in told.events[name] if reason != "FailedUpdateStatus"]
    assert sorted(reason for reason, _ in events) == ["FailedComputeMetricsReplicas", told.conditions[name][1]]
    part = _message(name) if name in CASES else "two series or more"
    assert all(part in message for _, message in events)


@pytest.mark.parametrize("name", [*CASES, TWICE])
def test_one_log_line_per_cause_and_period(told: Told, name: str) -> None:
    part = _message(name) if name in CASES else "two series or more"
    lines = [line for line in told.lines if part in str(line.get("error", "")) and line["log_level"] != "debug"]
    assert {(line["event"], line["log_level"]) for line in lines} == {("a metric cannot be read", "warning")}
    times = [line["at_s"] for line in lines]
    assert all(after - before >= PERIOD_S for before, after in itertools.pairwise(times)), times
    assert len(lines) < told.syncs[name] + (told.syncs["slow"] if CASES.get(name, ("", "", ""))[2] else 0)


def test_nothing_is_logged_as_a_bug_and_only_the_bad_answers_are_complained_of(told: Told) -> None:
    assert not [line for line in told.lines if "exc_info" in line]
    said = [line["error"] for line in told.lines if line["event"] == "a metric cannot be read"]
    parts = [*map(_message, CASES), "two series or more"]
    assert [error for error in said if not any(part in error for part in parts)] == []
