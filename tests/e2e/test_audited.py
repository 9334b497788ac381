"""The rules that every controller is held to notice what breaks them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.audited import Audited, RuleBrokenError, check_rules

SCALE = {"metadata": {"name": "web", "uid": "u", "resourceVersion": "7"}, "spec": {"replicas": 3}}
STATUS = {"metadata": {"name": "web", "resourceVersion": "7"}}


def entry(verb: str, resource: str, subresource: str | None = None, **values: Any) -> dict[str, Any]:
    """An entry of the audit log about an object called web."""
    return {
        "auditID": "a",
        "verb": verb,
        "requestURI": "/apis/apps/v1/namespaces/shop/deployments?watch=true&sendInitialEvents=true",
        "user": {"username": "controller", "extra": {"authentication.kubernetes.io/credential-id": ["JTI=1"]}},
        "userAgent": "hpa-controller/0.1.0 (linux/x86_64)",
        "objectRef": {
            "apiGroup": "apps",
            "resource": resource,
            "subresource": subresource,
            "namespace": "shop",
            "name": "web",
        },
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": "2026-03-04T05:06:07.100000Z",
        "stageTimestamp": "2026-03-04T05:06:07.200000Z",
        **values,
    }


@pytest.mark.parametrize(
    "allowed",
    [
        entry("watch", "pods"),
        entry("get", "secrets"),
        entry("update", "deployments", "scale", requestObject=SCALE),
        entry("update", "horizontalpodautoscalers", "status", requestObject=STATUS),
        entry("create", "events", requestObject={"metadata": {"name": "web.1"}}),
        entry("patch", "events", requestObject={"count": 2}),
        entry("create", "leases", requestObject={"metadata": {"name": "web"}}),
        entry("update", "leases", requestObject=STATUS),
    ],
    ids=lambda each: f"{each['verb']}-{each['objectRef']['resource']}",
)
def test_what_a_controller_does_breaks_no_rule(allowed: dict[str, Any]) -> None:
    check_rules([Audited.of(allowed)])


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (entry("get", "pods", userAgent="Python/3.11 aiohttp/3"), "what program it is"),
        (entry("patch", "deployments", "scale", requestObject=SCALE), "not for a controller of HPAs"),
        (entry("update", "deployments", requestObject=SCALE), "not for a controller of HPAs"),
        (entry("update", "horizontalpodautoscalers", requestObject=STATUS), "not for a controller of HPAs"),
        (entry("patch", "horizontalpodautoscalers", "status", requestObject={}), "not for a controller of HPAs"),
        (entry("delete", "events"), "not for a controller of HPAs"),
        (entry("update", "horizontalpodautoscalers", "status", requestObject={"metadata": {}}), "resourceVersion"),
        (entry("update", "deployments", "scale", requestObject=STATUS), "without a uid"),
        (entry("update", "leases", requestObject={"metadata": {"name": "web"}}), "resourceVersion"),
    ],
    ids=lambda value: f"{value['verb']}-{value['objectRef']['resource']}" if isinstance(value, dict) else "",
)
def test_what_breaks_a_rule_is_shown(broken: dict[str, Any], problem: str) -> None:
    with pytest.raises(RuleBrokenError, match=problem):
        check_rules([Audited.of(entry("get", "pods")), Audited.of(broken)])


def test_an_entry_is_taken_apart() -> None:
    request = Audited.of(entry("watch", "deployments", "scale"))
    assert (request.group, request.resource) == ("apps", "deployments/scale")
    assert (request.namespace, request.name) == ("shop", "web")
    assert request.lists
    assert request.accepted
    assert not request.writes
    assert request.credential == "JTI=1"
    assert (request.answered - request.received).total_seconds() == pytest.approx(0.1)
    assert request.about("pods", "deployments/scale", name="web")
    assert not request.about("deployments/scale", name="shop")
