"""Kubernetes' own controller in virtual time decides as recorded, and we decide as it does where nothing is."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from controller.recording.check import check_file
from controller.recording.lines import find
from tests.e2e.programs import pinned_tools
from tests.e2e.reference.manifests import known_manifests, manifest
from tests.e2e.reference.program import PROGRAM, ReferenceFailedError, admitted, decided, lines_of, recorded, unlike
from tests.e2e.reference.worlds import without_outcome, world

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.e2e.reference.draws import Json

WORLDS = 1500
MANIFESTS = 4000
SEED = 1


def ticks_of(recordings: Path) -> Iterator[list[Json]]:
    """The ticks of each recording in a folder."""
    for path in find([recordings]):
        yield lines_of(path)[1:]


def reasons(ticks: Iterable[Json]) -> set[str]:
    """Why things were as they are, by their conditions, and what was told in events."""
    found: set[str] = set()
    for outcome in (tick["outcome"] for tick in ticks):
        found |= {f"{one['type']} {one['status']} {one['reason']}" for one in outcome["status"].get("conditions") or ()}
        found |= {reason for _, reason in outcome["events"]}
    return found


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Kubernetes' own controller decides in worlds that nobody has recorded."""
    known = recorded()
    return decided((world(known, SEED, number) for number in range(WORLDS)), tmp_path_factory.mktemp("drawn"))


def test_it_decides_as_it_did_in_every_recording(tmp_path: Path) -> None:
    known = recorded()
    assert len(known) == 900
    recordings = decided(([without_outcome(line) for line in lines] for lines in known), tmp_path)
    for lines in known:
        path = recordings / f"{lines[0]['name']}.jsonl"
        assert lines_of(path) == lines, path.name


def test_we_decide_as_it_does_in_worlds_that_nobody_has_recorded(drawn: Path) -> None:
    for path in find([drawn]):
        result = check_file(path)
        assert not result.differing, "\n".join([str(path), *result.lines])
        assert result.compared > 0, path


def test_in_these_worlds_everything_happens_that_happens_in_recordings(drawn: Path) -> None:
    everything = reasons(tick for lines in recorded() for tick in lines[1:])
    assert len(everything) > 30
    assert everything <= reasons(tick for ticks in ticks_of(drawn) for tick in ticks)


def test_many_of_these_worlds_last_and_follow_their_autoscaler(drawn: Path) -> None:
    long = [ticks for ticks in ticks_of(drawn) if len(ticks) >= 15 and ticks[-1]["t"] > 600]
    assert len(long) > WORLDS // 4
    followed = [
        following["scale"].get("spec") == left
        for ticks in long
        for tick, following in itertools.pairwise(ticks)
        if (left := tick["outcome"]["scaledTo"]) is not None
    ]
    assert sum(followed) > len(followed) // 4 > WORLDS // 4


def test_a_world_is_the_same_each_time_and_another_one_for_each_number() -> None:
    known = recorded()
    again = [world(known, SEED, number) for number in range(20)]
    assert again == [world(known, SEED, number) for number in range(20)]
    assert len({json.dumps(lines[1:]) for lines in again}) == 20


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"format": "hpa-recording/2"}, "its format is"),
        ({"start": "2026-01-31T12:00:00Z"}, "it starts at 2026-01-31"),
        ({"settings": {"featureGates": {"AllAlpha": True}}}, "feature gate AllAlpha is none of those that matter"),
        ({"setings": {}}, 'unknown field "setings"'),
    ],
)
def test_what_it_does_not_understand_is_refused(changed: Json, told: str, tmp_path: Path) -> None:
    header, *ticks = map(without_outcome, recorded()[0])
    with pytest.raises(ReferenceFailedError, match=told):
        decided([[header | changed, *ticks]], tmp_path)


def test_we_judge_manifests_as_the_api_server_does(tmp_path: Path) -> None:
    known = known_manifests()
    made = [manifest(known, SEED, number) for number in range(MANIFESTS)]
    outcomes = dict.fromkeys(("refused", "errors", "stored"), 0)
    for one, theirs in zip(made, admitted(made, tmp_path), strict=True):
        assert unlike(one, theirs) is None, one
        for outcome in theirs:
            outcomes[outcome] += 1
    assert min(outcomes.values()) > MANIFESTS // 20, outcomes


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("maxReplicas", 0),
        ("maxReplicas", "many"),
        ("maxReplicas", 7),
        ("metrics", None),
        ("behavior", {}),
    ],
)
def test_another_spec_is_seen(field: str, value: object, tmp_path: Path) -> None:
    right = known_manifests()[0]
    (theirs,) = admitted([right], tmp_path)
    assert unlike(right, theirs) is None
    assert unlike(right | {"spec": right["spec"] | {field: value}}, theirs)


def test_smaller_differences_are_seen(tmp_path: Path) -> None:
    labelled: Json = {"metadata": {"name": "web", "labels": {"empty": ""}}}
    right = known_manifests()[0] | labelled
    (theirs,) = admitted([right], tmp_path)
    assert unlike(right, theirs) is None
    stored: dict[str, Any] = theirs["stored"]
    number = stored["spec"]["maxReplicas"]
    for other in (
        stored | {"metadata": {"name": "web"}},
        stored | {"spec": stored["spec"] | {"maxReplicas": float(number)}},
        stored | {"status": {"desiredReplicas": 1, "currentMetrics": None}},
    ):
        assert unlike(right, {"stored": other})
    assert unlike(right, {"refused": "no"})
    assert unlike(right, {"errors": [["spec.maxReplicas", "FieldValueInvalid"]]})


@pytest.mark.skipif(shutil.which("gofmt") is None, reason="gofmt comes with Go, which is not in PATH")
def test_its_sources_are_formatted() -> None:
    command = ["gofmt", "-l", str(pinned_tools()[PROGRAM].folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
