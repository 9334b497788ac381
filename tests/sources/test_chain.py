"""Which source is asked, and what the metrics APIs call unknown."""

import asyncio

import msgspec
import pytest
import structlog

from controller import run_flags, settings
from controller.cli.main import Parser
from controller.decide.observed import ExternalReading, ReadFailure
from controller.kube.discovery import Discovery
from controller.ports import Question
from controller.settings import RunSettings
from controller.sources.ages import Ages
from controller.sources.answering import Answer, MetricsSource, Unknown
from controller.sources.combined import CombinedMetrics
from controller.sources.complaints import Complaining, Complaints
from controller.sources.custom import CustomMetrics
from controller.sources.external import ExternalMetrics
from tests.adapters.parts import connected_to
from tests.adapters.raw_server import Received, answer, serving
from tests.sources.asking import CountedAges, external, of_deployment, of_pods


class Says:
    """A source with one answer; `asked` counts."""

    def __init__(self, said: Answer) -> None:
        self.said = said
        self.asked = 0
        self.closed = 0

    async def read(self, question: Question) -> Answer:  # noqa: ARG002 - it says the same to all
        self.asked += 1
        return self.said

    async def close(self) -> None:
        self.closed += 1


def combined(*sources: MetricsSource) -> CombinedMetrics:
    chain = [(f"source-{number}", source) for number, source in enumerate(sources)]
    ages = Ages(lambda: 0, CountedAges(), 0.0)
    complaints = Complaints("none", lambda: 0.0)
    return CombinedMetrics(resource=chain, custom=chain, external=chain, complaints=complaints, ages=ages)


@pytest.mark.parametrize("said", [ExternalReading(()), ExternalReading((1,)), ReadFailure("down")])
async def test_the_next_is_asked_only_about_what_is_unknown(said: Answer) -> None:
    first, second, third = Says(Unknown("no such metric")), Says(said), Says(ExternalReading((9,)))
    found = await combined(first, second, third).read(external("depth"))
    assert not isinstance(said, Unknown)
    assert found == msgspec.structs.replace(said, origin="source-1")
    assert (first.asked, second.asked, third.asked) == (1, 1, 0)


async def test_what_nobody_knows_fails_with_all_reasons() -> None:
    found = await combined(Says(Unknown("not here")), Says(Unknown("nor here"))).read(external("depth"))
    assert found == ReadFailure("source-0: not here; source-1: nor here", "source-0, source-1")
    assert await combined(Says(Unknown("not here"))).read(external("depth")) == ReadFailure("not here", "source-0")


@pytest.mark.parametrize("said", [Unknown("not here"), ReadFailure("not here")])
async def test_what_a_metrics_api_does_not_tell_has_no_other_origin(said: Answer) -> None:
    """Whatever else was asked: advice about the API is then in place."""
    chain = [("prometheus", Says(Unknown("no rule"))), ("api", Says(said))]
    ages, complaints = Ages(lambda: 0, CountedAges(), 0.0), Complaints("none", lambda: 0.0)
    port = CombinedMetrics(resource=(), custom=(), external=chain, complaints=complaints, ages=ages)
    with structlog.testing.capture_logs():
        found = await port.read(external("depth"))
    assert isinstance(found, ReadFailure)
    assert found.message.endswith("not here")
    assert found.origin == ""


async def test_an_old_value_fails_the_metric_and_is_counted_by_source_and_never_asked_of_the_next() -> None:
    counted, second = CountedAges(), Says(ExternalReading((9,), 10**12))
    chain = [("first", Says(ExternalReading((0,), 10**12 - 61 * 10**9))), ("second", second)]
    ages = Ages(lambda: 10**12, counted, 60.0)
    complaints = Complaints("none", lambda: 0.0)
    port = CombinedMetrics(resource=(), custom=(), external=chain, complaints=complaints, ages=ages)
    with structlog.testing.capture_logs() as lines:
        found = await port.read(external("depth"))
    assert found == ReadFailure("the value is 1m1s old, and --max-sample-age is 1m0s", "first")
    assert [line["source"] for line in lines] == ["first"]
    assert counted.aged == [("external", "first", 61.0)]
    assert counted.left_out == [("external", "first", 1)]
    assert second.asked == 0


async def test_what_fails_and_what_nobody_knows_is_logged_once_for_all() -> None:
    down = Complaining(Says(ReadFailure("down")), Complaints("api", lambda: 0.0))
    unknown = combined(Says(Unknown("not here")))
    with structlog.testing.capture_logs() as lines:
        for metric in ("depth", "rate", "depth"):
            assert await down.read(external(metric)) == ReadFailure("down")
            await unknown.read(external(metric))
        await combined(Says(ExternalReading(())), down).read(external("depth"))
    assert [(line["event"], line["source"], line["error"]) for line in lines] == [
        ("a metric cannot be read", "api", "down"),
        ("a metric cannot be read", "source-0", "not here"),
    ]


async def test_a_source_of_several_families_is_closed_once() -> None:
    source = Says(Unknown(""))
    await combined(source).close()
    assert source.closed == 1


def _status(message: str) -> bytes:
    return b'{"kind":"Status","status":"Failure","message":"' + message.encode() + b'","reason":"NotFound","code":404}'


NOT_FOUND = {
    "the server could not find the metric rps for pods": True,
    "the server could not find the metric rps for deployments.apps web": False,
    "the server could not find the metric rps for deployments.apps web with selector code=200": False,
}


@pytest.mark.parametrize(("message", "unknown"), NOT_FOUND.items())
async def test_a_404_about_the_object_is_no_unknown_metric(message: str, unknown: bool) -> None:  # noqa: FBT001 - fact
    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        match received.target:
            case "/apis/custom.metrics.k8s.io":
                body = b'{"versions":[{"version":"v1beta2"}],"preferredVersion":{"version":"v1beta2"}}'
                writer.write(answer(body))
            case "/apis/apps":
                writer.write(answer(b'{"versions":[{"version":"v1"}]}'))
            case "/apis/apps/v1":
                writer.write(answer(b'{"resources":[{"name":"deployments","kind":"Deployment"}]}'))
            case _:
                writer.write(answer(_status(message), status="404 Not Found"))

    time_s = asyncio.get_running_loop().time
    async with serving(say) as api, connected_to(api.url) as client:
        source = CustomMetrics(client, Discovery(client, time_s), time_s, 0.0, 60.0)
        found = await source.read(of_deployment("rps"))
        assert found == (Unknown(message) if unknown else ReadFailure(message))


async def test_an_api_that_is_not_registered_knows_nothing_and_one_that_fails_does_not_say() -> None:
    time_s = asyncio.get_running_loop().time
    async with serving(answer(_status("no such path"), status="404 Not Found")) as api, connected_to(api.url) as client:
        custom = CustomMetrics(client, Discovery(client, time_s), time_s, 0.0, 60.0)
        assert isinstance(await custom.read(of_pods("rps")), Unknown)
        assert isinstance(await ExternalMetrics(client, time_s, 0.0).read(external("depth")), Unknown)
    async with serving(answer(b"", status="500 Internal Server Error")) as api, connected_to(api.url) as client:
        assert isinstance(await ExternalMetrics(client, time_s, 0.0).read(external("depth")), ReadFailure)


async def test_external_metrics_are_asked_for_in_lower_case() -> None:
    asked: list[str] = []

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        asked.append(received.target)
        writer.write(answer(b'{"items":[{"metricName":"queuedepth","value":"4"}]}'))

    time_s = asyncio.get_running_loop().time
    async with serving(say) as api, connected_to(api.url) as client:
        assert await ExternalMetrics(client, time_s, 0.0).read(external("QueueDepth")) == ExternalReading((4_000,))
    assert asked == ["/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queuedepth"]


# --- flags ---


def parsed(*flags: str) -> RunSettings:
    parser = Parser(prog="hpa-controller run", allow_abbrev=False)
    run_flags.add_flags(parser)
    return settings.from_arguments(parser.parse_args(flags))


URL = "--prometheus-url=http://prometheus:9090"
RULES = "--prometheus-rules=rules.yaml"


def test_each_family_has_its_api_unless_something_else_is_said() -> None:
    found = parsed().sources
    assert [found.chain("resource"), found.chain("custom"), found.chain("external")] == [("api",)] * 3
    assert not found.uses_prometheus
    flags = ("--metrics-source=custom=prometheus", "--metrics-source=custom=api", URL, RULES)
    found = parsed(*flags, "--prometheus-header=X-Scope-OrgID=a=b", "--prometheus-timeout=3s").sources
    assert found.chain("custom") == ("prometheus", "api")
    assert found.chain("external") == ("api",)
    assert found.prometheus is not None
    assert found.prometheus.headers == (("X-Scope-OrgID", "a=b"),)
    assert found.prometheus.timeout_s == 3.0


def test_queries_of_hpas_and_the_age_of_samples_are_off_unless_they_are_asked_for() -> None:
    found = parsed().sources
    assert (found.query_annotations, found.sample_age_max_s) == (False, 0.0)
    found = parsed("--allow-query-annotations", URL, "--max-sample-age=90s").sources
    assert (found.query_annotations, found.sample_age_max_s, found.sample_times) == (True, 90.0, True)
    assert not found.uses_prometheus, "no rules are needed"


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (("--metrics-source=custom=prometheus",), "--prometheus-url is needed"),
        (("--metrics-source=custom=prometheus", URL), "--prometheus-rules is needed"),
        ((URL,), "needs a --metrics-source"),
        (("--allow-query-annotations",), "--allow-query-annotations needs --prometheus-url"),
        (("--max-sample-age=-1s",), "is negative"),
        (
            ("--allow-query-annotations", URL, "--max-sample-age=1m", "--prometheus-sample-times=false"),
            "needs --prometheus-sample-times",
        ),
        (("--metrics-source=custom=api", "--metrics-source=custom=api"), "custom=api is there twice"),
        (("--metrics-source=custom=a b",), "is no name of a source"),
        (("--metrics-source-option=a.b=c",), "no --metrics-source names 'a'"),
        (("--metrics-source-option=a",), "NAME.KEY=VALUE"),
        (("--metrics-source=custom=a", *["--metrics-source-option=a.b=c"] * 2), "a.b is there twice"),
        (("--metrics-source=pods=api",), "does not begin with one of"),
        (("--metrics-max-age=10s",), "must not be shorter"),
        (("--prometheus-token-file=a",), "--prometheus-token-file needs --prometheus-url"),
        (("--prometheus-header-file=X=a",), "--prometheus-header-file needs --prometheus-url"),
        (("--prometheus-timeout=3s",), "--prometheus-timeout needs --prometheus-url"),
        (("--prometheus-concurrency=3",), "--prometheus-concurrency needs --prometheus-url"),
        (("--prometheus-sample-times=false",), "--prometheus-sample-times needs --prometheus-url"),
        ((RULES,), "--prometheus-rules needs a --metrics-source"),
        (("--prometheus-header=X",), "NAME=VALUE"),
        (("--prometheus-concurrency=0",), "from 1 to 10000"),
        (("--prometheus-timeout=0s",), "too short"),
    ],
)
def test_flags_that_cannot_work_are_refused(
    flags: tuple[str, ...], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((settings.SettingsError, SystemExit)) as caught:
        parsed(*flags)
    assert part in str(caught.value) + capsys.readouterr().err
