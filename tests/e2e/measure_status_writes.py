"""What a status write costs kube-apiserver, as a PUT with the metadata kept and as a merge PATCH.

`python -m tests.e2e.measure_status_writes` starts a control plane, writes the status of one HPA many times both ways,
in turn, and prints the API server's CPU time and the bytes sent per write (docs/decisions/0004).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.e2e.control_plane import ControlPlane
from tests.e2e.namespaces import create_namespace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ROUNDS = 5
WRITES = 400


def status(number: int) -> dict[str, Any]:
    """A status of usual size, different each time."""
    conditions = [
        {"type": kind, "status": "True", "reason": "Measured", "message": "a message of the usual length " * 2}
        for kind in ("AbleToScale", "ScalingActive", "ScalingLimited")
    ]
    current = {"averageUtilization": number % 100, "averageValue": f"{number}m"}
    return {
        "currentReplicas": 3,
        "desiredReplicas": 3,
        "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": current}}],
        "conditions": conditions,
    }


def hpa(name: str) -> dict[str, Any]:
    """An HPA with the annotations that `kubectl apply` leaves."""
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 9}
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(spec) * 4}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "annotations": annotations, "labels": {"app": "web"}},
        "spec": spec,
    }


def cpu_s(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure() -> None:
    """Write, measure, print."""
    async with ControlPlane.start() as plane:
        namespace = await create_namespace(plane.admin, "measure")
        path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"
        known = await plane.admin.create(path, hpa("web"))
        sent = {"PUT": 0, "PATCH": 0}

        async def put(number: int) -> None:
            nonlocal known
            metadata = {key: value for key, value in known["metadata"].items() if key != "managedFields"}
            body = {key: known[key] for key in ("apiVersion", "kind")} | {"metadata": metadata}
            body["status"] = status(number)
            sent["PUT"] += len(json.dumps(body))
            known = await plane.admin.replace(f"{path}/web/status", body)

        async def patch(number: int) -> None:
            nonlocal known
            version = known["metadata"]["resourceVersion"]
            body = {"metadata": {"resourceVersion": version}, "status": status(number)}
            sent["PATCH"] += len(json.dumps(body))
            known = await plane.admin.patch(f"{path}/web/status", body)

        ways: dict[str, Callable[[int], Awaitable[None]]] = {"PUT": put, "PATCH": patch}
        pid = plane.api_server.pid
        totals = dict.fromkeys(ways, 0.0)
        for round_number in range(ROUNDS):
            for name, write in ways.items():
                began_s = cpu_s(pid)
                for number in range(WRITES):
                    await write(round_number * WRITES + number)
                totals[name] += cpu_s(pid) - began_s
        for name, total_s in totals.items():
            count = ROUNDS * WRITES
            cost_us = total_s / count * 1e6
            sys.stdout.write(f"{name:<6} {cost_us:7.0f} µs of API server CPU, {sent[name] / count:6.0f} bytes sent\n")
        sys.stdout.write(f"PATCH/PUT {totals['PATCH'] / totals['PUT']:.2f}\n")


if __name__ == "__main__":
    asyncio.run(measure())
