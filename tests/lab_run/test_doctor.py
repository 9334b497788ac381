"""`doctor` against a cluster that is served over HTTP: the built-in lab has one HPA that cannot work."""

import asyncio
import contextlib
import io
import json
from collections import Counter
from typing import Any, Final

import pytest

from controller.cli.main import main
from controller.lab.lab import BUILT_IN
from controller.lab.scenario_files import load_scenario
from tests.lab_run.runs import in_fast_time, running

SPEED: Final = 10.0
"""A request for metrics that timed out on a busy machine would be another finding: it has seconds of real time."""


def _told(words: list[str]) -> tuple[int, dict[str, Any]]:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = main(words)
    return code, json.loads(said.getvalue())


@pytest.fixture(scope="module")
def examined() -> dict[str, tuple[int, dict[str, Any]]]:
    """Exit code and findings by namespace."""

    async def story() -> dict[str, tuple[int, dict[str, Any]]]:
        async with running(load_scenario(BUILT_IN), speed=SPEED) as run:

            def settled() -> bool:
                seen = run.board.last
                return len(seen) == 4 and {key for key in seen if seen[key].error} == {"shop/legacy"}

            await run.until(settled, "every HPA but the broken one to have its metrics")
            # A sync is told of before its status is written, and the next one begins after that.
            before = Counter(run.board.syncs)
            await run.until(lambda: all(run.board.syncs[key] > before[key] for key in before), "every status")
            words = ["doctor", "--kubeconfig", str(run.lab.kubeconfig), "--output", "json"]
            return {
                namespace: await asyncio.to_thread(_told, [*words, "-n", namespace])
                for namespace in ("shop", "nowhere")
            }

    return in_fast_time(story, SPEED)


def test_the_one_that_is_broken_is_found(examined: dict[str, tuple[int, dict[str, Any]]]) -> None:
    code, report = examined["shop"]
    assert code == 1
    assert report["hpas"] == 4
    problems = [one for one in report["findings"] if one["severity"] == "problem"]
    assert [(one["about"], one["code"]) for one in problems] == [("shop/legacy", "request-missing")]
    assert "container app of Deployment legacy has no request of cpu" in problems[0]["text"]


def test_what_could_not_be_looked_at_is_said(examined: dict[str, tuple[int, dict[str, Any]]]) -> None:
    _, report = examined["shop"]
    assert [text for text in report["missing"] if text.startswith("no controller was asked")]


def test_an_empty_namespace_is_healthy(examined: dict[str, tuple[int, dict[str, Any]]]) -> None:
    code, report = examined["nowhere"]
    assert (code, report["hpas"], report["findings"]) == (0, 0, [])
