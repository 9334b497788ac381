"""`doctor` finds targets in any version that is served, and injected containers; what it cannot read it says."""

import asyncio
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest

from controller.cli.doctor_facts import Reader
from controller.explain.facts import Facts
from tests.adapters.parts import connected_to
from tests.adapters.raw_server import Received, answer, serving

HPAS = "/apis/autoscaling/v2/horizontalpodautoscalers"
CPU = {"type": "Utilization", "averageUtilization": 60}
OLD, NEW = "/apis/argoproj.io/v1beta1", "/apis/argoproj.io/v1alpha1"
ROLLOUT = f"{NEW}/namespaces/shop/rollouts/web"
SCALABLE = {
    "resources": [
        {"name": "rollouts/status", "kind": "Rollout"},
        {"name": "rollouts", "kind": "Rollout"},
        {"name": "rollouts/scale", "kind": "Scale"},
    ]
}


def autoscaler(kind: str, api_version: str, metric: dict[str, Any], name: str = "web") -> dict[str, Any]:
    target = {"kind": kind, "name": name, "apiVersion": api_version}
    metadata = {"namespace": "shop", "name": name, "uid": "u", "resourceVersion": "1"}
    return {"metadata": metadata, "spec": {"scaleTargetRef": target, "maxReplicas": 9, "metrics": [metric]}}


ON_CPU = {"type": "Resource", "resource": {"name": "cpu", "target": CPU}}
ON_PROXY = {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "proxy", "target": CPU}}
APP = {"name": "app", "resources": {"requests": {"cpu": "1"}}}


def listed(*items: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {}, "items": items}


async def facts_of(served: dict[str, Any]) -> Facts:
    """What is read of an API server that has these bodies by path; a number is a status without one."""
    groups = {"groups": [{"name": "argoproj.io", "versions": [{"groupVersion": "argoproj.io/v1alpha1"}]}]}

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        body = ({"/apis": groups} | served).get(received.target.partition("?")[0], 404)
        if isinstance(body, int):
            writer.write(answer(b"{}", status=f"{body} No"))
        else:
            writer.write(answer(body if isinstance(body, bytes) else msgspec.json.encode(body)))

    async with serving(say) as server, connected_to(server.url) as client:
        return await Reader(client, "").facts(None)


OF_ROLLOUT = {HPAS: listed(autoscaler("Rollout", "argoproj.io/v1beta1", ON_CPU))}


async def test_a_target_is_found_in_the_version_that_is_served() -> None:
    facts = await facts_of({**OF_ROLLOUT, NEW: SCALABLE, ROLLOUT: {}})
    [target] = facts.targets.values()
    assert (target.scalable, target.exists, facts.missing) == (True, True, ())
    [target] = (await facts_of({**OF_ROLLOUT, NEW: SCALABLE})).targets.values()
    assert (target.scalable, target.exists) == (True, False)
    [target] = (await facts_of({**OF_ROLLOUT, NEW: {"resources": None}})).targets.values()
    assert target.scalable is False


async def test_the_kind_of_a_target_may_be_written_in_lower_case() -> None:
    hpas = {HPAS: listed(autoscaler("rollout", "argoproj.io/v1alpha1", ON_CPU))}
    [target] = (await facts_of({**hpas, NEW: SCALABLE, ROLLOUT: {}})).targets.values()
    assert (target.scalable, target.exists) == (True, True)
    served = proxied(containers=[APP]) | {HPAS: listed(autoscaler("deployment", "apps/v1", ON_CPU))}
    [target] = (await facts_of(served)).targets.values()
    assert (target.exists, target.labels, target.requests is None) == (True, LABELS, False)


@pytest.mark.parametrize(
    ("served", "words"),
    [
        ({NEW: SCALABLE, ROLLOUT: 403}, "rollouts of argoproj.io/v1alpha1 cannot be read"),
        ({OLD: 403}, "what argoproj.io/v1beta1 has cannot be read"),
        (
            {OLD: b"<html>"},
            "what argoproj.io/v1beta1 has cannot be read: the discovery document /apis/",
        ),
        (
            {"/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io": 403},
            "whether metrics APIs work cannot be read",
        ),
    ],
)
async def test_what_cannot_be_looked_at_is_said_once(served: dict[str, Any], words: str) -> None:
    two = [autoscaler("Rollout", "argoproj.io/v1beta1", ON_CPU, name) for name in ("web", "api")]
    facts = await facts_of({HPAS: listed(*two), **served})
    assert len([text for text in facts.missing if text.startswith(words)]) == 1


RESOURCE_METRICS = "metrics.k8s.io/v1beta1"
SERVED = {"groups": [{"name": "metrics.k8s.io", "versions": [{"groupVersion": RESOURCE_METRICS}]}]}
SERVICE = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io"
AVAILABLE = {"status": {"conditions": [{"type": "Available", "status": "True"}]}}


@pytest.mark.parametrize(
    ("served", "unavailable"),
    [
        ({f"/apis/{RESOURCE_METRICS}": 503, SERVICE: AVAILABLE}, ["the server answered with HTTP status 503"]),
        ({f"/apis/{RESOURCE_METRICS}": 500}, ["the server answered with HTTP status 500"]),
        ({f"/apis/{RESOURCE_METRICS}": {}}, []),
        ({f"/apis/{RESOURCE_METRICS}": 403}, []),
        ({f"/apis/{RESOURCE_METRICS}": 503, HPAS: listed()}, []),
    ],
)
async def test_an_api_that_hpas_need_is_asked_whether_it_works(served: dict[str, Any], unavailable: list[str]) -> None:
    """An APIService may claim it although everything behind it fails, and there need not be one."""
    facts = await facts_of({**OF_ROLLOUT, "/apis": SERVED, **served})
    assert list(facts.unavailable.values()) == unavailable


async def test_an_api_that_nobody_vouches_for_does_not_work() -> None:
    """Nor is it asked itself: whoever looks after it has said why."""
    unknown = {"type": "Available", "status": "Unknown", "reason": "Starting", "message": "no endpoints yet"}
    service = {"status": {"conditions": [unknown]}}
    served = {"/apis": SERVED, f"/apis/{RESOURCE_METRICS}": 500, SERVICE: service}
    facts = await facts_of({**OF_ROLLOUT, **served})
    assert facts.unavailable == {RESOURCE_METRICS: "Starting: no endpoints yet"}


LABELS = {"app": "web"}
METADATA = {"namespace": "shop", "name": "web"}
PODS = "/api/v1/namespaces/shop/pods"
PROXY = {**APP, "name": "proxy"}


def proxied(**containers: Any) -> dict[str, Any]:
    """An HPA on what the proxies of a Deployment use, whose template has these containers."""
    template = {"metadata": {"labels": LABELS}, "spec": containers}
    deployment = {"metadata": METADATA, "spec": {"selector": {"matchLabels": LABELS}, "template": template}}
    return {
        HPAS: listed(autoscaler("Deployment", "apps/v1", ON_PROXY)),
        "/apis/apps/v1/deployments": listed(deployment),
    }


async def test_a_container_that_is_injected_is_found_in_a_pod() -> None:
    pod = {"metadata": {**METADATA, "labels": LABELS}, "spec": {"containers": [APP, PROXY]}}
    served = proxied(containers=[APP])
    facts = await facts_of({**served, PODS: listed(pod)})
    [target] = facts.targets.values()
    assert target.requests is not None
    assert [one.name for one in target.requests.containers] == ["app", "proxy"]
    [said] = (await facts_of({**served, PODS: 403})).missing
    assert said.startswith("pods cannot be read")


async def test_of_a_sidecar_that_the_template_has_no_pod_need_be_read() -> None:
    served = proxied(containers=[APP], initContainers=[{**PROXY, "restartPolicy": "Always"}])
    assert (await facts_of({**served, PODS: 403})).missing == ()


async def test_a_long_list_is_read_to_its_end_and_never_asked_for_in_one_piece() -> None:
    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        url = urlsplit(received.target)
        query = dict(parse_qsl(url.query))
        if url.path != HPAS or "limit" not in query:
            writer.write(answer(b"{}", status="404 No"))
            return
        at = int(query.get("continue", "0"))
        metadata = {"continue": str(at + 1)} if at < 2 else {}
        found = autoscaler("Deployment", "apps/v1", ON_CPU, f"web-{at}")
        writer.write(answer(msgspec.json.encode({"metadata": metadata, "items": [found]})))

    async with serving(say) as server, connected_to(server.url) as client:
        facts = await Reader(client, "").facts(None)
    assert [one.name for one in facts.patients] == ["web-0", "web-1", "web-2"]


async def test_a_page_instead_of_a_list_is_said() -> None:
    served = {HPAS: listed(autoscaler("Deployment", "apps/v1", ON_CPU)), "/apis/apps/v1/deployments": b"<html>"}
    [said] = (await facts_of(served)).missing
    assert said.startswith("deployments cannot be listed")
