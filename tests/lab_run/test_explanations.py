"""`/explain` tells what was decided from what, and says in a sentence what it cannot tell."""

import json
from typing import Any

import aiohttp
import pytest

from controller.lab.lab import BUILT_IN
from controller.lab.scenario_files import load_scenario
from controller.telemetry.explanations import PATH, Standing, explain_route
from controller.telemetry.server import Listener
from tests.lab_run.runs import in_fast_time, running

PATHS = (
    "shop/web",
    "shop/worker",
    "shop/legacy?last=3",
    "shop/gone",
    "shop/web?last=0",
    "shop/web?last=x",
    "shop/web?last=101",
)


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[int, dict[str, Any]]]:
    """What is answered after some syncs of the built-in scenario."""

    async def story() -> dict[str, tuple[int, dict[str, Any]]]:
        async with running(load_scenario(BUILT_IN)) as run:
            await run.until(lambda: run.board.syncs["shop/web"] > 8, "some syncs")
            listener = Listener("127.0.0.1:0", {PATH: explain_route(run.traces, Standing(lambda _: None, None))})
            await listener.start()
            found = {}
            async with aiohttp.ClientSession(f"http://127.0.0.1:{listener.port}", trust_env=False) as session:
                for path in PATHS:
                    async with session.get(f"/explain/{path}") as answer:
                        found[path] = answer.status, json.loads(await answer.read())
            await listener.stop()
            return found

    return in_fast_time(story)


def test_a_decision_is_told_with_its_inputs_and_reasons(answers: dict[str, tuple[int, dict[str, Any]]]) -> None:
    status, body = answers["shop/web"]
    assert (status, body["hpa"], len(body["syncs"])) == (200, "shop/web", 1)
    [sync] = body["syncs"]
    assert sync["why"].startswith("metrics want ")
    assert sync["time"].endswith("Z")
    [metric] = sync["decision"]["evaluation"]["results"]
    pods = sync["observation"]["pods"]
    assert metric["working"]["grouping"]["verdicts"].keys() == {pod["name"] for pod in pods}
    assert sync["spec"]["replicas_max"] == 12


def test_the_last_syncs_are_told_oldest_first(answers: dict[str, tuple[int, dict[str, Any]]]) -> None:
    status, body = answers["shop/legacy?last=3"]
    assert status == 200
    times = [sync["time"] for sync in body["syncs"]]
    assert len(times) == 3
    assert times == sorted(times)
    assert all("missing request for cpu" in sync["why"] for sync in body["syncs"])


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("shop/gone", 404, "there is no HPA shop/gone"),
        ("shop/web?last=0", 400, "last: '0' is not a whole number from 1 to 100"),
        ("shop/web?last=x", 400, "last: 'x' is not a whole number from 1 to 100"),
        ("shop/web?last=101", 400, "last: '101' is not a whole number from 1 to 100"),
    ],
)
def test_what_cannot_be_told(answers: dict[str, tuple[int, dict[str, Any]]], path: str, status: int, said: str) -> None:
    assert answers[path] == (status, {"error": said})
