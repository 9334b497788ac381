"""Answers of the metrics APIs (§18, §25.5)."""

from typing import Any

import msgspec
import pytest

from controller.decide.instants import NANOSECONDS, ZERO_TIME_NS, parse_rfc3339
from controller.decide.observed import ContainerUsage, ExternalReading, PodUsage, Sample
from controller.decide.quantity import INT64_MAX
from controller.wire.errors import WireError
from controller.wire.samples import decode_external_values, decode_metric_values, labels_as_written, placed_in
from controller.wire.shapes import labels_from
from tests.wire.lists import all_pod_metrics, each_pod_metrics

AT = "2026-01-31T12:00:00Z"
AT_NS = parse_rfc3339(AT)
LATER = "2026-01-31T12:00:05Z"
SECOND = NANOSECONDS


def pod_metrics(name: str = "web-0", **fields: object) -> dict[str, object]:
    return {
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "web"}},
        "timestamp": AT,
        "window": "30s",
        "containers": [{"name": "app", "usage": {"cpu": "250m", "memory": "1Mi"}}],
    } | fields


def listed(*items: object) -> bytes:
    return msgspec.json.encode({"kind": "List", "metadata": {}, "items": list(items)})


def usage(name: str, *containers: ContainerUsage, at_ns: int = AT_NS, window_ns: int = 30 * SECOND) -> PodUsage:
    return PodUsage(name, at_ns, window_ns, containers)


APP = ContainerUsage("app", {"cpu": 250, "memory": 1024 * 1024 * 1000})

ITEMS: dict[str, tuple[dict[str, object], PodUsage]] = {
    "plain": (pod_metrics(), usage("web-0", APP)),
    "25.5.1 no containers": (pod_metrics(containers=[]), usage("web-0")),
    "null containers": (pod_metrics(containers=None), usage("web-0")),
    "no usage": (pod_metrics(containers=[{"name": "app"}]), usage("web-0", ContainerUsage("app", {}))),
    "two containers": (
        pod_metrics(containers=[{"name": "a", "usage": {"cpu": "1n"}}, {"name": "b", "usage": {"cpu": 2}}]),
        usage("web-0", ContainerUsage("a", {"cpu": 1}), ContainerUsage("b", {"cpu": 2000})),
    ),
    "white space around a quantity": (
        pod_metrics(containers=[{"name": "app", "usage": {"cpu": " 250m "}}]),
        usage("web-0", ContainerUsage("app", {"cpu": 250})),
    ),
    "null is 0": (
        pod_metrics(containers=[{"usage": {"cpu": None}}]),
        usage("web-0", ContainerUsage("", {"cpu": 0})),
    ),
    "amounts beyond int64": (
        pod_metrics(containers=[{"name": "a", "usage": {"cpu": "1E"}}]),
        usage("web-0", ContainerUsage("a", {"cpu": INT64_MAX})),
    ),
    "a window of minutes": (pod_metrics(window="1m0.5s"), usage("web-0", APP, window_ns=60_500_000_000)),
    "no timestamp": (pod_metrics(timestamp=None), usage("web-0", APP, at_ns=ZERO_TIME_NS)),
}


@pytest.mark.parametrize(("item", "expected"), ITEMS.values(), ids=ITEMS)
def test_pod_metrics(item: dict[str, object], expected: PodUsage) -> None:
    assert all_pod_metrics(listed(item)) == [expected]


def test_of_an_item_only_whose_it_is_is_decoded_at_first() -> None:
    items = [msgspec.Raw(msgspec.json.encode(pod_metrics(name, containers="none"))) for name in "ab"]
    written = labels_as_written(items)
    assert [labels_from(labels) for labels in written] == [{"app": "web"}] * 2
    assert placed_in({"shop"}, items) == [("shop", written[0], items[0]), ("shop", written[1], items[1])]
    assert placed_in({"bazaar"}, items) == []
    nowhere = msgspec.Raw(msgspec.json.encode(pod_metrics(metadata={"name": "a"})))
    with pytest.raises(WireError, match=r"an item has no namespace - at `\$\.metadata\.namespace`"):
        placed_in({"bazaar"}, [*items, nowhere])


def test_labels_that_are_none_spoil_all() -> None:
    """Whose item it is cannot be said then."""
    with pytest.raises(WireError, match=r"metadata\.labels"):
        all_pod_metrics(listed(pod_metrics(), pod_metrics(metadata={"name": "web-1", "labels": {"app": 1}})))


def test_order_and_repeated_names_are_kept() -> None:
    """§18.1: the later one of a name wins, which is not decided here."""
    found = all_pod_metrics(listed(pod_metrics("b"), pod_metrics("a"), pod_metrics("b", containers=[])))
    assert found == [usage("b", APP), usage("a", APP), usage("b")]


PROBLEMS: dict[str, tuple[dict[str, object], str]] = {
    "quantity": (
        pod_metrics("bad", containers=[{"name": "app", "usage": {"cpu": "lots"}}]),
        "metrics of pod bad: 'lots' is not a quantity such as 500m, 2 or 1.5Gi",
    ),
    "timestamp": (
        pod_metrics("bad", timestamp="noon"),
        "metrics of pod bad: 'noon' is not an RFC 3339 time such as 2026-01-31T12:00:00Z",
    ),
    "empty timestamp": (
        pod_metrics("bad", timestamp=""),
        "metrics of pod bad: '' is not an RFC 3339 time such as 2026-01-31T12:00:00Z",
    ),
    "window": (
        pod_metrics("bad", window="half a minute"),
        "metrics of pod bad: 'half a minute' is not a duration such as 30s, 1m30s or 500ms",
    ),
    "wrong type": (
        pod_metrics("bad", containers={}),
        "metrics of pod bad: Expected `array | null`, got `object` - at `$.containers`",
    ),
    "no name": (
        pod_metrics(metadata={"labels": {"app": "web"}}),
        "metrics of a pod: it has no name - at `$.metadata.name`",
    ),
    "a name that is none": (
        pod_metrics(metadata={"name": ["a"]}),
        "metrics of a pod: Expected `str`, got `array` - at `$.metadata.name`",
    ),
}


@pytest.mark.parametrize(("item", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_one_bad_item_spoils_no_other(item: dict[str, object], problem: str) -> None:
    first, bad, last = each_pod_metrics(listed(pod_metrics("a"), item, pod_metrics("z")))
    assert (first, last) == (usage("a", APP), usage("z", APP))
    assert str(bad) == problem


def test_an_item_without_metadata_spoils_all() -> None:
    """Labels decide whose it is."""
    with pytest.raises(WireError):
        all_pod_metrics(listed(pod_metrics(), {"containers": []}))


# --- custom metrics ------------------------------------------------------------------------------


def value(name: str, amount: object, **fields: object) -> dict[str, object]:
    return {"describedObject": {"kind": "Pod", "name": name}, "timestamp": AT, "value": amount} | fields


VALUES: dict[str, tuple[dict[str, object], Sample]] = {
    "v1beta2": (value("a", "2", windowSeconds=30), Sample(2000, AT_NS, 30 * SECOND)),
    "v1beta1": (value("a", "2", window=30), Sample(2000, AT_NS, 30 * SECOND)),
    "both windows": (value("a", "2", window=30, windowSeconds=15), Sample(2000, AT_NS, 15 * SECOND)),
    "25.5.4 no window": (value("a", "2"), Sample(2000, AT_NS, 60 * SECOND)),
    "null window": (value("a", "2", windowSeconds=None), Sample(2000, AT_NS, 60 * SECOND)),
    "a window of 0": (value("a", "2", windowSeconds=0), Sample(2000, AT_NS, 0)),
    "25.5.3 zero": (value("a", "0"), Sample(0, AT_NS, 60 * SECOND)),
    "null is 0": (value("a", None), Sample(0, AT_NS, 60 * SECOND)),
    "white space around a quantity": (value("a", " 5\n"), Sample(5000, AT_NS, 60 * SECOND)),
    "negative": (value("a", "-1500m"), Sample(-1500, AT_NS, 60 * SECOND)),
    "number": (value("a", 1.5), Sample(1500, AT_NS, 60 * SECOND)),
    "no timestamp": (value("a", "2", timestamp=None), Sample(2000, ZERO_TIME_NS, 60 * SECOND)),
}


@pytest.mark.parametrize(("item", "expected"), VALUES.values(), ids=VALUES)
def test_metric_values(item: dict[str, object], expected: Sample) -> None:
    assert decode_metric_values(listed(item)) == [("a", expected)]


# --- external metrics ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([{"value": "2", "timestamp": AT}, {"value": "0.1m", "timestamp": LATER}], ExternalReading((2000, 1), AT_NS)),
        ([{"value": "2", "timestamp": LATER}, {"value": "1", "timestamp": AT}], ExternalReading((2000, 1000), AT_NS)),
        ([{"value": "2", "timestamp": AT}, {"value": "0.1m"}], ExternalReading((2000, 1), None)),
        ([{"value": None, "timestamp": AT}, {"timestamp": AT}], ExternalReading((0, 0), AT_NS)),
        ([], ExternalReading((), None)),
    ],
    ids=["several", "the oldest counts", "one without", "null and absent are 0", "25.5.3 none"],
)
def test_external_values(items: list[dict[str, object]], expected: ExternalReading) -> None:
    assert decode_external_values(listed(*items)) == expected


@pytest.mark.parametrize("decode", [all_pod_metrics, decode_metric_values])
@pytest.mark.parametrize("body", [b'{"items":null}', b"{}", b'{"items":[]}'])
def test_no_items(decode: Any, body: bytes) -> None:
    assert decode(body) == []


@pytest.mark.parametrize("decode", [all_pod_metrics, decode_metric_values, decode_external_values])
@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"items":{}}', b'{"items":[5]}', b'{"items":[{"metadata":5,"value":{}}]}', b"\xff", b"{"],
)
def test_what_is_no_list(decode: Any, body: bytes) -> None:
    with pytest.raises(WireError):
        decode(body)


@pytest.mark.parametrize(
    ("decode", "item"),
    [(decode_metric_values, value("a", "lots")), (decode_external_values, {"value": "lots"})],
)
def test_a_bad_value_spoils_the_answer(decode: Any, item: dict[str, object]) -> None:
    with pytest.raises(WireError, match="'lots' is not a quantity"):
        decode(listed(item))


@pytest.mark.parametrize(
    ("item", "place"),
    [
        ({"value": "x"}, "items[1].value"),
        ({"value": "1", "timestamp": "noon"}, "items[1].timestamp"),
        ({"value": "1", "timestamp": ""}, "items[1].timestamp"),
    ],
)
def test_a_bad_sample_is_named(item: dict[str, str], place: str) -> None:
    items = [
        {"describedObject": {"name": f"web-{number}"}, "value": "1"} | (item if number else {}) for number in (0, 1)
    ]
    with pytest.raises(WireError) as raised:
        decode_metric_values(msgspec.json.encode({"items": items}))
    assert raised.value.path == place


def test_a_bad_series_is_named() -> None:
    with pytest.raises(WireError) as raised:
        decode_external_values(b'{"items":[{"value":"1"},{"value":"x"}]}')
    assert raised.value.path == "items[1].value"


def test_an_item_with_a_bad_name_spoils_no_line() -> None:
    with pytest.raises(WireError) as raised:
        all_pod_metrics(msgspec.json.encode({"items": [pod_metrics("a\n" * 10**6, window="x")]}))
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 1000
