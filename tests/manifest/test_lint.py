"""`lint` from files to lines: order, text, JSON."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from controller.decide.spec import Gates
from controller.manifest import render
from controller.manifest.admission import DefaultGates
from controller.manifest.lint import LintResult, failed, lint, lint_files
from controller.manifest.load import documents
from tests.manifest.manifests import GONE, as_stored, v2

TEXT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 3}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
  namespace: shop
spec:
  minReplica: 2
  scaleTargetRef:
    kind: Deployment
    name: web
  maxReplicas: 0
---
a: [
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: typed, labels: {version: 1.5}}
spec: {maxReplicas: "5"}
---
apiVersion: v1
kind: ConfigMap
---
Kind: HorizontalPodAutoscaler
"""


def _lint(text: str) -> list[LintResult]:
    return lint(documents("web.yaml", text.encode()), DefaultGates())


def test_text() -> None:
    assert render.text(_lint(TEXT)) == [
        (
            "web.yaml:13: error: spec.scaleTargetRef.apiVersion: Invalid: '' names no API group; "
            "write group/version, as in apps/v1"
        ),
        "web.yaml:16: error: spec.maxReplicas: Required: write the largest number of replicas, 1 or more",
        "web.yaml:16: error: spec.maxReplicas: Invalid: 0 is smaller than minReplicas; write 1 or more",
        (
            "web.yaml:12: advice: spec.minReplica: autoscaling/v2 has no such field and ignores it "
            "(kubectl refuses it by default); did you mean minReplicas? [unknown-field]"
        ),
        "web.yaml:18: error: Undecodable: not YAML: did not find expected node content while parsing a flow node",
        (
            "web.yaml:22: error: metadata.labels.version: Undecodable: a text is expected, found the number 1.5; "
            "put it in quotes"
        ),
        (
            "web.yaml:23: error: spec.maxReplicas: Undecodable: a whole number between -2147483648 and 2147483647 is "
            'expected, found the text "5"; remove the quotes'
        ),
        "web.yaml:28: error: kind: Undecodable: kind is missing; did you mean it by Kind?",
        "4 documents checked: 7 errors in 4 of them, 1 piece of advice",
    ]


def _json(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in render.json_lines(_lint(text))]


def test_json() -> None:
    invalid, broken, typed, without_kind = _json(TEXT)
    assert invalid["errors"] == [
        ["spec.maxReplicas", "FieldValueRequired"],
        ["spec.maxReplicas", "FieldValueInvalid"],
        ["spec.scaleTargetRef.apiVersion", "FieldValueInvalid"],
    ]
    assert [detail["line"] for detail in invalid["details"]] == [16, 16, 13]
    assert (invalid["file"], invalid["line"], invalid["name"]) == ("web.yaml", 6, "shop/web")
    assert invalid["defaulted"] is None
    assert [advice["kind"] for advice in invalid["advice"]] == ["unknown-field"]
    assert "message" not in invalid
    for undecodable in (broken, typed, without_kind):
        assert undecodable["errors"] == [["", "Undecodable"]]
        assert undecodable["defaulted"] is None
    assert typed["message"].startswith("metadata.labels.version: a text is expected")
    assert "; spec.maxReplicas: a whole number" in typed["message"]


def test_a_valid_document() -> None:
    (found,) = _json(json.dumps(v2()))
    assert found["errors"] == found["advice"] == []
    assert found["defaulted"] == as_stored(v2())
    results = _lint(json.dumps(v2()))
    assert render.text(results) == ["1 document checked: no errors, no advice"]
    assert not failed(results)
    assert failed(_lint(TEXT))


def test_nothing_of_ours() -> None:
    text = "kind: ConfigMap\n---\nkind: HorizontalPodAutoscaler\napiVersion: example.com/v1\n"
    assert render.text(_lint(text)) == ["no HorizontalPodAutoscaler found"]
    assert not failed(_lint(text))


def test_a_misspelt_group_is_ours() -> None:
    for api_version in ("autoscalling/v2", "v2"):
        manifest = v2({"apiVersion": api_version})
        (result,) = _lint(json.dumps(manifest))
        assert result.undecodable
        assert "write autoscaling/v2" in result.errors[0].message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("apiVersion: 2", "a text such as autoscaling/v2 is expected, found the number 2"),
        ("apiVersion:", "a text such as autoscaling/v2 is expected, found null"),
        ("apiVersion: ''", 'a text such as autoscaling/v2 is expected, found the text ""'),
        ("apiversion: autoscaling/v2", "apiVersion is missing; did you mean it by apiversion?"),
        ("a: b", "apiVersion is missing; write autoscaling/v2"),
    ],
)
def test_an_api_version_that_is_none_is_said_as_it_stands(line: str, message: str) -> None:
    (result,) = _lint(f"kind: HorizontalPodAutoscaler\n{line}\n")
    assert [(error.field, error.message) for error in result.errors] == [("apiVersion", message)]


REPEATED = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, name: web}
spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 4
  x: &x {a: 1, a: 2}
  y: [*x, *x]
"""


def test_of_a_key_that_is_there_twice_the_last_value_counts() -> None:
    (result,) = _lint(REPEATED)
    assert result.defaulted is not None
    assert result.defaulted["spec"]["maxReplicas"] == 4
    repeated = [finding for finding in result.advice if finding.kind == "key-repeated"]
    assert [(finding.field, finding.line) for finding in repeated] == [
        ("metadata.name", 3),
        ("spec.maxReplicas", 7),
        ("spec.x.a", 8),
    ]
    assert "on line 5 as well" in repeated[1].message
    (result,) = _lint(json.dumps(v2()).replace('"maxReplicas": 10', '"maxReplicas": 3,\n"maxReplicas": 4'))
    assert result.defaulted is not None
    assert result.defaulted["spec"]["maxReplicas"] == 4
    assert [(finding.kind, finding.line) for finding in result.advice] == [("key-repeated", 2)]
    # Objects of other kinds are not judged.
    assert _lint("kind: ConfigMap\na: 1\na: 2\n") == []


def test_another_kind_of_the_group_is_meant_as_ours() -> None:
    for kind, words in (
        ("HPA", "autoscaling/v2 has no HPA; write HorizontalPodAutoscaler, or the apiVersion that HPA is of"),
        ("horizontalpodautoscaler", "write HorizontalPodAutoscaler"),
        ("HorizontalPodAutoscalerList", "needs a list of items"),
    ):
        (result,) = _lint(json.dumps(v2({"kind": kind})))
        assert result.undecodable
        assert result.errors[0].message.endswith(words)
    assert _lint(json.dumps(v2({"kind": "Scale"}))) == []
    (result,) = _lint(json.dumps(v2({"kind": GONE})))
    assert "kind is missing" in result.errors[0].message


def test_the_gates_of_the_decisions_fit(tmp_path: Path) -> None:
    file = tmp_path / "zero.yaml"
    external = {"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value", "value": 1}}}
    file.write_text(json.dumps(v2({"spec.minReplicas": 0, "spec.metrics": [external]})))
    (on,) = lint_files([str(file)], io.BytesIO(), Gates(scale_to_zero=True))
    assert (on.errors, on.advice, on.file) == ((), (), str(file))
    (off,) = lint_files(["-"], io.BytesIO(file.read_bytes()))
    assert [(error.file, error.field) for error in off.errors] == [("stdin", "spec.minReplicas")]
    assert "HPAScaleToZero" in off.errors[0].message


def test_bytes_that_are_no_text_can_be_shown() -> None:
    results = lint(documents("f.yaml", b'{"a": "caf\xe9'), DefaultGates())
    (line,) = render.json_lines(results)
    assert json.loads(line)["errors"] == [["", "Undecodable"]]
    assert all(shown.isprintable() for shown in render.text(results))


def test_lines_are_lines_whatever_is_written() -> None:
    odd = "a\nb\x1b[31m" + "x" * 10_000
    manifest = v2({}) | {odd: 1}
    shown = render.text(_lint(json.dumps(manifest)))
    assert len(shown) == 2
    assert all(line.isprintable() and len(line) < 2_000 for line in shown)
