import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench_cluster.requests import Request, RequestLog, request_of
from tests.bench_cluster.timings import (
    counted,
    growth,
    intervals_s,
    lateness_s,
    reactions_s,
    spread,
    syncs,
    waits_s,
    worst_moment_s,
)

STATUS = "horizontalpodautoscalers/status.autoscaling"
USER = "system:serviceaccount:kube-system:bench"


def line(**changed: Any) -> bytes:
    about = {"resource": "horizontalpodautoscalers", "subresource": "status", "apiGroup": "autoscaling"}
    fields = {
        "kind": "Event",
        "auditID": "a",
        "stage": "ResponseComplete",
        "verb": "update",
        "requestURI": "/path?query",
        "user": {"username": USER, "groups": ["system:authenticated"]},
        "objectRef": {**about, "namespace": "shop", "name": "web"},
        "responseStatus": {"metadata": {}, "code": 200},
        "requestReceivedTimestamp": "2026-03-01T10:00:00.250000Z",
        "stageTimestamp": "2026-03-01T10:00:00.260000Z",
    }
    return json.dumps({**fields, **changed}).encode()


def request(received_s: float, verb: str = "update", resource: str = STATUS, code: int = 200) -> Request:
    return Request(received_s, verb, resource, "shop/web", code, "")


# --- reading the audit log ---


def test_a_line_of_the_audit_log_becomes_a_request() -> None:
    received = dt.datetime(2026, 3, 1, 10, 0, 0, 250_000, tzinfo=dt.UTC)
    assert request_of(line(), USER) == Request(received.timestamp(), "update", STATUS, "shop/web", 200, "/path?query")


@pytest.mark.parametrize(
    "changed",
    [
        {"user": {"username": "somebody"}},
        {"verb": "watch"},
        {"stage": "ResponseStarted"},
        {"stage": "Panic"},
    ],
)
def test_lines_of_others_and_further_lines_of_one_request_are_none(changed: dict[str, Any]) -> None:
    assert request_of(line(**changed), USER) is None


def test_a_watch_counts_when_it_begins() -> None:
    begun = request_of(line(verb="watch", stage="ResponseStarted"), USER)
    assert begun is not None
    assert not begun.reads


def test_a_path_without_an_object_has_no_resource() -> None:
    found = request_of(_without_object(), USER)
    assert found is not None
    assert (found.resource, found.key) == ("", "")


def _without_object() -> bytes:
    fields = json.loads(line(verb="get"))
    del fields["objectRef"]
    return json.dumps(fields).encode()


def test_a_log_is_read_on_where_it_ended_and_a_line_that_is_being_written_waits(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_bytes(line() + b"\n")
    log = RequestLog(path, USER)
    assert log.update() == []
    with path.open("ab") as stream:
        stream.write(line(verb="get") + b"\n" + line(verb="patch")[:50])
    assert [one.verb for one in log.update()] == ["get"]
    with path.open("ab") as stream:
        stream.write(line(verb="patch")[50:] + b"\n")
    assert [one.verb for one in log.update()] == ["patch"]
    assert [one.verb for one in log.requests] == ["get", "patch"]


# --- intervals and lateness ---


def test_syncs_are_accepted_status_writes_of_the_keys() -> None:
    requests = [request(5.0), request(3.0), request(4.0, code=409), request(6.0, verb="get")]
    assert syncs(requests, ["shop/web", "shop/api"]) == {"shop/web": [3.0, 5.0], "shop/api": []}


def test_intervals_are_those_that_end_in_the_window() -> None:
    assert intervals_s({"a": [0.0, 15.0, 31.0, 45.0, 60.0]}, 20.0, 50.0) == [16.0, 14.0]


def test_an_hpa_that_is_no_longer_synced_counts_with_what_has_passed() -> None:
    assert intervals_s({"a": [0.0, 15.0, 30.0]}, 20.0, 80.0) == [15.0, 50.0]


def test_an_hpa_that_was_never_synced_counts_with_the_whole_window() -> None:
    assert intervals_s({"a": []}, 20.0, 80.0) == [60.0]


def test_an_unfinished_interval_that_is_no_longer_than_others_does_not_count() -> None:
    assert intervals_s({"a": [0.0, 50.0, 100.0]}, 60.0, 120.0) == [50.0]


def test_lateness_is_what_goes_beyond_a_period() -> None:
    assert lateness_s([14.5, 15.0, 17.5], 15.0) == [0.0, 0.0, 2.5]


def test_percentiles_are_values_that_were_measured() -> None:
    found = spread(float(number) for number in range(1, 201))
    assert found is not None
    assert (found.p50_s, found.p99_s, found.max_s, found.count) == (100.0, 198.0, 200.0, 200)
    assert spread([]) is None


# --- reactions, counts, growth ---


def test_a_reaction_ends_with_the_first_accepted_scale_write_after_the_change() -> None:
    scale = "deployments/scale.apps"
    requests = [
        request(9.0, resource=scale),
        request(11.0, resource=scale, code=409),
        request(12.5, resource=scale),
        request(12.0, resource=scale, verb="get"),
        request(27.0, resource=scale),
    ]
    assert reactions_s(requests, ["shop/web", "shop/api"], 10.0) == {"shop/web": 2.5}


def test_requests_are_counted_by_verb_and_resource() -> None:
    requests = [request(1.0), request(5.0), request(6.0, verb="get", resource=""), request(7.0, "watch", "pods")]
    assert counted(requests) == {f"update {STATUS}": 2, "get other paths": 1, "watch pods": 1}
    assert [one.reads for one in requests] == [False, False, True, False]


def test_the_worst_moment_is_when_hpas_have_just_been_synced() -> None:
    """A hundred HPAs, all within one second of every fifteen: by luck they would all react within a second."""
    burst = {f"shop/web-{number}": [85.0 + number / 100, 100.0 + number / 100] for number in range(100)}
    lucky = spread(waits_s(burst, 114.0))
    assert lucky is not None
    assert lucky.max_s < 2
    unlucky = spread(waits_s(burst, worst_moment_s(burst, 102.0, 117.0)))
    assert unlucky is not None
    assert unlucky.p99_s > 14.7


def test_an_hpa_goes_on_at_its_own_interval() -> None:
    assert waits_s({"shop/web": [10.0, 60.0, 110.0], "shop/new": [100.0], "shop/never": []}, 130.0) == [30.0]
    assert worst_moment_s({}, 5.0, 20.0) == 5.0


def test_growth_is_the_exponent() -> None:
    assert growth((1_000, 2.0), (10_000, 20.0)) == pytest.approx(1.0)
    assert growth((1_000, 2.0), (4_000, 32.0)) == pytest.approx(2.0)
    with pytest.raises(ValueError, match="no growth"):
        growth((1_000, 2.0), (1_000, 3.0))
