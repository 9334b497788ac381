"""Kubernetes' own controller in virtual time decides as recorded, and we decide as it does where nothing is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from controller.recording.lines import find, read_lines
from tests.e2e.reference.manifests import known_manifests, manifest
from tests.e2e.reference.program import admitted, checked, decided, recorded, unlike
from tests.e2e.reference.worlds import world

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.e2e.reference.draws import Json

WORLDS = 1500
MANIFESTS = 3000
SEED = 1


def ticks_of(recordings: Path) -> Iterable[Json]:
    """Every tick of a folder, without headers."""
    for path in find([recordings]):
        yield from (json.loads(line) for _, line in list(read_lines(path))[1:])


def reasons(ticks: Iterable[Json]) -> set[str]:
    """Why things were as they are, by their conditions, and what was told in events."""
    found: set[str] = set()
    for outcome in (tick["outcome"] for tick in ticks):
        found |= {f"{one['type']} {one['status']} {one['reason']}" for one in outcome["status"].get("conditions") or ()}
        found |= {reason for _, reason in outcome["events"]}
    return found


@pytest.fixture(scope="module")
def bred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Kubernetes' own controller decides in worlds that nobody has recorded."""
    known = recorded()
    worlds = ((f"bred-{number}", world(known, SEED, number)) for number in range(WORLDS))
    return decided(worlds, tmp_path_factory.mktemp("bred"))


def test_it_decides_as_it_did_in_every_recording(tmp_path: Path) -> None:
    known = {lines[0]["name"]: lines for lines in recorded()}
    assert len(known) == 900
    asked = ((name, [without_outcome(line) for line in lines]) for name, lines in known.items())
    recordings = decided(asked, tmp_path)
    for name, lines in known.items():
        again = [json.loads(line) for _, line in read_lines(recordings / f"{name}.jsonl")]
        assert again == lines, name


def without_outcome(line: dict[str, Any]) -> dict[str, Any]:
    """A line of a recording that tells nothing of what was decided."""
    return {name: field for name, field in line.items() if name != "outcome"}


def test_we_decide_as_it_does_in_worlds_that_nobody_has_recorded(bred: Path) -> None:
    compared = 0
    for path, result in checked(bred):
        assert not result.differing, "\n".join([str(path), *result.lines])
        compared += result.compared
    assert compared > 3 * WORLDS


def test_in_these_worlds_everything_happens_that_happens_in_recordings(bred: Path) -> None:
    everything = reasons(tick for lines in recorded() for tick in lines[1:])
    assert len(everything) > 30
    assert everything <= reasons(ticks_of(bred))


def test_we_judge_manifests_as_the_api_server_does(tmp_path: Path) -> None:
    known = known_manifests()
    made = [manifest(known, SEED, number) for number in range(MANIFESTS)]
    outcomes = dict.fromkeys(("refused", "errors", "stored"), 0)
    for one, theirs in zip(made, admitted(made, tmp_path), strict=True):
        assert unlike(one, theirs) is None, one
        for outcome in theirs:
            outcomes[outcome] += 1
    assert min(outcomes.values()) > MANIFESTS // 20, outcomes


def test_a_difference_between_judgements_is_seen(tmp_path: Path) -> None:
    right = known_manifests()[0]
    (theirs,) = admitted([right], tmp_path)
    assert unlike(right, theirs) is None
    spec = right["spec"]
    for wrong in ({"maxReplicas": 0}, {"maxReplicas": "many"}, {"maxReplicas": spec["maxReplicas"] + 1}):
        assert unlike(right | {"spec": spec | wrong}, theirs)
    assert unlike(right, {"refused": "no"})


def test_a_world_is_the_same_each_time_and_another_one_for_each_number() -> None:
    known = recorded()
    again = [world(known, SEED, number) for number in range(20)]
    assert again == [world(known, SEED, number) for number in range(20)]
    assert len({json.dumps(lines[1:]) for lines in again}) == 20
