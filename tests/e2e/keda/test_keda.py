"""HPAs of KEDA's making: ours scales them as the built-in controller does, and leaves alone what KEDA wrote."""

from __future__ import annotations

import dataclasses
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest_asyncio

from tests.e2e import autoscalers
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.keda.programs import FINALIZER, USER
from tests.e2e.keda.sides import FLAGS, builtin_side, our_side, play, written_sizes
from tests.e2e.keda.stage import KEPT_FINALIZER, Side
from tests.e2e.keda.stories import ANNOTATIONS, HPA, LABELS, STORIES, TARGET, Writer
from tests.e2e.keda.writes import accepted, changed_metadata, status_writes
from tests.e2e.side_by_side.compare import compare, report
from tests.e2e.side_by_side.runner import ATTEMPTS, BROKEN
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    import pytest

    from tests.e2e.audited import Audited
    from tests.e2e.side_by_side.compare import Observed

NAME = "with-keda"
# The builds find themselves, as the tests do, at the root of the project.
ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).parents[3])}
KEPT = ("labels", "annotations", "ownerReferences")


@dataclasses.dataclass(frozen=True)
class Played:
    """All stories on both sides; `ours` is the side of our controller, which has ended."""

    builtin: dict[str, Sequence[Observed]]
    other: dict[str, Sequence[Observed]]
    astray: list[str]
    ours: Side
    written: list[tuple[str, Audited]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def played(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Played]:
    """What differs for once is played again: how a busy machine shares out its time differs each time."""
    async with AsyncExitStack() as stack:
        builtin = await stack.enter_async_context(builtin_side(tmp_path_factory.mktemp("builtin")))
        ours = await stack.enter_async_context(our_side(tmp_path_factory.mktemp("ours"), NAME))
        before: dict[str, Sequence[Observed]] = {}
        after: dict[str, Sequence[Observed]] = {}
        astray: list[str] = []
        chosen = STORIES
        async with ControllerProcess.start(ours.plane, NAME, *FLAGS):
            for _ in range(ATTEMPTS):
                (left, right), astray = await play((builtin, ours), chosen)
                before |= left
                after |= right
                differing = {difference.scenario for difference in compare(before, after)}
                if not differing and not astray:
                    break
                print(report(before, after), *astray, sep="\n")  # noqa: T201  # seen when a test fails, and with -s
                chosen = tuple(story for story in chosen if story.name in differing or _names(astray, story.name))
        yield Played(before, after, astray, ours, accepted(ours.plane))


def _names(lines: Sequence[str], story: str) -> bool:
    return any(f": {story} /" in line or f": {story}:" in line for line in lines)


async def test_every_step_is_the_same_and_comes_to_where_it_is_meant_to(played: Played) -> None:
    text = "\n".join([report(played.builtin, played.other), *played.astray])
    print(text)  # noqa: T201  # the same
    assert not compare(played.builtin, played.other), text
    assert not played.astray, text
    assert set(played.other) == {story.name for story in STORIES}


async def test_keda_and_hpa_hand_the_target_to_each_other_between_zero_and_one(played: Played) -> None:
    for recording in (played.builtin, played.other):
        written = written_sizes(recording)
        for story in (one for one in STORIES if one.minimum == 0):
            text = str(written[story.name])
            # Away from zero and back to it is KEDA's, all above one the HPA's.
            assert text.startswith(f"{Writer.KEDA} 1, {Writer.HPA} "), story.name
            assert f"{Writer.HPA} 1, {Writer.KEDA} 0" in text, story.name
            assert f"{Writer.HPA} 0" not in text, story.name
        assert all(Writer.KEDA not in str(written[story.name]) for story in STORIES if story.minimum == 1), (
            "above zero it is the HPA's alone"
        )


async def test_status_writes_leave_alone_what_keda_wrote(played: Played) -> None:
    written = {request.namespace for request in status_writes(played.written, NAME)}
    assert len(written) >= len(STORIES)
    assert changed_metadata(played.written, NAME) == []
    made = [
        request.got
        for _, request in played.written
        if (request.verb, request.resource) == ("create", "horizontalpodautoscalers")
    ]
    assert {one["metadata"]["namespace"] for one in made} == written
    for first in made:
        namespace = first["metadata"]["namespace"]
        now = await played.ours.plane.admin.get(autoscalers.path(namespace, HPA))
        for field in KEPT:
            assert json.dumps(now["metadata"][field]) == json.dumps(first["metadata"][field])
        assert now["metadata"]["labels"].items() > LABELS.items()
        assert now["metadata"]["annotations"] == ANNOTATIONS
        (owner,) = now["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("ScaledObject", TARGET, True)
        # When KEDA itself writes an HPA anew, a finalizer that others gave it goes.
        if not _edited(namespace):
            assert now["metadata"]["finalizers"] == [KEPT_FINALIZER]
        scaled = await _scaled_object(played.ours, namespace)
        assert scaled["metadata"]["finalizers"] == [FINALIZER]


async def test_keda_is_taken_for_no_foreign_writer_when_it_edits_its_hpas(played: Played) -> None:
    edits = [
        request
        for user, request in played.written
        if (user, request.verb, request.resource) == (USER, "update", "horizontalpodautoscalers")
    ]
    assert any(_edited(request.namespace) for request in edits)
    events = await played.ours.plane.admin.get("/api/v1/events", {"fieldSelector": "reason=ForeignWriter"})
    assert events["items"] == []


async def test_a_status_write_that_drops_labels_would_be_noticed(played: Played) -> None:
    admin = played.ours.plane.admin
    namespace = next(request.namespace for request in status_writes(played.written, NAME))
    autoscaler = await admin.get(autoscalers.path(namespace, HPA))
    del autoscaler["metadata"]["labels"]
    autoscaler["status"]["desiredReplicas"] += 1
    await admin.replace(autoscalers.path(namespace, HPA, "status"), autoscaler)

    async def found() -> list[str]:
        return changed_metadata(accepted(played.ours.plane), "e2e-admin")

    lines = await wait_until(found, "the write in the audit log")
    assert lines is not None
    assert any(line.startswith(f"{namespace}/{HPA}: labels was ") for line in lines)


async def test_a_controller_that_does_not_pause_at_zero_would_be_noticed(played: Played) -> None:
    """By its conditions, and by what KEDA makes of them."""
    whole = STORIES[0]
    (first, *_) = whole.steps
    story = dataclasses.replace(whole, steps=(dataclasses.replace(first, timeout_s=15.0),), writes=())
    side = dataclasses.replace(played.ours, user="broken")
    async with ControllerProcess.start(side.plane, "broken", *FLAGS, program=BROKEN, environment=ENVIRONMENT):
        (recording,), astray = await play((side,), (story,), "never-paused")
    assert any(f": {story.name} / {first.name}: not 0 replicas" in line for line in astray)
    shown, meant = recording[story.name][0], played.builtin[story.name][0]
    differing = {one.field for one in compare({story.name: [meant]}, {story.name: [shown]})}
    assert {"conditions", "of KEDA"} <= differing


def _edited(namespace: str) -> bool:
    """Whether it belongs to a story in which KEDA has to change its HPA."""
    return any(f"-{story.name}-" in namespace and any(step.edit for step in story.steps) for story in STORIES)


async def _scaled_object(side: Side, namespace: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = await side.plane.admin.get(
        f"/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects/{TARGET}"
    )
    return found
