"""With --shadow, ours looks on while the built-in controller scales, and finds nothing that it would do otherwise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.e2e.side_by_side.broken.builds import BUILDS
from tests.e2e.side_by_side.runner import ATTEMPTS, BROKEN, builtin_plane, play_parts, shadowing
from tests.e2e.side_by_side.scenarios import SCENARIOS

if TYPE_CHECKING:
    import pytest

_WHOLE = "whole"
_OUT_OF_SIGHT = {
    "percent-cut-off": "it shows in the first decision only, before which a shadow has seen nothing",
    "windows-a-second-longer": "the same: it shows in a value that is there for one look only",
    "no-resource-version": "a shadow writes nothing",
    "unready-counted-when-stuck": "what it decides changes the pods, and a look before or after sees others",
    "rescales-forgotten": "a shadow writes no scale and so has no rescales of its own to forget",
}
"""Builds that no shadow can be told from a whole one by, and why."""


async def test_only_a_build_that_decides_otherwise_finds_logic_that_differs(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    by_name = {scenario.name: scenario for scenario in SCENARIOS}
    parts = {
        build.name: [by_name[name] for name in build.scenarios] for build in BUILDS if build.name not in _OUT_OF_SIGHT
    }
    # Both shadows see all namespaces, so that what is played for a build is played for the whole one, too.
    played = {name for build in BUILDS if build.name in parts for name in build.scenarios}
    parts[_WHOLE] = [one for one in SCENARIOS if one.name not in played and not one.has_glimpse]
    wanted, compared = {build.name for build in BUILDS} - set(_OUT_OF_SIGHT), 0
    for _ in range(ATTEMPTS):
        async with (
            builtin_plane(tmp_path_factory.mktemp("shadowed")) as (plane, server),
            shadowing(plane, "shadow") as whole,
            shadowing(plane, "broken-shadow", BROKEN) as broken,
        ):
            await play_parts(plane, server, parts)
            ours, of_broken = await whole.compared(), await broken.compared()
            requests = whole.requests()
        assert [request for request in requests if request.writes] == []
        compared += ours["comparisons"]
        wrong = _logic(ours)
        wanted -= {name for name in wanted if _logic(of_broken, f"{name}-")}
        if not wrong and not wanted:
            break
        parts = {
            part: [one for one in played if part in wanted or _logic(ours, f"{part}-{one.name}-")]
            for part, played in parts.items()
        }
    assert wrong == []
    assert wanted == set(), "builds whose logic does not differ in the eyes of a shadow"
    assert compared > 2 * len(SCENARIOS)


def _logic(seen: dict[str, Any], hpa_prefix: str = "") -> list[dict[str, Any]]:
    return [
        one
        for one in seen["latest"]
        if one["class"] == "logic" and one["hpa"].startswith(hpa_prefix) and not _divided_otherwise(one)
    ]


def _divided_otherwise(difference: dict[str, Any]) -> bool:
    """Whether only averages per pod differ: they divide by the count in the target's status, which no HPA tells of.

    The count comes a moment after the one in the spec, on a busy machine much later, and of two controllers one sees it
    first.
    """
    return all(
        field["name"] == "currentMetrics" and _undivided(field["theirs"]) == _undivided(field["ours"])
        for field in difference["fields"]
    )


def _undivided(metrics: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(metrics)
    for metric in found:
        for source in ("external", "object"):
            metric.get(source, {}).get("current", {}).pop("averageValue", None)
    return found
