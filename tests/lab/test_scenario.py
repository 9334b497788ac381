"""Scenario files: what they hold, and what is said about those that cannot be used."""

import re
from pathlib import Path

import pytest

from controller.lab.lab import BUILT_IN, Lab
from controller.lab.scenario import ScenarioError, load_scenario

ROOT = Path(__file__).parents[2]
LAB = "apiVersion: lab.hpa-controller.io/v1alpha1\nkind: "
HPA = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 4
  maxReplicas: 2
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1", r"mine.yaml:1: not YAML: .*"),
        ("- 1", r"mine.yaml:1: a Kubernetes object is a mapping, this is a list"),
        ("\n\nkind: Pod", r"mine.yaml:3: apiVersion is missing"),
        ("apiVersion: v1\nkind: Pod\nmetadata: []", r"mine.yaml:1: metadata: must be a mapping"),
        ("---\n" + LAB + "Lod", r"mine.yaml:2: kind 'Lod' is unknown, .* has Lab, Load, Timeline"),
        (LAB + "Lab\nspec: {nods: 3}", r"mine.yaml:1: Lab: Object contains unknown field `nods`.*"),
        (LAB + "Lab\nspec: {scrapeInterval: soon}", r"mine.yaml:1: Lab: 'soon': a duration is .*"),
        (
            LAB + "Load\nmetadata: {name: l}\nspec: {target: {kind: Deployment, name: web}}",
            r"mine.yaml:1: Load l: a Load has one of service, queue and equivalent.*",
        ),
        (
            LAB + "Load\nmetadata: {name: l}\nspec: {target: {name: web}}",
            r"mine.yaml:1: Load l: Object missing required field `kind`, at `spec.target`",
        ),
        (LAB + "Timeline\nspec: {steps: [{at: 3s}]}", r"mine.yaml:1: Timeline: a step has one of .*"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(tmp_path, text))
    assert re.fullmatch(f"{re.escape(str(tmp_path))}/{said}", str(caught.value)), caught.value


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"gone\.yaml: No such file"):
        load_scenario(tmp_path / "gone.yaml")


async def test_an_object_that_the_api_server_refuses_is_named_with_its_field(tmp_path: Path) -> None:
    scenario = load_scenario(write(tmp_path, HPA))
    with pytest.raises(ScenarioError, match=r"mine\.yaml:2: .*spec\.maxReplicas: Invalid value: 2"):
        Lab(scenario, tmp_path)


async def test_kinds_that_the_lab_does_not_know_are_left_out_and_said_so(tmp_path: Path) -> None:
    text = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"
    lab = Lab(load_scenario(write(tmp_path, text)), tmp_path)
    assert [note.partition(": ")[2] for note in lab.notes] == [
        "PodDisruptionBudget web is left out: the lab has no such kind"
    ]


async def test_lists_namespaces_and_empty_documents_are_taken_as_they_come(tmp_path: Path) -> None:
    text = """
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}
- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
"""
    lab = Lab(load_scenario(write(tmp_path, text)), tmp_path)
    assert lab.cluster.get("configmaps", "a", "shop")
    assert lab.notes == []


async def test_a_target_without_load_gets_one_unless_the_file_has_loads(tmp_path: Path) -> None:
    lab = Lab(load_scenario(write(tmp_path, HPA.replace("minReplicas: 4", "minReplicas: 1"))), tmp_path)
    assert lab.look()[0].load == "0.0 pods' worth"
    built_in = Lab(load_scenario(BUILT_IN), tmp_path)
    assert {view.name: bool(view.load) for view in built_in.look()} == {
        "api": True,
        "legacy": False,
        "web": True,
        "worker": True,
    }


async def test_the_example_of_the_documentation_loads(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "lab.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        lab = Lab(load_scenario(write(tmp_path, block)), tmp_path)
        assert lab.notes == []
        assert all(view.load for view in lab.look())
