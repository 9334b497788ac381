"""`shadow` shows agreement in all and per HPA, and each difference with both sides' reasons."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from controller.cli.main import main
from controller.cli.shadow import lines
from controller.company import Company, ForeignWrite
from controller.decide.quantity import parse
from controller.decide.selectors import LabelSelector
from controller.decide.spec import MetricIdentifier, Reference, Settings
from controller.decide.status import MetricStatus, Status
from controller.explain.compared import PATH, Compared, Comparison, Difference, Differences
from controller.judgement import Field, Judgement, Kind, differing
from controller.modes import Modes, Orders
from controller.shadow import Difference as Found
from controller.shadow import Shadow
from controller.telemetry.comparisons import shadow_route
from controller.telemetry.server import Listener
from tests.spine.stage import Stage
from tests.spine.world import LoopClock

SECOND_NS = 1_000_000_000


def difference(hpa: str, kind: Kind = "logic") -> Difference:
    fields = (Field("desiredReplicas", "3", "2"),)
    return Difference(hpa, "kcm", "2026-01-01T00:00:00.000Z", "it saw what we saw", kind, fields, "their words", "ours")


def page(**hpas: tuple[int, int, int]) -> Comparison:
    compared = [
        Compared(sum(counts), Differences(counts[1], counts[2]), name.replace("_", "/"))
        for name, counts in hpas.items()
    ]
    total = Differences(sum(one.differences.input for one in compared), sum(one.differences.logic for one in compared))
    latest = [difference(one.hpa) for one in compared if one.differences.logic]
    return Comparison(sum(one.comparisons for one in compared), total, tuple(compared), {}, tuple(latest))


def test_those_that_differ_come_first() -> None:
    shown = list(lines(page(shop_a=(5, 0, 0), shop_b=(3, 1, 0), shop_c=(1, 0, 1)), "", 5, 100))
    assert shown[0] == "9 of 11 decisions agree (81.8 %)"
    assert [line.split()[0] for line in shown[2:6]] == ["NAMESPACE/NAME", "shop/c", "shop/b", "shop/a"]
    assert shown[3].split()[1:] == ["1", "0", "1"]


def test_only_all_are_all() -> None:
    assert next(iter(lines(page(shop_a=(2999, 0, 1)), "", 5, 100))) == "2999 of 3000 decisions agree (99.9 %)"
    assert next(iter(lines(page(shop_a=(3000, 0, 0)), "", 5, 100))) == "3000 of 3000 decisions agree (100.0 %)"


@pytest.mark.parametrize("arguments", [("/web",), ("a/b/c",), ("--last", "-3"), ("--last", "x")])
def test_what_cannot_be_meant_is_refused(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["shadow", *arguments])
    assert ended.value.code == 2
    assert "is not" in capsys.readouterr().err


def test_a_difference_has_both_sides() -> None:
    shown = "\n".join(lines(page(shop_c=(1, 0, 1)), "", 5, 100))
    for part in (
        "shop/c: kcm decided otherwise, logic: it saw what we saw",
        "desiredReplicas",
        "theirs  3",
        "ours    2",
    ):
        assert part in shown
    assert "theirs  their words" in shown


def metrics_shown(theirs: list[MetricStatus], ours: list[MetricStatus]) -> list[str]:
    """What is shown of two statuses that differ in their metrics alone, as the controller tells of them."""
    [field] = differing(Status(2, 2, metrics=tuple(theirs)), Status(2, 2, metrics=tuple(ours)))
    return metrics_lines(field)


def metrics_lines(field: Field) -> list[str]:
    found = page(shop_c=(1, 0, 1))
    found = replace(found, latest=(replace(found.latest[0], fields=(field,)),))
    shown = list(lines(found, "", 5, 400))
    at = shown.index("    currentMetrics")
    return [line.strip() for line in shown[at + 1 : at + 3]]


CPU = MetricStatus("Resource", resource="cpu", average_utilization=74, average_value=parse("185m"))
HTTP = MetricStatus("Pods", metric=MetricIdentifier("http_requests_per_second"), average_value=parse("12500m"))
WORDED: dict[str, tuple[list[MetricStatus], str]] = {
    "resource": ([CPU], "CPU 74 % (185m)"),
    "amount": ([MetricStatus("Resource", resource="memory", average_value=parse("1Gi"))], "memory 1Gi on average"),
    "container": (
        [MetricStatus("ContainerResource", resource="cpu", container="app", average_utilization=5)],
        "CPU of container app 5 %",
    ),
    "pods": ([HTTP], "http_requests_per_second per pod 12500m"),
    "object": (
        [
            MetricStatus(
                "Object",
                metric=MetricIdentifier("hits"),
                described=Reference("Ingress", "front", "networking.k8s.io/v1"),
                value=parse("3"),
            )
        ],
        "hits of Ingress front 3",
    ),
    "external": (
        [MetricStatus("External", metric=MetricIdentifier("backlog"), average_value=parse("10"))],
        "external backlog 10 on average",
    ),
    "several, one of which failed": ([CPU, MetricStatus()], "CPU 74 % (185m), a metric that failed"),
    "another kind": ([MetricStatus("Moon")], "metric of unknown type 'Moon'"),
}


@pytest.mark.parametrize(("metrics", "said"), WORDED.values(), ids=WORDED)
def test_metrics_are_in_words(metrics: list[MetricStatus], said: str) -> None:
    assert metrics_shown(metrics, []) == [f"theirs  {said}", "ours    no metrics"]


def test_metrics_that_words_do_not_tell_apart_are_as_they_are() -> None:
    selected = replace(HTTP, metric=MetricIdentifier("http_requests_per_second", LabelSelector((("verb", "GET"),))))
    theirs, ours = metrics_shown([selected], [HTTP])
    assert '"selector":{"matchLabels":{"verb":"GET"}}' in theirs
    assert '"metric":{"name":"http_requests_per_second"}' in ours


@pytest.mark.parametrize("text", ["[{]", "5", '[{"type":"Pods","metric":"x"}]', '[{"type":5}]'])
def test_metrics_of_another_version_are_as_they_are(text: str) -> None:
    assert metrics_lines(Field("currentMetrics", text, "[5]"))[1] == "ours    [5]"


def test_what_the_other_controller_quotes_gives_the_terminal_no_orders() -> None:
    """Its conditions have the texts of metrics adapters in them."""
    found = page(shop_c=(1, 0, 1))
    loud = replace(found.latest[0], because="\x1b[2J", theirs="\x1b]0;title\x07", writer="a\x1b[1m")
    found = replace(found, latest=(loud,), left_to_others={"shop/web": "b\x1b[1m"})
    told = "\n".join(lines(found, "", 5, 80))
    assert "\x1b" not in told
    assert "\\x1b[2J" in told


def test_those_left_to_others_are_in_the_order_of_their_names() -> None:
    found = replace(page(), left_to_others={"shop/b": "kcm", "shop/a": "kcm"})
    assert [line.split()[0] for line in list(lines(found, "", 5, 100))[:2]] == ["shop/a", "shop/b"]


def test_one_hpa_can_be_asked_for_and_few_differences() -> None:
    found = page(shop_a=(5, 0, 2), shop_b=(3, 0, 1))
    shown = list(lines(found, "shop/b", 5, 100))
    assert shown[0] == "3 of 4 decisions agree (75.0 %)"
    assert not any("shop/a" in line for line in shown)
    assert not any("decided otherwise" in line for line in lines(found, "", 0, 100))


def test_a_namespace_can_be_asked_for() -> None:
    found = replace(page(shop_a=(5, 0, 2), shops_b=(3, 0, 1)), left_to_others={"shop/c": "kcm", "shops/d": "kcm"})
    shown = "\n".join(lines(found, "shop/", 5, 100))
    assert "5 of 7 decisions agree" in shown
    assert "shop/c is left to kcm" in shown
    assert "shops" not in shown


def test_nothing_seen_is_said() -> None:
    assert list(lines(page(), "", 5, 100)) == ["no decision of another controller has been seen"]
    assert list(lines(page(), "shop/x", 5, 100)) == ["no decision of another controller has been seen about shop/x"]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_lines_fit(width: int) -> None:
    long = page(shop_c=(1, 0, 1))
    long = replace(long, latest=(replace(long.latest[0], ours="word " * 100),))
    assert max(map(len, lines(long, "", 5, width))) <= width


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """The page of a shadow that has found a difference."""
    shadow = Shadow(Settings(), period_s=15.0)
    shadow.counts["logic"] += 1
    shadow.by_key["shop/web"] = shadow.counts
    judgement = Judgement("logic", "it saw what we saw", (Field("desiredReplicas", "3", "2"),))
    shadow.latest.append(Found("shop/web", "kcm", 5 * SECOND_NS, judgement, "theirs", "ours"))
    company = Company(LoopClock(), Stage().sink, Orders(Modes()), Stage().election, shadow=True, silence_ns=0)
    listener = Listener("127.0.0.1:0", {PATH: shadow_route(shadow, company)})
    await listener.start()
    yield listener.port
    await listener.stop()


async def test_the_page_of_a_controller_can_be_read(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["shadow", "--introspection-address", f"127.0.0.1:{port}"]
    assert await asyncio.to_thread(main, arguments) == 0
    shown = capsys.readouterr().out
    assert "0 of 1 decisions agree (0.0 %)" in shown
    assert "1970-01-01T00:00:05.000Z  shop/web: kcm decided otherwise" in shown
    assert await asyncio.to_thread(main, [*arguments, "--output=json"]) == 0
    assert '"leftToOthers"' in capsys.readouterr().out


async def test_the_page_says_whose_words_are_whose(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert await asyncio.to_thread(main, ["shadow", f"--introspection-address=127.0.0.1:{port}", "--output=json"]) == 0
    [told] = msgspec.json.decode(capsys.readouterr().out, type=Comparison).latest
    assert (told.writer, told.because, told.theirs, told.ours) == ("kcm", "it saw what we saw", "theirs", "ours")
    assert told.fields == (Field("desiredReplicas", "3", "2"),)


async def test_the_page_has_hpas_in_the_order_of_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    shadow = Shadow(Settings(), period_s=15.0)
    company = Company(LoopClock(), Stage().sink, Orders(Modes()), Stage().election, shadow=True, silence_ns=0)
    for key in ("shop/web", "mail/web", "shop/api"):
        shadow.by_key[key] = Counter[Kind](("logic",))
    listener = Listener("127.0.0.1:0", {PATH: shadow_route(shadow, company)})
    await listener.start()
    try:
        address = f"--introspection-address=127.0.0.1:{listener.port}"
        assert await asyncio.to_thread(main, ["shadow", "--output=json", address]) == 0
    finally:
        await listener.stop()
    shown = msgspec.json.decode(capsys.readouterr().out.splitlines()[-1], type=Comparison)
    assert [one.hpa for one in shown.hpas] == ["mail/web", "shop/api", "shop/web"]


async def test_json_is_about_the_hpa_that_was_named(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    address = f"--introspection-address=127.0.0.1:{port}"
    found = []
    for words in (["shop/web"], ["web", "-n", "shop"], ["-n", "shop"], ["-n", "sho"], ["shop/other"], ["--last=0"]):
        assert await asyncio.to_thread(main, ["shadow", *words, "--output=json", address]) == 0
        shown = msgspec.json.decode(capsys.readouterr().out, type=Comparison)
        found.append((shown.comparisons, shown.differences.logic, len(shown.hpas), len(shown.latest)))
    this, none = (1, 1, 1, 1), (0, 0, 0, 0)
    assert found == [this, this, this, none, none, (1, 1, 1, 0)]


def test_a_namespace_is_given_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shadow", "shop/web", "-n", "shop"]) == 2
    assert "shop/web names a namespace itself" in capsys.readouterr().err


def test_no_controller_is_said_in_a_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["shadow", "--introspection-address=127.0.0.1:9"]) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert main(["shadow", "--kubeconfig", str(tmp_path / "none")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_foreign_writes_tell_their_rescale() -> None:
    """Only a new time of scaling makes a change of replicas a rescale."""
    before, after = Status(2, 2, 1), Status(2, 5, 2)
    assert ForeignWrite("kcm", before, after, 0).change == 3
    assert ForeignWrite("kcm", before, Status(2, 5, 1), 0).change == 0
