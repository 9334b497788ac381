"""The recorded cases: what the API server of Kubernetes 1.36.3 made of 300 manifests."""

import json
from pathlib import Path
from typing import Any

import pytest

from controller.manifest.admission import Admission, DefaultGates, admit
from controller.manifest.load import Document, documents
from controller.manifest.tree import show
from tests.manifest.manifests import without_empty

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "manifests.jsonl").read_text(encoding="utf-8").splitlines()
]


def test_all_cases_are_there() -> None:
    assert len(CASES) == 300
    assert sum(not case["errors"] for case in CASES) == sum("defaulted" in case for case in CASES) > 50


@pytest.mark.parametrize("start", ["", "---\n"], ids=["json", "yaml"])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_recorded(number: int, start: str) -> None:
    case: dict[str, Any] = CASES[number]
    (document,) = documents("case", (start + json.dumps(case["manifest"])).encode())
    assert isinstance(document, Document)
    admission = admit(document, DefaultGates())
    assert isinstance(admission, Admission)
    found = sorted([show(problem.path), problem.kind] for problem in admission.problems)
    assert found == sorted(case["errors"])
    assert all(problem.message for problem in admission.problems)
    if not case["errors"]:
        assert without_empty(admission.stored) == without_empty(case["defaulted"])
