from datetime import timedelta
from typing import Any

import pytest

from controller.lab.clock import DEFAULT_START, format_timestamp
from controller.lab.cluster import Cluster
from controller.lab.server import LabServer
from controller.lab.serving.durations import age, human_duration
from controller.lab.serving.hpa_targets import targets
from controller.lab.serving.pod_state import describe_pod
from tests.lab.client import Client
from tests.lab.objects import (
    DEPLOYMENT_PATH,
    DEPLOYMENTS,
    HPA_PATH,
    HPAS,
    POD_PATH,
    TABLE,
    deployment,
    hpa,
    pod,
    rollout_definition,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (599, "9m59s"),
        (600, "10m"), (10_799, "179m"), (10_800, "3h"), (10_860, "3h1m"), (28_800, "8h"), (172_799, "47h"),
        (172_800, "2d"), (180_000, "2d2h"), (691_200, "8d"), (63_072_000, "2y"), (63_158_400, "2y1d"),
        (252_288_000, "8y"),
    ],
)  # fmt: skip
def test_durations_have_two_or_three_figures(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


def test_an_age_is_counted_from_a_timestamp() -> None:
    assert age(format_timestamp(DEFAULT_START), DEFAULT_START + timedelta(seconds=90)) == "90s"
    assert age(None, DEFAULT_START) == "<unknown>"


def _spec(kind: str, field: str, **content: Any) -> dict[str, Any]:
    return {"type": kind, field: content}


CPU = _spec("Resource", "resource", name="cpu", target={"type": "Utilization", "averageUtilization": 50})
CPU_NOW = _spec("Resource", "resource", name="cpu", current={"averageUtilization": 30, "averageValue": "3m"})
RPS = _spec("Pods", "pods", metric={"name": "rps"}, target={"type": "AverageValue", "averageValue": "10"})
QUEUE = _spec("External", "external", metric={"name": "q"}, target={"type": "AverageValue", "averageValue": "5"})
HITS = _spec("Object", "object", metric={"name": "h"}, target={"type": "Value", "value": "5"})


@pytest.mark.parametrize(
    ("specs", "statuses", "text"),
    [
        ([], [], "<none>"),
        ([CPU], [], "cpu: <unknown>/50%"),
        ([CPU], [CPU_NOW], "cpu: 30%/50%"),
        (
            [CPU, RPS],
            [{"type": ""}, _spec("Pods", "pods", current={"averageValue": "7"})],
            "cpu: <unknown>/50%, 7/10",
        ),
        ([QUEUE, HITS], [], "<unknown>/5 (avg), <unknown>/5"),
        ([HITS], [_spec("Object", "object", current={"value": "4"})], "4/5"),
        ([CPU, RPS, QUEUE, HITS], [CPU_NOW], "cpu: 30%/50%, <unknown>/10 + 2 more..."),
        (
            [_spec("ContainerResource", "containerResource", name="memory", target={"averageValue": "1Gi"})],
            [],
            "memory: <unknown>/1Gi",
        ),
        ([_spec("Resource", "resource", name="cpu", target={})], [], "cpu: <unknown>/<auto>"),
        ([{"type": "Odd"}], [], "<unknown type>"),
    ],
)
def test_targets_of_an_hpa(specs: list[Any], statuses: list[Any], text: str) -> None:
    assert targets(specs, statuses) == text


def _waiting(reason: str, restarts: int = 0) -> dict[str, Any]:
    return _container({"waiting": {"reason": reason}}, restarts=restarts)


def _ended(**how: Any) -> dict[str, Any]:
    return _container({"terminated": {"exitCode": 0, **how}})


def _container(state: dict[str, Any], *, ready: bool = False, restarts: int = 0) -> dict[str, Any]:
    return {"name": "app", "ready": ready, "restartCount": restarts, "state": state}


RUNNING: dict[str, Any] = {"running": {}}
READY = [{"type": "Ready", "status": "True"}]


def _status(phase: str, *containers: dict[str, Any], field: str = "containerStatuses") -> dict[str, Any]:
    return {"phase": phase, field: list(containers)}


def _starting(container: dict[str, Any]) -> dict[str, Any]:
    return _status("Pending", {**container, "name": "init"}, field="initContainerStatuses")


@pytest.mark.parametrize(
    ("status", "ready", "reason", "restarts"),
    [
        ({"phase": "Pending"}, "0/1", "Pending", "0"),
        (_status("Running", _container(RUNNING, ready=True)), "1/1", "Running", "0"),
        (_status("Running", _waiting("CrashLoopBackOff", 2)), "0/1", "CrashLoopBackOff", "2"),
        (_status("Failed", _ended(exitCode=3)), "0/1", "ExitCode:3", "0"),
        (_status("Failed", _ended(signal=9)), "0/1", "Signal:9", "0"),
        (_status("Succeeded", _ended(reason="Completed")), "0/1", "Completed", "0"),
        ({"phase": "Failed", "reason": "Evicted"}, "0/1", "Evicted", "0"),
        (_starting(_container(RUNNING)), "0/1", "Init:0/1", "0"),
        (_starting(_ended(exitCode=1)), "0/1", "Init:ExitCode:1", "0"),
        (_starting(_waiting("ErrImagePull")), "0/1", "Init:ErrImagePull", "0"),
        (_starting(_ended()), "0/1", "Pending", "0"),
    ],
)
def test_states_of_a_pod(status: dict[str, Any], ready: str, reason: str, restarts: str) -> None:
    described = pod("a")
    described["spec"]["initContainers"] = [{"name": "init"}] if "initContainerStatuses" in status else []
    state = describe_pod({**described, "status": status}, DEFAULT_START)
    assert (state.ready, state.reason, state.restarts) == (ready, reason, restarts)


def test_a_pod_that_ends_says_so() -> None:
    ending = pod("a")
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert describe_pod({**ending, "status": {"phase": "Running"}}, DEFAULT_START).reason == "Terminating"


def test_restarts_tell_when_the_last_one_was() -> None:
    last = {"terminated": {"finishedAt": "2026-01-01T00:00:00Z"}}
    crashed = {**_container(RUNNING, ready=True, restarts=3), "lastState": last}
    status = {"phase": "Running", "conditions": READY, "containerStatuses": [crashed]}
    state = describe_pod({**pod("a"), "status": status}, DEFAULT_START + timedelta(minutes=5))
    assert state.restarts == "3 (5m ago)"


def _cells(table: dict[str, Any]) -> list[list[Any]]:
    return [row["cells"] for row in table["rows"]]


def _without_age(row: list[Any]) -> list[Any]:
    return [cell for cell in row if not (isinstance(cell, str) and cell.endswith("s") and cell[:-1].isdigit())]


async def test_every_kind_has_a_table_that_fits_its_columns(lab: LabServer, client: Client) -> None:
    _fill(lab.cluster)
    for endpoint in lab.cluster.world.registry:
        if "list" not in endpoint.verbs:
            continue
        root = f"/apis/{endpoint.api_version}" if endpoint.group else "/api/v1"
        table = await client.get(f"{root}/{endpoint.plural}", TABLE)
        assert table["kind"] == "Table"
        for row in table["rows"]:
            assert len(row["cells"]) == len(table["columnDefinitions"]), endpoint.plural
            assert row["object"]["kind"] == "PartialObjectMetadata"
        assert table["rows"], f"{endpoint.plural} has no object in this test"


def _fill(cluster: Cluster) -> None:
    about = {"kind": "Pod", "name": "a", "namespace": "default"}
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}]
    for resource, obj in (
        ("pods", pod("a")),
        (DEPLOYMENTS, deployment()),
        ("replicasets.apps", deployment()),
        ("statefulsets.apps", deployment()),
        ("replicationcontrollers", {**deployment(), "spec": {"template": deployment()["spec"]["template"]}}),
        (HPAS, hpa()),
        ("events", {"metadata": {"name": "e"}, "involvedObject": about, "reason": "Told", "message": "m"}),
        ("nodes", {"metadata": {"name": "n"}, "status": {"addresses": addresses}}),
        ("services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}),
        ("ingresses.networking.k8s.io", {"metadata": {"name": "i"}}),
        ("secrets", {"metadata": {"name": "s"}}),
        ("configmaps", {"metadata": {"name": "c"}}),
        ("serviceaccounts", {"metadata": {"name": "s"}}),
        ("leases.coordination.k8s.io", {"metadata": {"name": "l"}}),
        ("customresourcedefinitions.apiextensions.k8s.io", rollout_definition()),
        ("rollouts.example.com", {"metadata": {"name": "r"}}),
    ):
        cluster.create(resource, obj)


async def test_the_table_of_hpas(lab: LabServer, client: Client) -> None:
    lab.cluster.create(HPAS, hpa(minReplicas=2))
    table = await client.get(HPA_PATH, TABLE)
    names = [column["name"] for column in table["columnDefinitions"]]
    assert names == ["Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"]
    assert [_without_age(row) for row in _cells(table)] == [["web", "Deployment/web", "cpu: <unknown>/80%", "2", 5, 0]]


async def test_wide_columns_have_a_lower_priority(lab: LabServer, client: Client) -> None:
    lab.cluster.create(DEPLOYMENTS, deployment())
    table = await client.get(DEPLOYMENT_PATH, TABLE)
    priorities = {column["name"]: column["priority"] for column in table["columnDefinitions"]}
    assert (priorities["Ready"], priorities["Containers"], priorities["Selector"]) == (0, 1, 1)
    assert [_without_age(row) for row in _cells(table)] == [["web", "0/1", 0, 0, "app", "app:1", "app=web"]]


async def test_rows_carry_what_was_asked_for(lab: LabServer, client: Client) -> None:
    lab.cluster.create("pods", {**pod("a"), "status": {"phase": "Succeeded"}}, with_status=True)
    whole = await client.get(POD_PATH, TABLE, includeObject="Object")
    assert whole["rows"][0]["object"]["spec"]["containers"]
    assert whole["rows"][0]["conditions"][0]["type"] == "Completed"
    bare = await client.get(POD_PATH, TABLE, includeObject="None")
    assert bare["rows"][0]["object"] is None
    one = await client.get(POD_PATH + "/a", TABLE)
    assert len(one["rows"]) == 1


async def test_a_watch_of_tables_sends_headers_once(lab: LabServer, client: Client) -> None:
    lab.cluster.create(HPAS, hpa("one"))
    async with client.watch(HPA_PATH, TABLE) as events:
        lab.cluster.create(HPAS, hpa("two"))
        first, second = await events.take(2)
    assert (first["type"], first["object"]["kind"]) == ("ADDED", "Table")
    assert first["object"]["columnDefinitions"]
    assert second["object"]["columnDefinitions"] is None
    assert second["object"]["rows"][0]["cells"][0] == "two"


async def test_metadata_alone_can_be_asked_for(lab: LabServer, client: Client) -> None:
    lab.cluster.create(HPAS, hpa())
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    one = await client.get(HPA_PATH + "/web", {"Accept": accept})
    assert (one["kind"], set(one)) == ("PartialObjectMetadata", {"kind", "apiVersion", "metadata"})
    many = await client.get(HPA_PATH, {"Accept": accept.replace("Metadata;", "MetadataList;")})
    assert [item["metadata"]["name"] for item in many["items"]] == ["web"]


async def test_a_scale_has_columns_of_its_own(client: Client) -> None:
    await client.request("POST", DEPLOYMENT_PATH, deployment(replicas=3))
    path = DEPLOYMENT_PATH + "/web/scale"
    table = await client.get(path, TABLE)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert [row["cells"][:3] for row in table["rows"]] == [["web", 3, 0]]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert (await client.get(path, TABLE, includeObject="Object"))["rows"][0]["object"]["spec"] == {"replicas": 3}
    changed = {"metadata": {"name": "web"}, "spec": {"replicas": 4}}
    assert (await client.request("PUT", path, changed, TABLE)).body["rows"][0]["cells"][:2] == ["web", 4]
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert (await client.get(path, {"Accept": accept}))["kind"] == "PartialObjectMetadata"


async def test_what_cannot_be_produced_is_not_acceptable(client: Client) -> None:
    for accept in (
        "text/plain",
        "application/json;as=Odd;g=meta.k8s.io;v=v1",
        "application/vnd.kubernetes.protobuf",
    ):
        assert (await client.request("GET", HPA_PATH, headers={"Accept": accept})).status == 406
