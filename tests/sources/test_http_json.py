import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.decide.observed import ExternalReading, ObjectReading, ReadFailure
from controller.decide.selectors import LabelSelector
from controller.kube.kubeconfig_files import ConfigurationError
from controller.ports import Question
from controller.sources.answering import Answer, Unknown
from controller.sources.http_json import VALUES_MAX, HttpJsonMetrics
from tests.adapters.raw_server import RawServer, answer, serving
from tests.lab.certificates import make_certificate
from tests.sources.asking import external, of_deployment, of_pods
from tests.sources.tls import serving_tls


async def asked(
    said: bytes, question: Question, path: str = "$.value", url: str = "/{namespace}/{metric}", **more: str
) -> tuple[Answer, RawServer]:
    async with serving(said) as server:
        options = {"url": server.url + url, "value": path, **{key.replace("_", "-"): more[key] for key in more}}
        source = HttpJsonMetrics(options, asyncio.get_running_loop().time, 0.0)
        try:
            return await source.read(question), server
        finally:
            await source.close()


@pytest.mark.parametrize(
    ("body", "path", "expected"),
    [
        (b'{"value": 3}', "$.value", (3000,)),
        (b'{"value": 0.0011}', "$.value", (2,)),
        (b'{"value": "1500m"}', "$.value", (1500,)),
        (b'{"value": -2e1}', "$.value", (-20000,)),
        (b'{"value": 2.964393875E-314}', "$.value", (1,)),
        (b'{"value": 0e-400}', "$.value", (0,)),
        (b'{"q": [{"n": 1}, {"n": 2.5}]}', "$.q[*].n", (1000, 2500)),
        (b'{"q": [{"n": 1, "k": "a"}, {"n": 2, "k": "b"}]}', "$.q[?@.k == 'b'].n", (2000,)),
        (b"{}", "$.value", ()),
    ],
)
async def test_external_metrics(body: bytes, path: str, expected: tuple[int, ...]) -> None:
    found, server = await asked(answer(body), external("a/b c"), path)
    assert found == ExternalReading(expected)
    assert server.requests[0].target == "/default/a%2Fb%20c"


async def test_objects_have_exactly_one_value() -> None:
    url = "/{kind}/{name}?m={metric}"
    found, server = await asked(answer(b'{"value": 3}'), of_deployment("rps"), url=url)
    assert found == ObjectReading(3000)
    assert server.requests[0].target == "/Deployment/web?m=rps"
    for body in (b'{"value": []}', b'{"value": [1, 2]}'):
        found, _ = await asked(answer(body), of_deployment("rps"), "$.value[*]")
        assert isinstance(found, ReadFailure)


@pytest.mark.parametrize(
    ("times", "expected_s"),
    [
        (b"1700000000", 1_700_000_000.0),
        (b"1700000000.25", 1_700_000_000.25),
        (b'"2023-11-14T22:13:20Z"', 1_700_000_000.0),
        (b'"2023-11-14T22:13:20Z", 1600000000', 1_600_000_000.0),
        (b"", None),
    ],
)
async def test_values_are_as_old_as_the_oldest_time_says(times: bytes, expected_s: float | None) -> None:
    body = answer(b'{"value": 3, "at": [' + times + b"]}")
    expected_ns = None if expected_s is None else round(expected_s * 1000) * 10**6
    found, _ = await asked(body, external("depth"), timestamp="$.at[*]")
    assert found == ExternalReading((3000,), expected_ns)
    found, _ = await asked(body, of_deployment("rps"), timestamp="$.at[*]")
    assert found == ObjectReading(3000, expected_ns)


@pytest.mark.parametrize(
    ("queues", "expected_s"),
    [
        (b'{"n": 1, "at": 1700000000}, {"n": 2, "at": 1600000000}, {"n": 3, "at": 1700000000}', 1_600_000_000),
        (b'{"n": 1, "at": 1700000000}, {"n": 2}, {"n": 3, "at": 1700000000}', None),
        (b'{"n": 1, "at": 1700000000}, {"at": 1600000000}', 1_600_000_000),
        (b'{"n": 1}, {"n": 2}', None),
        (b'{"at": 1700000000}', 1_700_000_000),
    ],
)
async def test_where_some_values_only_have_a_time_nobody_knows_how_old_they_are(
    queues: bytes, expected_s: int | None
) -> None:
    body = answer(b'{"q": [' + queues + b"]}")
    found, _ = await asked(body, external("depth"), "$.q[*].n", timestamp="$.q[*].at")
    assert isinstance(found, ExternalReading)
    assert found.timestamp_ns == (None if expected_s is None else expected_s * 10**9)


async def test_one_time_is_that_of_all_values() -> None:
    body = answer(b'{"at": 1700000000, "q": [1, 2, 3]}')
    found, _ = await asked(body, external("depth"), "$.q[*]", timestamp="$.at")
    assert found == ExternalReading((1000, 2000, 3000), 1_700_000_000 * 10**9)


@pytest.mark.parametrize("time", [b'"yesterday"', b"true", b"{}", b"1e30", b"1700000000000"])
async def test_what_is_no_time_fails_the_metric(time: bytes) -> None:
    found, _ = await asked(answer(b'{"value": 3, "at": ' + time + b"}"), external("depth"), timestamp="$.at")
    assert isinstance(found, ReadFailure)
    assert "timestamp" in found.message


async def test_a_selector_is_passed_on_or_the_metric_fails() -> None:
    question = external("depth", LabelSelector((("queue", "orders"),)))
    found, server = await asked(answer(b'{"value": 3}'), question)
    assert isinstance(found, ReadFailure)
    assert server.requests == []
    found, server = await asked(answer(b'{"value": 3}'), question, url="/{metric}?s={selector}")
    assert found == ExternalReading((3000,))
    assert server.requests[0].target == "/depth?s=queue%3Dorders"


async def test_a_token_comes_from_a_file(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one\n")
    _, server = await asked(answer(b'{"value": 3}'), external("depth"), token_file=str(token))
    assert server.requests[0].header("authorization") == "Bearer one"
    found, _ = await asked(answer(b'{"value": 3}'), external("depth"), token_file=str(tmp_path / "none"))
    assert isinstance(found, ReadFailure)


@pytest.mark.parametrize(
    ("said", "part"),
    [
        (answer(b"<html>"), "is no JSON"),
        (answer(b'{"value": true}'), "finds a boolean where a number is needed"),
        (answer(b'{"value": null}'), "finds null where"),
        (answer(b'{"value": []}'), "finds an array where"),
        (answer(b'{"value": {}}'), "finds an object where"),
        (answer(b'{"value": "soon"}'), "no number"),
        (answer(b'{"value": 1e999}'), "a number of 1000 digits is out of bounds"),
        (answer(b'{"value": %b.0}' % (b"9" * 900_000)), "a number of 900000 digits is out of bounds"),
        (answer(b'{"value": 1e9999999999999999999999}'), "is no JSON"),
        (answer(b"[" * 5000), "is no JSON"),
        (answer(b'"' + b"x" * 1_100_000 + b'"'), "is larger than"),
        (answer(b"", status="500 Internal Server Error"), "HTTP status 500"),
        (answer(b"", "Location: /", status="302 Found"), "HTTP status 302"),
    ],
)
async def test_bad_answers_fail_the_metric(said: bytes, part: str) -> None:
    found, _ = await asked(said, external("depth"))
    assert isinstance(found, ReadFailure)
    assert part in found.message
    assert len(found.message) < 300, "a condition quotes it"


async def test_as_many_values_as_are_taken_are_taken() -> None:
    def values(count: int) -> bytes:
        return answer(b'{"value":[%b]}' % b",".join([b"1"] * count))

    found, _ = await asked(values(VALUES_MAX), external("depth"), "$.value[*]")
    assert found == ExternalReading((1000,) * VALUES_MAX)
    found, _ = await asked(values(VALUES_MAX + 1), external("depth"), "$.value[*]")
    assert found == ReadFailure(f"the JSONPath finds {VALUES_MAX + 1} values, more than {VALUES_MAX}")


async def test_a_document_that_is_too_deep_for_the_path_fails_the_metric_in_one_line() -> None:
    deep = b'{"a":' * 300 + b"1" + b"}" * 300
    found, _ = await asked(answer(deep), external("depth"), path="$..a")
    assert found == ReadFailure("the JSONPath cannot be applied: recursion limit exceeded (at character 2)")


async def test_a_document_is_searched_once_for_all_who_share_it() -> None:
    """Searching a large one takes longer than any iteration of the loop should."""
    entries = b",".join(b'{"n":%d}' % number for number in range(9000))
    async with serving(answer(b'{"q":[%b]}' % entries)) as server:
        options = {"url": f"{server.url}/all", "value": "$.q[*].n"}
        source = HttpJsonMetrics(options, asyncio.get_running_loop().time, 60.0)
        try:
            found = [await source.read(external(metric)) for metric in ("a", "b")]
        finally:
            await source.close()
    assert isinstance(found[0], ExternalReading)
    assert sum(found[0].values_milli) == 1000 * sum(range(9000))
    assert found[0] is found[1]
    assert len(server.requests) == 1


async def test_what_is_unknown() -> None:
    found, _ = await asked(answer(b"", status="404 Not Found"), external("depth"))
    assert isinstance(found, Unknown)
    found, _ = await asked(answer(b"{}"), of_pods("rps"))
    assert isinstance(found, Unknown)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"value": "$"}, r"http-json\.url"),
        ({"url": "http://a/"}, r"http-json\.value"),
        ({"url": "http://a/", "value": "$["}, r"'\$\[' is no JSONPath: unexpected end of query$"),
        ({"url": "http://a/", "value": "$.a.[0]"}, r"expected a shorthand selector \(at character 5\)$"),
        ({"url": "http://a/{pod}", "value": "$"}, "{pod} is not known"),
        ({"url": "http://{metric}/", "value": "$"}, "a fixed host"),
        ({"url": "http://a:b/", "value": "$"}, r"http-json\.url: "),
        ({"url": "http://a..b/", "value": "$"}, r"http-json\.url: 'a\.\.b' cannot be the name of a host"),
        ({"url": "https://" + 64 * "a", "value": "$"}, "cannot be the name of a host"),
        ({"url": "http://a:b@c/", "value": "$"}, "no user or password"),
        ({"url": "file:///a", "value": "$"}, "an address"),
        ({"url": "http://a/", "value": "$", "x": "y"}, r"http-json\.x is not known"),
    ],
)
def test_options_that_cannot_work_are_refused(options: Mapping[str, Any], part: str) -> None:
    with pytest.raises(ConfigurationError, match=part):
        HttpJsonMetrics(options, lambda: 0.0, 0.0)


async def test_a_new_authority_is_used_at_once(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "other").mkdir()
    ours, other = make_certificate(tmp_path / "ours"), make_certificate(tmp_path / "other")
    authority = tmp_path / "ca.crt"
    authority.write_bytes(Path(other.certificate).read_bytes())  # noqa: ASYNC240 - a small file of the test
    async with serving(answer(b'{"value": 3}'), serving_tls(ours)) as server:
        options = {"url": f"{server.url}/{{metric}}", "value": "$.value", "ca-file": str(authority)}
        source = HttpJsonMetrics(options, asyncio.get_running_loop().time, 0.0)
        try:
            refused = await source.read(external("depth"))
            assert isinstance(refused, ReadFailure)
            assert "certificate is not trusted" in refused.message
            authority.write_bytes(Path(ours.certificate).read_bytes())  # noqa: ASYNC240 - the same
            assert await source.read(external("depth")) == ExternalReading((3000,))
            authority.write_text("nothing that is a certificate")
            assert await source.read(external("depth")) == ExternalReading((3000,)), "the last one that could be used"
        finally:
            await source.close()
        source = HttpJsonMetrics(options, asyncio.get_running_loop().time, 0.0)
        unusable = await source.read(external("depth"))
        await source.close()
        assert isinstance(unusable, ReadFailure)
        assert f"the certificates in {authority} cannot be used" in unusable.message
