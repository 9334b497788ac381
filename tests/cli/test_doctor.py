"""`doctor` reads manifests' traces in live objects, and prints a line per finding."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from controller.cli.doctor import Report, _rows, lines
from controller.cli.doctor_facts import _replicas_from, _target
from controller.cli.explain_reach import reached
from controller.cli.explain_whereabouts import NotReached, Whereabouts
from controller.cli.main import main
from controller.explain.facts import lacking
from controller.explain.findings import Finding
from controller.explain.rows import PATH, Row, Rows
from controller.telemetry.server import Listener
from tests.adapters.raw_server import Received, answer, serving
from tests.cli.explain_cluster import FakeCluster

APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
FIELDS: Any = {"f:spec": {"f:replicas": {}}}


def workload(**metadata: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    containers = [{"name": "app", "resources": {"requests": {"cpu": "100m"}}}, {"name": "proxy"}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"namespace": "shop", "name": "web", **metadata}, "spec": spec}


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({}, ""),
        ({"managedFields": [{"manager": "argocd", "operation": "Apply", "fieldsV1": FIELDS}]}, "argocd"),
        ({"managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": FIELDS}]}, ""),
        (
            {"managedFields": [{"manager": "hpa", "operation": "Apply", "subresource": "scale", "fieldsV1": FIELDS}]},
            "",
        ),
        ({"annotations": {APPLIED: json.dumps({"spec": {"replicas": 3}})}}, "kubectl"),
        ({"annotations": {APPLIED: json.dumps({"spec": {"template": {}}})}}, ""),
        ({"annotations": {APPLIED: "{"}}, ""),
        ({"annotations": {APPLIED: "[" * 100_000}}, ""),
        ({"annotations": {APPLIED: "[]"}}, ""),
        ({"annotations": {APPLIED: '{"spec": "replicas"}'}}, ""),
    ],
)
def test_who_sets_the_replicas_is_read_from_the_object(metadata: dict[str, Any], said: str) -> None:
    found = _replicas_from(workload(**metadata))
    assert (said in found) if said else not found


def test_a_target_is_read_with_selector_labels_and_requests() -> None:
    raw = workload()
    target = _target(json.dumps(raw).encode(), raw, "Deployment")
    assert target.selector is not None
    assert target.selector.matches(target.labels)
    assert target.requests is not None
    assert lacking(target.requests, "cpu", "") == ("proxy",)
    assert lacking(target.requests, "cpu", "app") == ()


def test_lines_end_with_a_count() -> None:
    finding = Finding("problem", "same-target", "shop/web", "api scales the same", "delete one")
    assert lines(Report(2, (finding,), ("no controller was asked",))) == [
        "shop/web: problem: same-target: api scales the same; delete one",
        "partial: no controller was asked",
        "2 HPAs checked: 1 problem, 0 pieces of advice",
    ]
    assert lines(Report(1, (), ())) == ["1 HPA checked: nothing found"]
    assert lines(Report(1, (), ("pods cannot be read",))) == [
        "partial: pods cannot be read",
        "1 HPA checked: nothing found where we could look",
    ]


@pytest.mark.parametrize("where", [[], ["-A"], ["-n", "shop"]])
def test_without_a_cluster_it_says_so(where: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", *where, "--kubeconfig", "/nowhere/kubeconfig"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "/nowhere/kubeconfig: no such file" in said


def test_the_address_of_a_controller_is_not_enough(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--kubeconfig", "/nowhere/kubeconfig", "--introspection-address", "127.0.0.1:1"]) == 2
    assert "--introspection-address is not enough, the cluster is looked at, too" in capsys.readouterr().err


@pytest.mark.parametrize("body", [b'{"rows":[{"namespace":"\xff"}]}', b"<html>", b'{"x":' + b"[" * 100_000])
async def test_what_no_controller_would_answer_is_said(body: bytes) -> None:
    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(body))

    async with serving(say) as server, reached(Whereabouts(address=server.url.removeprefix("http://"))) as controller:
        with pytest.raises(NotReached, match="answers in a form that this version does not know"):
            await _rows(controller)


TWIN = Row("shop", "web", twin=True)
STANDBY = "this instance does not lead"


@pytest.mark.parametrize(("partial", "twins"), [("", 1), (STANDBY, 0)])
async def test_what_a_standby_remembers_is_not_looked_at(
    partial: str, twins: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
    hpa = {"metadata": {"namespace": "shop", "name": "web"}, "spec": {"scaleTargetRef": target, "maxReplicas": 9}}

    async def hpas(received: Received, writer: asyncio.StreamWriter) -> None:
        found = "/horizontalpodautoscalers?" in received.target
        writer.write(answer(msgspec.json.encode({"metadata": {}, "items": [hpa] if found else []})))

    async def rows(_: web.Request) -> web.StreamResponse:
        return web.Response(body=msgspec.json.encode(Rows((TWIN,), partial=partial, from_apis=("custom",))))

    listener = Listener("127.0.0.1:0", {PATH: rows})
    await listener.start()
    capsys.readouterr()
    async with serving(hpas) as server:
        cluster = FakeCluster()
        cluster.url = server.url
        where = ["--kubeconfig", str(cluster.kubeconfig(tmp_path))]
        where += ["--introspection-address", f"127.0.0.1:{listener.port}"]
        await asyncio.to_thread(main, ["doctor", "--output", "json", *where])
    await listener.stop()
    report = msgspec.json.decode(capsys.readouterr().out, type=Report)
    unseen = "what the controller knows was not looked at: "
    assert [text for text in report.missing if text.startswith(unseen)] == ([f"{unseen}{partial}"] if partial else [])
    assert len([one for one in report.findings if one.code == "twin-writer"]) == twins
    missed = [one for one in report.findings if one.code == "api-missing"]
    assert len(missed) == (1 if partial else 0), "the controller never asks the API for CPU"
