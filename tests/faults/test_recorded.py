"""The checker of recordings finds what is wrong, and nothing else."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from tests.e2e.faults.recorded import held, judged, ticks

if TYPE_CHECKING:
    from pathlib import Path

GOOD = {"type": "ExternalReading"}
FAILED = {"type": "ReadFailure", "message": "no answer"}


def tick(replicas: int, scaled_to: int | None, *readings: dict[str, str]) -> dict[str, Any]:
    return {
        "hpa": "faults/shop",
        "time": "2026-01-01T00:00:00Z",
        "scale": {"type": "Scale", "replicas": replicas},
        "readings": readings,
        "outcome": {"scaledTo": scaled_to},
    }


def test_shrinking_on_a_failed_reading_is_found() -> None:
    [found] = held([tick(5, 4, GOOD, GOOD), tick(5, 3, GOOD, FAILED)])
    assert str(found) == "held: faults/shop went from 5 to 3 at 2026-01-01T00:00:00Z, on: no answer"


def test_growing_or_staying_on_a_failed_reading_is_fine() -> None:
    assert held([tick(3, 5, GOOD, FAILED), tick(3, None, FAILED), tick(3, 3, FAILED)]) == []


def test_a_sync_without_a_scale_or_an_outcome_is_fine() -> None:
    failure = {"type": "ScaleFailure", "message": "gone"}
    assert held([tick(3, None) | {"scale": failure}, {**tick(3, 2, FAILED), "outcome": None}]) == []


def test_a_file_of_a_killed_process_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path, lines = tmp_path / "hpa-0.jsonl.gz", [{"format": "hpa-recording/2"}, tick(5, 3, FAILED), tick(3, 3)]
    texts = [json.dumps(line).encode() + b"\n" for line in lines]
    for unfinished in (b"".join(texts), b"".join(texts) + texts[-1][:20]):
        path.write_bytes(gzip.compress(unfinished))
        assert [one["outcome"] for one in ticks(path)] == [{"scaledTo": 3}, {"scaledTo": 3}]
    path.write_bytes(gzip.compress(b"".join(texts[:2])) + gzip.compress(texts[2])[:-8])
    assert [one["outcome"] for one in ticks(path)][:1] == [{"scaledTo": 3}]


def test_a_life_that_ended_before_its_first_sync_is_fine(tmp_path: Path) -> None:
    assert judged(tmp_path) == []
    (tmp_path / "hpa-0.jsonl.gz").write_bytes(b"")
    assert judged(tmp_path) == []
