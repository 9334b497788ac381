"""The controller scales every kind of target, up and down, on every kind of metric."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e import autoscalers
from tests.e2e.aggregation import register_metrics_apis, unregister_metrics_apis
from tests.e2e.load import Load
from tests.e2e.metrics_server import MetricsApi, MetricsServer
from tests.e2e.scaling_cases import Case, custom_cases, external_cases, resource_cases
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.api_client import ApiClient
    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.controller_process import ControllerProcess

pytestmark = pytest.mark.usefixtures("controller")


class OtherwiseError(Exception):
    """What is seen instead of what is expected, by name."""


async def test_every_kind_scales_on_every_kind_of_metric(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str
) -> None:
    values = metrics_server.values
    cases = [
        *resource_cases(values, namespace),
        *custom_cases(values, namespace),
        *external_cases(values, namespace),
    ]
    await play(control_plane.admin, namespace, cases)
    asked = {request.path for request in metrics_server.requests if f"/{namespace}/" in request.path}
    assert any("/custom.metrics.k8s.io/v1beta2/" in path for path in asked), "the preferred version is asked"
    assert not any("/custom.metrics.k8s.io/v1beta1/" in path for path in asked)


async def test_custom_metrics_are_read_in_the_older_version_where_there_is_no_other(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str
) -> None:
    admin = control_plane.admin
    await unregister_metrics_apis(admin, [(MetricsApi.CUSTOM, "v1beta2")])
    try:
        await play(admin, namespace, custom_cases(metrics_server.values, namespace))
    finally:
        await register_metrics_apis(admin, metrics_server.port, control_plane.files.authority)
    asked = {request.path for request in metrics_server.requests if f"/{namespace}/" in request.path}
    assert any("/custom.metrics.k8s.io/v1beta1/" in path for path in asked)
    # The version is believed for a sync period, so the first question may still be asked in the newer one.


async def test_a_failing_metric_permits_growth_but_no_shrinking(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str, controller: ControllerProcess
) -> None:
    case = next(case for case in external_cases(metrics_server.values, namespace) if case.name == "external-average")
    unknown = autoscalers.external("nobody-knows", averageValue="1")
    admin = control_plane.admin
    load = Load(case.publish, case.high_milli)
    await admin.create(case.kind.path(namespace), case.target())
    async with WorkloadPlayer(admin, case.kind, namespace, case.name, pods_seen=load.seen) as player:
        await player.settled(2)
        manifest = case.autoscaler()
        manifest["spec"]["metrics"] = [unknown, *case.metrics]
        await admin.create(autoscalers.path(namespace), manifest)
        await player.settled(4)
        load.change(case.low_milli)

        async def refuses() -> bool:
            found = await admin.get(autoscalers.path(namespace, case.name))
            return autoscalers.conditions(found).get("ScalingActive") == ("False", "FailedGetExternalMetric")

        await wait_until(refuses, "the failed metric to stop the HPA")
        await controller.synced(2)
        await player.settled(4)
        found = await admin.get(autoscalers.path(namespace, case.name))
        assert found["status"]["currentMetrics"][0] == {"type": ""}
        assert found["status"]["currentMetrics"][1]["external"]["current"] == {"averageValue": "2500m"}
        assert (found["status"]["currentReplicas"], found["status"]["desiredReplicas"]) == (4, 4)


async def play(admin: ApiClient, namespace: str, cases: Sequence[Case]) -> None:
    """All cases at once: two replicas, four under the high load, one under the low one."""
    loads = {case.name: Load(case.publish, case.high_milli) for case in cases}
    async with AsyncExitStack() as stack:
        players = {}
        for case in cases:
            await admin.create(case.kind.path(namespace), case.target())
            player = WorkloadPlayer(admin, case.kind, namespace, case.name, pods_seen=loads[case.name].seen)
            players[case.name] = await stack.enter_async_context(player)
        await asyncio.gather(*(player.settled(2) for player in players.values()))
        for case in cases:
            await admin.create(autoscalers.path(namespace), case.autoscaler())
        seen = await reached(admin, namespace, {case.name: case.grown for case in cases})
        for case in cases:
            assert autoscalers.conditions(seen[case.name])["ScalingLimited"] == case.limited_by, case.name
        for case in cases:
            loads[case.name].change(case.low_milli)
        await reached(admin, namespace, {case.name: case.shrunk for case in cases})
        for case in cases:
            rescales = [
                event["message"]
                for event in await autoscalers.events_of(admin, namespace, case.name)
                if event["reason"] == "SuccessfulRescale"
            ]
            assert f"New size: {case.grown}; reason: {case.reported} above target" in rescales, case.name
            assert f"New size: {case.shrunk}; reason: All metrics below target" in rescales, case.name


async def reached(admin: ApiClient, namespace: str, replicas: Mapping[str, int]) -> Mapping[str, Mapping[str, Any]]:
    """The HPAs by name as soon as all of them have and want so many replicas, because of their metrics."""

    async def everywhere() -> Mapping[str, Mapping[str, Any]]:
        listed = (await admin.get(autoscalers.path(namespace)))["items"]
        found = {item["metadata"]["name"]: item for item in listed}
        other = {name: problem for name, item in found.items() if (problem := otherwise(item, replicas[name]))}
        if other:
            raise OtherwiseError(other)
        return found

    return await wait_until(everywhere, f"these replicas: {replicas}", timeout_s=30.0, ignoring=(OtherwiseError,))


def otherwise(autoscaler: Mapping[str, Any], replicas: int) -> object:
    """What an HPA says that is not yet as it should be; None when all is."""
    status = autoscaler.get("status", {})
    conditions = autoscalers.conditions(autoscaler)
    counts = (status.get("currentReplicas"), status.get("desiredReplicas"))
    if counts == (replicas, replicas) and conditions.get("ScalingActive") == ("True", "ValidMetricFound"):
        return None
    return counts, autoscaler.get("status", {}).get("conditions")
