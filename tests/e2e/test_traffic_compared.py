"""The comparison of recorded traffic notices what differs, and only that."""

from __future__ import annotations

import gzip
import json
from typing import Any

from tests.e2e import traffic
from tests.e2e.recording_proxy import Exchange

SCALE = "/apis/apps/v1/namespaces/shop-1/deployments/web/scale"
ASKED = "GET /apis/apps/v1/namespaces/{namespace}/deployments/web/scale"
JSON = {"Content-Type": "application/json"}


def exchange(method: str = "GET", path: str = SCALE, code: int = 200, got: Any = None, **values: Any) -> Exchange:
    answer = bytearray(json.dumps({"spec": {"replicas": 2}} if got is None else got).encode())
    return Exchange(
        method, path, values.pop("query", {}), {"Accept": "application/json"}, b"", code, JSON, answer, **values
    )


def differences(real: list[Exchange], other: list[Exchange]) -> dict[str, set[str]]:
    return traffic.differences(traffic.talk(real, "shop-1"), traffic.talk(other, "shop-1"))


def test_values_and_repetitions_do_not_matter() -> None:
    other = exchange(got={"spec": {"replicas": 5}})
    assert differences([exchange()], [other, other]) == {}


def test_fields_types_and_statuses_matter() -> None:
    assert differences([exchange()], [exchange(got={"spec": {"replicas": "2"}})]) == {
        ASKED: {"- answer 200 .spec.replicas: int", "+ answer 200 .spec.replicas: str"}
    }
    assert differences([exchange()], [exchange(got={"spec": {}})]) == {
        ASKED: {"- answer 200 .spec.replicas: int", "+ answer 200 .spec: empty"}
    }
    assert differences([exchange()], [exchange(), exchange(code=409)])[ASKED] >= {"+ status 409"}


def test_what_only_one_was_asked_is_said() -> None:
    assert differences([exchange()], []) == {ASKED: {"- never asked"}}
    queried = exchange(query={"labelSelector": "app=web", "resourceVersion": "7"})
    assert differences([], [queried]) == {
        f"{ASKED}?labelSelector=app=web&resourceVersion={{varies}}": {"+ never asked of the real one"}
    }


def test_events_of_a_watch_are_looked_at_one_by_one() -> None:
    lines = [{"type": "ADDED", "object": {"a": 1}}, {"type": "BOOKMARK", "object": {"a": None}}]
    watch = exchange(query={"watch": "true"})
    watch.got = bytearray(b"".join(json.dumps(line).encode() + b"\n" for line in lines) + b'{"type": "CUT O')
    (facts,) = traffic.talk([watch], "shop-1").values()
    assert {fact for fact in facts if fact.startswith("answer 200")} == {
        "answer 200 ADDED .a: int",
        "answer 200 BOOKMARK .a: null",
    }


def test_order_counts_and_repetition_at_a_stretch_does_not() -> None:
    talk = [exchange(), exchange(), exchange("PUT"), exchange("PUT", code=403), exchange("PUT"), exchange(code=0)]
    path = "/apis/apps/v1/namespaces/{namespace}/deployments/web/scale"
    assert traffic.sequences(talk, "shop-1") == {path: ["GET 200", "PUT 200", "PUT 403", "PUT 200"]}
    event = exchange("PATCH", "/api/v1/namespaces/shop-1/events/web.18a")
    assert traffic.sequences([event], "shop-1") == {"/api/v1/namespaces/{namespace}/events/web.{id}": ["PATCH 200"]}


def test_a_conflict_and_the_read_that_answers_it_are_chance() -> None:
    talk = [exchange(), exchange("PUT", code=409), exchange(), exchange("PUT", code=409), exchange(), exchange("PUT")]
    path = "/apis/apps/v1/namespaces/{namespace}/deployments/web/scale"
    assert traffic.sequences(talk, "shop-1") == {path: ["GET 200", "PUT 200"]}
    assert traffic.sequences([*talk, exchange()], "shop-1") == {path: ["GET 200", "PUT 200", "GET 200"]}


def test_compressed_and_plain_answers_are_read() -> None:
    packed = exchange()
    packed.got = bytearray(gzip.compress(packed.got))
    packed.answer_headers = {**JSON, "Content-Encoding": "gzip"}
    assert packed.answered() == [{"spec": {"replicas": 2}}]
    plain = Exchange("GET", "/apis/none", {}, {}, b"", 404, {"Content-Type": "text/plain"}, bytearray(b"no such page"))
    assert plain.answered() == ["no such page"]
