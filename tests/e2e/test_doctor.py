"""`hpa-controller doctor` finds each of the things that are broken in a real cluster, and says what to do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.e2e import autoscalers
from tests.e2e.api_client import ApiError
from tests.e2e.doctor_scene import DoctorScene

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# Severity, and a word of the remedy, by code and what it is about.
FINDINGS = {
    ("request-missing", "requestless"): ("problem", "set resources.requests.cpu"),
    ("container-missing", "containers"): ("problem", "write one of app"),
    ("selectors-overlap", "broad"): ("problem", "a label of its own"),
    ("selectors-overlap", "narrow"): ("problem", "a label of its own"),
    ("same-target", "twin-a"): ("problem", "one HPA"),
    ("same-target", "twin-b"): ("problem", "one HPA"),
    ("target-missing", "orphan"): ("problem", "scaleTargetRef"),
    ("target-not-scalable", "agent"): ("problem", "a target that has one"),
    ("foreign-writer", "contested"): ("problem", "-horizontal-pod-autoscaler-controller"),
    ("metrics-stale", "stale"): ("problem", "the source of that metric"),
    ("api-missing", "custom.metrics.k8s.io"): ("problem", "install an adapter"),
    ("scaling-inactive", "adapterless"): ("problem", "explain"),
    ("zero-without-signal", "signless"): ("problem", "an Object or External metric"),
    ("gate-differs", "HPAScaleToZero"): ("problem", "--feature-gates=HPAScaleToZero=true"),
    ("replicas-set", "applied"): ("advice", "take spec.replicas out"),
    ("pinned-at-max", "pinned"): ("advice", "raise maxReplicas"),
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[DoctorScene]:
    """Set up once, because it is only looked at."""
    async with DoctorScene.set_up(tmp_path_factory.mktemp("doctor")) as scene:
        yield scene


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def report(scene: DoctorScene) -> dict[str, Any]:
    """All that it says of the broken namespace."""
    ended = await scene.doctor("--output=json", namespace=scene.namespace)
    assert (ended.status, ended.errors) == (1, "")
    told: dict[str, Any] = json.loads(ended.output)
    return told


def test_all_that_is_broken_is_found_and_nothing_else(scene: DoctorScene, report: dict[str, Any]) -> None:
    found = {(one["code"], one["about"].removeprefix(f"{scene.namespace}/")) for one in report["findings"]}
    assert found == set(FINDINGS)
    assert len(report["findings"]) == len(FINDINGS), "each is said once"
    assert report["missing"] == [], "everything could be looked at"
    assert report["hpas"] == 15


@pytest.mark.parametrize(("code", "about"), FINDINGS, ids="-of-".join)
def test_each_finding_has_its_weight_and_a_remedy(
    scene: DoctorScene, report: dict[str, Any], code: str, about: str
) -> None:
    keys = {about, f"{scene.namespace}/{about}"}
    [finding] = [one for one in report["findings"] if one["code"] == code and one["about"] in keys]
    severity, remedy = FINDINGS[code, about]
    assert finding["severity"] == severity
    assert remedy in finding["remedy"]
    assert finding["text"]


async def test_for_people_there_is_a_line_for_each_and_a_count(scene: DoctorScene) -> None:
    ended = await scene.doctor(namespace=scene.namespace)
    *lines, summary = ended.output.splitlines()
    assert ended.status == 1
    assert len(lines) == len(FINDINGS)
    assert all(any(f": {code}: " in line for line in lines) for code, _ in FINDINGS)
    advice = [severity for severity, _ in FINDINGS.values()].count("advice")
    assert summary == f"15 HPAs checked: {len(FINDINGS) - advice} problems, {advice} pieces of advice"


async def test_where_all_is_well_nothing_is_found(scene: DoctorScene) -> None:
    ended = await scene.doctor(namespace=scene.sound)
    assert (ended.status, ended.output) == (0, "1 HPA checked: nothing found\n")


async def test_the_api_server_itself_refuses_zero_without_a_signal(scene: DoctorScene) -> None:
    """Which is why the scene puts such an HPA into etcd."""
    with pytest.raises(ApiError, match="at least one Object or External metric"):
        await scene.change(
            "healthy", {"minReplicas": 0, "metrics": [autoscalers.resource("cpu", averageUtilization=50)]}
        )
