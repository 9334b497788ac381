"""Whatever goes wrong between the controller and its cluster, it decides what it would have decided."""

from collections.abc import Callable
from pathlib import Path

import pytest

from controller.lab.named_faults import NAMED
from controller.lab.scenario_files import load_scenario
from tests.lab_run.runs import Run, in_fast_time, running

SCENARIO = load_scenario(Path(__file__).with_name("plateaus.yaml"))
LOADS = ("cpu", "pods", "external")
PLATEAUS = (2, 6, 3)
"""So far apart that no neighbouring count is within the tolerance: whatever the way, only one count stays."""


TOGETHER = {
    "watches": ("watch-drop", "watch-half-open", "watch-expired", "watch-duplicate"),
    "order": ("watch-reorder",),
    "requests": ("conflict", "throttle", "api-drop", "api-slow"),
    "metrics": ("metrics-slow", "metrics-fail", "metrics-garbage", "metrics-empty"),
    "restart": ("api-restart",),
}


async def _climbed(run: Run, expected: list[dict[str, int]] | None = None) -> list[dict[str, int]]:
    """What is decided on each plateau, awaited until it is reached."""
    found = []
    for number, height in enumerate(PLATEAUS):
        for load in LOADS:
            # A little less than whole: values are rounded up on their way, and never beyond the next count.
            run.lab.hold("default", load, height - 0.3)
        await run.until(_reached(run, expected[number] if expected else dict.fromkeys(LOADS, height)), f"load {height}")
        found.append(run.desired())
    return found


def _reached(run: Run, wanted: dict[str, int]) -> Callable[[], bool]:
    return lambda: run.desired() == wanted


def test_every_fault_is_tried() -> None:
    assert sorted(name for names in TOGETHER.values() for name in names) == sorted(NAMED)


@pytest.fixture(scope="module")
def undisturbed() -> list[dict[str, int]]:
    """The decisions of a run without faults."""

    async def story() -> list[dict[str, int]]:
        async with running(SCENARIO) as run:
            return await _climbed(run)

    return in_fast_time(story)


# A connection that the lab's server accepts in the moment in which it is stopped is left to the collector by asyncio.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("faults", TOGETHER.values(), ids=TOGETHER)
def test_faults_do_not_change_what_is_decided(undisturbed: list[dict[str, int]], faults: tuple[str, ...]) -> None:
    async def story() -> None:
        async with running(SCENARIO, faults) as run:

            def struck() -> bool:
                told = [key[0] for key, (happening, _) in run.board.happenings.items() if happening.kind == "fault"]
                return set(told) == set(faults)

            # It climbs up and down before, while and after every fault has struck.
            assert await _climbed(run, undisturbed) == undisturbed
            await run.until(struck, "every fault must strike")
            assert await _climbed(run, undisturbed) == undisturbed

    in_fast_time(story)
