"""Scenario files: what they hold, and what is said about those that cannot be used."""

import re
from pathlib import Path

import pytest

from controller.lab.lab import BUILT_IN, Lab
from controller.lab.scenario import ScenarioError
from controller.lab.scenario_files import load_scenario

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


EQUIVALENT = "equivalent: {pods: {points: [{at: 0s, value: 1}]}}"


def load(spec: str, *, name: str = "l", target: str = "web") -> str:
    metadata = f"metadata: {{name: {name}}}\n" if name else ""
    return f"{LAB}Load\n{metadata}spec: {{target: {{kind: Deployment, name: {target}}}, {spec}}}"


def step(text: str) -> str:
    target = "target: {kind: Deployment, name: web}"
    return f"{LAB}Timeline\nspec: {{steps: [{{at: 1s, {text.replace('%s', target)}}}]}}"


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
        (
            LAB + "Lab\nspec: {prometheus: {rules: gone.yaml}}",
            r"mine.yaml:1: Lab: spec.prometheus.rules: there is no file .*/gone.yaml",
        ),
        (
            LAB + "Lab\nspec: {prometheus: {rules: mine.yaml, families: [pods]}}",
            r"mine.yaml:1: Lab: Invalid enum value 'pods', at `spec.prometheus.families.0.`",
        ),
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
        (LAB + "Timeline\nspec: {steps: [], repeatEvery: often}", r"mine.yaml:1: Timeline: 'often': a duration is .*"),
        (LAB + "Timeline\nspec: {steps: [], repeatEvery: 0s}", r"mine.yaml:1: Timeline: repeatEvery must be .*"),
        (step("deletePods: {%s, count: -1}"), r"mine.yaml:1: Timeline: .* >= 1, at `spec.steps\[0\].deletePods.count`"),
        (step("setReplicas: {%s, replicas: -1}"), r"mine.yaml:1: Timeline: .* >= 0, at `spec.steps\[0\]\..*`"),
        (
            step("metrics: {group: metrics, available: true}"),
            r"mine.yaml:1: Timeline: 'metrics' is none of metrics.k8s.io, custom.metrics.k8s.io, .*",
        ),
        (load("equivalent: {pods: {wave: {low: 1, high: .inf, period: 1m}}}"), r"mine.yaml:1: Load l: .* finite .*"),
        (load("equivalent: {pods: {points: [{at: 0s, value: .nan}]}}"), r"mine.yaml:1: Load l: .* finite numbers.*"),
        (
            load("queue: {perPod: .nan, externalMetric: {name: x}, arrivalsPerSecond: {points: [{at: 0s, value: 1}]}}"),
            r"mine.yaml:1: Load l: perPod must be a number from 0 on, at `spec.queue`",
        ),
        (
            load("service: {cpuPerRequest: -10m, requestsPerSecond: {points: [{at: 0s, value: 1}]}}"),
            r"mine.yaml:1: Load l: '-10m' must not be below 0, at `spec.service`",
        ),
        (load(EQUIVALENT, name=""), r"mine.yaml:1: Load: metadata.name is missing"),
        (
            load(EQUIVALENT) + "\n---\n" + load(EQUIVALENT, target="api"),
            r"mine.yaml:6: Load l: .*mine.yaml:1 has one of this name",
        ),
        (
            load(EQUIVALENT) + "\n---\n" + load(EQUIVALENT, name="m"),
            r"mine.yaml:6: Load m: .*mine.yaml:1 has one for this target",
        ),
        (LAB + "Lab\nspec: {nodes: 0}", r"mine.yaml:1: Lab: Expected `int` >= 1, at `spec.nodes`"),
        (LAB + "Lab\n---\n" + LAB + "Lab", r"mine.yaml:4: there is a Lab already, at .*mine.yaml:1"),
        ("apiVersion: v1\nkind: List\nitems: 5", r"mine.yaml:1: items: must be a list, this is a number"),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: 5}",
            r"mine.yaml:1: ConfigMap: metadata.namespace: must be a text, this is a number",
        ),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_why(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(tmp_path, text))
    assert re.fullmatch(f"{re.escape(str(tmp_path))}/{said}", str(caught.value)), caught.value


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"gone\.yaml: no such file"):
        load_scenario(tmp_path / "gone.yaml")


async def test_an_object_that_the_api_server_refuses_is_named_with_its_field(tmp_path: Path) -> None:
    scenario = load_scenario(write(tmp_path, HPA))
    with pytest.raises(ScenarioError, match=r"mine\.yaml:2: .*spec\.maxReplicas: Invalid value: 2"):
        Lab(scenario, tmp_path)


async def test_a_namespace_that_cannot_be_is_named_with_the_object_in_it(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: Bad_One}\n"
    with pytest.raises(ScenarioError, match=r'mine\.yaml:1: Namespace "Bad_One" is invalid'):
        Lab(load_scenario(write(tmp_path, text)), tmp_path)


async def test_a_namespace_without_a_value_is_none(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: }\n"
    assert Lab(load_scenario(write(tmp_path, text)), tmp_path).cluster.get("configmaps", "a")


async def test_kinds_that_the_lab_does_not_know_are_left_out_and_said_so(tmp_path: Path) -> None:
    text = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"
    lab = Lab(load_scenario(write(tmp_path, text)), tmp_path)
    assert lab.notes[0].endswith(": PodDisruptionBudget web is left out: the lab has no such kind")


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


def test_a_folder_stands_for_the_manifests_in_it(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no manifests"):
        load_scenario(tmp_path)
    for name in ("b.yaml", "a.json"):
        (tmp_path / name).write_text('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}')
    (tmp_path / "notes.txt").write_text("- nothing")
    assert [placed.where for placed in load_scenario(tmp_path).objects] == [
        f"{tmp_path}/a.json:1",
        f"{tmp_path}/b.yaml:1",
    ]


async def test_a_lab_without_hpas_says_so(tmp_path: Path) -> None:
    lab = Lab(load_scenario(write(tmp_path, "")), tmp_path)
    assert lab.notes == ["there is no HorizontalPodAutoscaler: nothing scales until you create one"]
