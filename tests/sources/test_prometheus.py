"""What becomes of Prometheus's answers: readings, failures and metrics that are not known."""

import asyncio
import base64
from pathlib import Path

import msgspec
import pytest

from controller.decide import selectors
from controller.decide.observed import ExternalReading, ObjectReading, PodsReading, ReadFailure, ResourceReading
from controller.decide.quantity import INT64_MAX, INT64_MIN
from controller.decide.selectors import LabelSelector, LabelSelectorRequirement
from controller.decide.spec import MetricIdentifier, Reference
from controller.ports import ObjectQuestion, ResourceQuestion
from controller.sources.answering import Answer, Unknown
from controller.sources.prometheus.answers import SERIES_MAX, Family, decode_families
from controller.sources.prometheus.server_settings import ServerSettings, check_settings
from tests.adapters.raw_server import Received, answer
from tests.sources.asking import RULES, asking, external, of_deployment, of_pods
from tests.sources.fake_prometheus import AT_S, fake_prometheus, sample

PODS = 'sum(http_rps{namespace="default",pod=~"web-0|web-1"}) by (pod)'
DEPLOYMENT = 'sum(http_rps{namespace="default",deployment="web"}) by (deployment)'
QUEUE = 'sum(queue_depth{namespace="default"})'
SLOW_RULE = """\
- seriesQuery: '{slow!=""}'
  resources: {overrides: {namespace: {resource: namespace}}}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>})
"""
USAGE_RULES = """\
resourceRules:
  cpu: {containerQuery: "cpu{<<.LabelMatchers>>}", resources: {template: <<.Resource>>}, containerLabel: container}
  memory: {containerQuery: "mem{<<.LabelMatchers>>}", resources: {template: <<.Resource>>}, containerLabel: container}
"""
SERIES = [
    {"__name__": "http_rps", "namespace": "default", "pod": "web-0", "deployment": "web"},
    {"__name__": "queue_depth", "namespace": "default"},
]


async def answered(question: object, query: str, data: object, folder: Path) -> Answer:
    """What the source makes of data that Prometheus gives for a query."""
    async with fake_prometheus() as fake:
        fake.series, fake.answers = SERIES, {query: data}
        async with asking(fake, folder) as source:
            reading = await source.read(question)  # type: ignore[arg-type]  # questions of several types
            assert fake.queries == [query]
            return reading


async def test_pods(tmp_path: Path) -> None:
    reading = await answered(of_pods("rps"), PODS, [sample("1.23456", pod="web-0"), sample("7", pod="web-9")], tmp_path)
    assert isinstance(reading, PodsReading)
    assert {pod: one.value_milli for pod, one in reading.samples.items()} == {"web-0": 1234}
    assert reading.samples["web-0"].timestamp_ns == round(AT_S * 1000) * 10**6
    assert reading.undated == ("web-0",), "nobody has asked how old it is"


async def test_only_pods_that_run_use_anything(tmp_path: Path) -> None:
    async with fake_prometheus() as fake, asking(fake, tmp_path, rules=USAGE_RULES) as source:
        mail = ResourceQuestion("default", selectors.parse("app=mail"))
        assert await source.read(mail) == ReadFailure("no running pod matches the selector")
        assert fake.queries == []
        assert isinstance(await source.read(ResourceQuestion("default", selectors.parse("app=web"))), ResourceReading)
        assert len(fake.queries) == 2


def test_series_are_listed_once_and_in_order() -> None:
    series = [{"__name__": "b", "x": "1"}, {"__name__": "a", "y": "1"}, {"__name__": "b", "x": "2"}, {"__name__": "a"}]
    families = decode_families(200, msgspec.json.encode({"status": "success", "data": series}))
    assert families == (Family("a", frozenset()), Family("a", frozenset("y")), Family("b", frozenset("x")))


async def test_of_two_series_with_one_name_the_later_one_counts(tmp_path: Path) -> None:
    rule = """\
rules:
- seriesQuery: '{namespace!=""}'
  resources: {template: <<.Resource>>}
  name: {matches: "_rps$", as: rps}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)
"""
    labels = {"namespace": "default", "deployment": "web", "node": "a"}
    async with fake_prometheus() as fake:
        fake.series = [{"__name__": f"{name}_rps", **labels} for name in "bca"]
        async with asking(fake, tmp_path, rules=rule) as source:
            await source.read(of_deployment("rps"))
            assert fake.queries == ['sum(c_rps{namespace="default",deployment="web"}) by (deployment)']
            node = ObjectQuestion("default", MetricIdentifier("rps"), Reference("Node", "a", "v1"))
            assert isinstance(await source.read(node), Unknown), "as the adapter has it, who asks with a namespace"


async def test_an_object(tmp_path: Path) -> None:
    reading = await answered(of_deployment("rps"), DEPLOYMENT, [sample("-0.0019", deployment="web")], tmp_path)
    assert reading == ObjectReading(-1)


async def test_what_is_beyond_all_numbers_is_the_largest_of_its_sign(tmp_path: Path) -> None:
    data = [sample("1e308", queue="a"), sample("-1e308", queue="b"), sample("-1e30", queue="c")]
    reading = await answered(external("depth"), QUEUE, data, tmp_path)
    assert isinstance(reading, ExternalReading)
    assert reading.values_milli == (INT64_MAX, INT64_MIN, INT64_MIN)


async def test_as_many_series_as_are_taken_are_taken(tmp_path: Path) -> None:
    data = [sample("1", n=str(number)) for number in range(SERIES_MAX)]
    reading = await answered(external("depth"), QUEUE, data, tmp_path)
    assert isinstance(reading, ExternalReading)
    assert len(reading.values_milli) == SERIES_MAX


async def test_external_series_and_scalars(tmp_path: Path) -> None:
    data = [sample("1e30", queue="a"), sample("2.5", queue="b")]
    reading = await answered(external("depth"), QUEUE, data, tmp_path)
    assert isinstance(reading, ExternalReading)
    assert reading.values_milli == (INT64_MAX, 2500)
    scalar = {"resultType": "scalar", "result": [AT_S, "4"]}
    assert await answered(external("depth"), QUEUE, scalar, tmp_path) == ExternalReading((4000,))


async def test_a_scalar_is_nobodys_value(tmp_path: Path) -> None:
    scalar = {"resultType": "scalar", "result": [AT_S, "4"]}
    told = ReadFailure("the rule in line 2: the query gives a scalar where a vector is needed")
    assert await answered(of_pods("rps"), PODS, scalar, tmp_path) == told
    assert await answered(of_deployment("rps"), DEPLOYMENT, scalar, tmp_path) == told
    async with fake_prometheus() as fake, asking(fake, tmp_path, rules=USAGE_RULES) as source:
        fake.answers = {'cpu{namespace="default",pod=~"web-0|web-1"}': scalar}
        assert await source.read(ResourceQuestion("default", selectors.parse("app=web"))) == told


async def test_selectors_of_metrics_become_matchers(tmp_path: Path) -> None:
    selector = LabelSelector(
        (("code", "20"),),
        (
            LabelSelectorRequirement("a", "In", ("y", "x")),
            LabelSelectorRequirement("b", "NotIn", ("z",)),
            LabelSelectorRequirement("c", "Exists"),
            LabelSelectorRequirement("d", "DoesNotExist"),
        ),
    )
    query = 'sum(queue_depth{a=~"x|y",b!~"z",c!="",code="20",d="",namespace="default"})'
    assert isinstance(await answered(external("depth", selector), query, [], tmp_path), ExternalReading)


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf"])
async def test_what_is_no_number_is_never_zero(tmp_path: Path, value: str) -> None:
    queue = await answered(external("depth"), QUEUE, [sample("1"), sample(value, queue="b")], tmp_path)
    assert isinstance(queue, ReadFailure)
    deployment = await answered(of_deployment("rps"), DEPLOYMENT, [sample(value, deployment="web")], tmp_path)
    assert isinstance(deployment, ReadFailure)
    all_pods = await answered(of_pods("rps"), PODS, [sample(value, pod="web-0")], tmp_path)
    assert isinstance(all_pods, ReadFailure)
    data = [sample(value, pod="web-0"), sample("3", pod="web-1")]
    one_pod = await answered(of_pods("rps"), PODS, data, tmp_path)
    assert isinstance(one_pod, PodsReading)
    assert set(one_pod.samples) == {"web-1"}, "the other pod has no metric"


async def test_nothing_at_the_moment_is_not_unknown(tmp_path: Path) -> None:
    assert await answered(external("depth"), QUEUE, [], tmp_path) == ExternalReading((), None)
    assert await answered(of_pods("rps"), PODS, [], tmp_path) == PodsReading({})
    assert isinstance(await answered(of_deployment("rps"), DEPLOYMENT, [], tmp_path), ReadFailure)


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ({"resultType": "matrix", "result": []}, "gives a matrix"),
        ({"resultType": "string", "result": [1, "a"]}, "gives a string"),
        (
            [{"metric": {}, "histogram": [1, {"count": "2", "sum": "0.5", "buckets": [[0, "0.1", "0.5", "2"]]}]}],
            "the rule in line 7: the query gives a histogram where a number is needed; use histogram_quantile, ",
        ),
        ([{"metric": {}}], "cannot be understood: a series has no value"),
        ({"resultType": "vector", "result": [{"metric": {}, "value": [1]}]}, "cannot be understood"),
        ({"resultType": "vector", "result": [{"metric": {}, "value": [1, "abc"]}]}, "cannot be understood"),
        ([sample("1", n=str(n)) for n in range(SERIES_MAX + 1)], f"gives {SERIES_MAX + 1} series"),
        (answer(b"<html>Log in</html>"), "no answer of Prometheus, beginning with '<html>"),
        (answer(b"", "Location: http://sso/", status="302 Found"), "redirection to http://sso/, which is not followed"),
        (answer(b"no", status="401 Unauthorized"), "HTTP status 401: no"),
        (
            answer(b'{"status":"error","errorType":"bad_data","error":"parse error"}', status="400 Bad Request"),
            "refused the query (bad_data): parse error",
        ),
        (
            answer(b'{"status":"success","warnings":["store-1 is away"],"data":{"resultType":"vector","result":[]}}'),
            "may be incomplete: store-1 is away",
        ),
        (
            answer(b'{"status":"success","isPartial":true,"data":{"resultType":"vector","result":[]}}'),
            "may be incomplete: some of the storage nodes",
        ),
    ],
)
async def test_bad_answers_fail_the_metric_and_say_why(tmp_path: Path, data: object, part: str) -> None:
    reading = await answered(external("depth"), QUEUE, data, tmp_path)
    assert isinstance(reading, ReadFailure)
    assert part in reading.message


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (
            "503 Service Unavailable",
            b"Service Unavailable\n",
            "{place} answered with HTTP status 503: Service Unavailable",
        ),
        ("404 Not Found", b"404 page not found\n", "{place} answered with HTTP status 404: 404 page not found"),
        ("401 Unauthorized", b'{"status":"error"}', '{place} answered with HTTP status 401: {{"status":"error"}}'),
        ("403 Forbidden", b'{"status":"Failure"}', '{place} answered with HTTP status 403: {{"status":"Failure"}}'),
        ("503 Busy", b'{"status":"success"}', '{place} answered with HTTP status 503: {{"status":"success"}}'),
        (
            "500 Internal Server Error",
            b'{"status":"error","errorType":"internal","error":"no space"}',
            "Prometheus has no answer (internal): no space",
        ),
        (
            "400 Bad Request",
            b"this is an HTTPS server",
            (
                "HTTP status 400 with something that is no answer of Prometheus, beginning with "
                "'this is an HTTPS server'; check --prometheus-url"
            ),
        ),
    ],
)
async def test_what_a_server_says_that_does_not_answer(tmp_path: Path, status: str, body: bytes, said: str) -> None:
    """Only where another server seems to be asked the address is to be checked."""
    async with fake_prometheus() as fake:
        fake.series, fake.answers = SERIES, {QUEUE: answer(body, status=status)}
        async with asking(fake, tmp_path) as source:
            place = f"Prometheus at {fake.url}"
            assert await source.read(external("depth")) == ReadFailure(said.format(place=place))


@pytest.mark.parametrize(
    ("status", "error_type", "said"),
    [
        ("400 Bad Request", "bad_data", "the rule in line 7: Prometheus refused the query (bad_data): because"),
        ("422 No", "execution", "the rule in line 7: Prometheus refused the query (execution): because"),
        ("422 No", "422", "the rule in line 7: Prometheus refused the query (422): because"),
        ("503 Busy", "timeout", "Prometheus has no answer (timeout): because"),
        ("503 Busy", "canceled", "Prometheus has no answer (canceled): because"),
        ("503 Busy", "503", "Prometheus has no answer (503): because"),
    ],
)
async def test_a_rule_is_to_blame_only_for_what_lies_in_its_query(
    tmp_path: Path, status: str, error_type: str, said: str
) -> None:
    """VictoriaMetrics names errors by their HTTP status."""
    body = msgspec.json.encode({"status": "error", "errorType": error_type, "error": "because"})
    assert await answered(external("depth"), QUEUE, answer(body, status=status), tmp_path) == ReadFailure(said)


async def test_a_remark_about_the_query_is_no_warning(tmp_path: Path) -> None:
    """Prometheus 2.48 to 2.53 and Thanos have both in one list."""
    remark = 'PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "depth"'
    data = {"resultType": "vector", "result": [sample("2")]}

    def said(*warnings: str) -> bytes:
        return answer(msgspec.json.encode({"status": "success", "data": data, "warnings": warnings}))

    assert await answered(external("depth"), QUEUE, said(remark), tmp_path) == ExternalReading((2000,))
    reading = await answered(external("depth"), QUEUE, said(remark, "store-1 is away"), tmp_path)
    assert isinstance(reading, ReadFailure)
    assert reading.message.endswith("may be incomplete: store-1 is away")


@pytest.mark.parametrize(
    ("described", "part"),
    [
        (Reference("Deployment", 'web"} or secret{namespace="victim', "apps/v1"), "cannot be the name of an object"),
        (Reference("Deployment", "web` or secret", "apps/v1"), "cannot be the name of an object"),
        (Reference("Deployment", "web", "a/b/c"), "unexpected GroupVersion"),
    ],
)
async def test_what_cannot_be_an_object_gets_into_no_query(tmp_path: Path, described: Reference, part: str) -> None:
    """Rules may put names where they like, and whoever writes an HPA may name anything."""
    question = msgspec.structs.replace(of_deployment("rps"), described=described)
    async with fake_prometheus() as fake, asking(fake, tmp_path) as source:
        fake.series = SERIES
        reading = await source.read(question)
        assert isinstance(reading, ReadFailure)
        assert part in reading.message
        assert fake.queries == []


async def test_two_series_where_one_is_needed(tmp_path: Path) -> None:
    twice = [sample("1", pod="web-0"), sample("2", pod="web-0")]
    reading = await answered(of_pods("rps"), PODS, twice, tmp_path)
    assert isinstance(reading, ReadFailure)
    assert "line 2 gives two series or more for pods web-0" in reading.message


async def test_a_rule_that_leaves_out_whose_the_values_are(tmp_path: Path) -> None:
    for question, query, label in ((of_pods("rps"), PODS, "pod"), (of_deployment("rps"), DEPLOYMENT, "deployment")):
        reading = await answered(question, query, [sample("5")], tmp_path)
        assert isinstance(reading, ReadFailure)
        assert f"line 2 gives a series without the label {label}; let its query aggregate" in reading.message
    assert await answered(of_pods("rps"), PODS, [sample("5", pod="web-9")], tmp_path) == PodsReading({}), "another's"


async def test_what_only_the_rule_can_cure_names_its_line(tmp_path: Path) -> None:
    rules = """\
rules:
- seriesQuery: http_rps
  resources: {overrides: {pod: {resource: pod}, deployment: {group: apps, resource: deployment}}}
  metricsQuery: sum(<<.Series>>{<<.LabelMatchers>>})
externalRules:
- seriesQuery: queue_depth
  resources: {template: <<.Resource>>}
  metricsQuery: <<range .Series>>1<<end>>
"""
    no_label = "the rule in line 2: no override of the rule is for namespaces, and it has no template"
    not_filled = "the rule in line 6: the rule's query cannot be filled in: range cannot go over 'queue_depth'"
    async with fake_prometheus() as fake, asking(fake, tmp_path, rules=rules) as source:
        fake.series = SERIES
        assert await source.read(of_pods("http_rps")) == ReadFailure(no_label)
        assert await source.read(of_deployment("http_rps")) == ReadFailure(no_label)
        assert await source.read(external("queue_depth")) == ReadFailure(not_filled)
        assert fake.queries == []


async def test_what_no_rule_gives_is_unknown(tmp_path: Path) -> None:
    async with fake_prometheus() as fake:
        fake.series = SERIES
        async with asking(fake, tmp_path) as source:
            for question in (of_pods("other"), of_deployment("depth"), external("rps")):
                assert isinstance(await source.read(question), Unknown)
            assert fake.queries == []


async def test_while_series_could_never_be_listed_nothing_is_unknown(tmp_path: Path) -> None:
    async with fake_prometheus() as fake:
        fake.series, fake.instead = SERIES, answer(b"starting", status="503 Service Unavailable")
        async with asking(fake, tmp_path) as source:
            reading = await source.read(of_pods("other"))
            assert isinstance(reading, ReadFailure)
            assert "cannot be said" in reading.message


async def test_a_listing_that_hangs_delays_nobody_who_has_what_he_needs(tmp_path: Path) -> None:
    """Of two rules the second one's series cannot be listed, again and again."""
    hangs = asyncio.Event()

    async def hang(_: Received, __: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(10):
            await hangs.wait()

    async with fake_prometheus() as fake:
        fake.series, fake.answers = SERIES, {QUEUE: [sample("3")]}
        fake.listings = {"slow": answer(b"", status="502 Bad Gateway")}
        settings = ServerSettings(fake.url, timeout_s=5.0)
        rules = RULES + SLOW_RULE
        async with asking(fake, tmp_path, rules=rules, server=settings, relist_s=0.01) as source:
            assert isinstance(await source.read(external("depth")), ExternalReading)
            fake.listings = {"slow": hang}
            await asyncio.sleep(0.05)
            async with asyncio.timeout(4):
                for _ in range(3):
                    assert isinstance(await source.read(external("depth")), ExternalReading)
                    unknown = await source.read(external("other"))
                    assert isinstance(unknown, ReadFailure)
                    assert "cannot be said" in unknown.message
            assert fake.listed("slow") == 2, "one hangs"
            hangs.set()


async def test_a_server_that_goes_away_leaves_what_is_known(tmp_path: Path) -> None:
    async with fake_prometheus() as fake:
        fake.series, fake.answers = SERIES, {QUEUE: [sample("3")]}
        async with asking(fake, tmp_path, relist_s=0.01) as source:
            assert isinstance(await source.read(external("depth")), ExternalReading)
            fake.instead = answer(b"", status="502 Bad Gateway")
            for _ in range(3):
                await asyncio.sleep(0.05)
                assert isinstance(await source.read(external("depth")), ReadFailure)
                assert isinstance(await source.read(external("other")), Unknown)
            fake.instead = None
            assert isinstance(await source.read(external("depth")), ExternalReading)


async def test_a_server_that_says_nothing_fails_in_time(tmp_path: Path) -> None:
    async with fake_prometheus() as fake:
        fake.series, fake.answers = SERIES, {QUEUE: b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"}
        settings = ServerSettings(fake.url, timeout_s=0.3)
        async with asking(fake, tmp_path, server=settings) as source:
            reading = await source.read(external("depth"))
            assert isinstance(reading, ReadFailure)
            assert "did not answer within 0.3 s" in reading.message


async def test_a_question_of_many_is_asked_once(tmp_path: Path) -> None:
    async with fake_prometheus() as fake:
        fake.series, fake.answers = SERIES, {QUEUE: [sample("3")]}
        async with asking(fake, tmp_path) as source:
            await source.read(of_pods("other"))  # from here on the series are listed
            readings = await asyncio.gather(*(source.read(external("depth")) for _ in range(20)))
            assert len(set(map(repr, readings))) == 1
            assert fake.queries == [QUEUE]


async def test_secrets_come_from_files_and_are_read_anew(tmp_path: Path) -> None:
    token, tenant = tmp_path / "token", tmp_path / "tenant"
    token.write_text("one\n")
    tenant.write_text("team-a")
    async with fake_prometheus() as fake:
        fake.series = SERIES
        settings = ServerSettings(
            fake.url + "/prefix/",
            token_file=str(token),
            headers=(("X-Plain", "yes"),),
            header_files=(("X-Scope-OrgID", str(tenant)),),
        )
        async with asking(fake, tmp_path, server=settings) as source:
            await source.read(external("depth"))
            token.write_text("two")
            await source.read(external("depth"))
            last = fake.requests()[-1]
            assert last.target.startswith("/prefix/api/v1/query?")
            assert [last.header(name) for name in ("authorization", "x-plain", "x-scope-orgid")] == [
                "Bearer two",
                "yes",
                "team-a",
            ]
            assert fake.requests()[0].header("authorization") == "Bearer one"
            token.unlink()
            reading = await source.read(external("depth"))
            assert isinstance(reading, ReadFailure)
            assert str(token) in reading.message


async def test_basic_authentication_and_long_queries(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("päss")
    long_rules = (
        "externalRules:\n- seriesQuery: queue_depth\n  resources: {namespaced: false}\n"
        f'  metricsQuery: sum(<<.Series>>{{a!="{"x" * 4000}",<<.LabelMatchers>>}})\n'
    )
    async with fake_prometheus() as fake:
        fake.series = SERIES
        settings = ServerSettings(fake.url, username="hpa", password_file=str(secret))
        async with asking(fake, tmp_path, server=settings, rules=long_rules) as source:
            assert await source.read(external("queue_depth")) == ExternalReading((), None)
            last = fake.requests()[-1]
            assert last.method == "POST", "a long query does not fit into a line"
            sent = last.header("authorization")
            assert sent == f"Basic {base64.b64encode('hpa:päss'.encode()).decode()}"


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        (ServerSettings("prometheus:9090"), "--prometheus-url"),
        (ServerSettings("http://"), "--prometheus-url"),
        (ServerSettings("http://prometheus:0"), "--prometheus-url"),
        (ServerSettings("http://prometheus:70000"), "--prometheus-url"),
        (ServerSettings("http://[::1"), "--prometheus-url"),
        (ServerSettings("http://prometheus..monitoring.svc:9090"), "--prometheus-url"),
        (ServerSettings("http://" + 64 * "a" + ".svc"), "--prometheus-url"),
        (ServerSettings("http://user:secret@prometheus"), "no user or password"),
        (ServerSettings("http://user@prometheus"), "no user or password"),
        (ServerSettings("http://:secret@prometheus"), "no user or password"),
        (ServerSettings("http://prometheus/?a=b"), "must end with its path"),
        (ServerSettings("http://prometheus/#a"), "must end with its path"),
        (ServerSettings("http://p", username="a"), "belong together"),
        (ServerSettings("http://p", password_file="a"), "belong together"),  # noqa: S106
        (ServerSettings("http://p", username="a", password_file="b", token_file="c"), "exclude each other"),  # noqa: S106
        (ServerSettings("http://p", certificate_file="a"), "tls-key-file belong together"),
        (ServerSettings("http://p", key_file="a"), "tls-key-file belong together"),
        (ServerSettings("http://p", headers=(("a b", "c"),)), "^--prometheus-header: 'a b' is no name of a header"),
        (ServerSettings("http://p", header_files=(("", "c"),)), "^--prometheus-header-file: '' is no name of"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_flag(settings: ServerSettings, part: str) -> None:
    with pytest.raises(ValueError, match=part) as caught:
        check_settings(settings)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        ServerSettings("http://prometheus:9090"),
        ServerSettings("http://" + 63 * "a" + ".svc.cluster.local.:9090"),
        ServerSettings("https://[::1]:9090/a/path", ca_file="a", certificate_file="b", key_file="c"),
        ServerSettings("http://p", username="a", password_file="b", headers=(("X-Scope-OrgID", "c"),)),  # noqa: S106
        ServerSettings("http://p", token_file="a", header_files=(("X-Scope-OrgID", "c"),)),  # noqa: S106
    ],
)
def test_settings_that_can_work(settings: ServerSettings) -> None:
    check_settings(settings)
