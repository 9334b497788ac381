"""Properties: whatever is read, there is a result; what is stored is stable and can be decided on."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from controller.manifest import json_text, render, yaml_text
from controller.manifest.admission import Admission, DefaultGates, admit
from controller.manifest.lint import lint
from controller.manifest.load import documents
from controller.manifest.schema import AUTOSCALERS, METRICS_V1, V1, V2, Kind, ListOf, Presence, Record, Scalar, TextMap
from controller.manifest.tree import Node, Number
from controller.wire.autoscalers import spec_from
from tests.manifest.manifests import loaded

BOUNDED = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
GATES = st.builds(DefaultGates, scale_to_zero=st.booleans(), configurable_tolerance=st.booleans())

WORDS = st.sampled_from(
    (
        "", "web", "cpu", "memory", "Web", "a/b", "..", "apps/v1", "v1", "example.com/gpu", "Deployment", "Resource",
        "Pods", "Object", "External", "ContainerResource", "Utilization", "Value", "AverageValue", "Percent", "Max",
        "Min", "Disabled", "In", "y", "2024-01-01T00:00:00Z", "\ud800", "é", "a" * 64,
    )
)  # fmt: skip
QUANTITIES = st.sampled_from(
    ("1", "100m", "0", "-1", "0.05", "1e3", "1000E", "9Ei", "1.5Gi", "5 ", "", "x", "1e-12", 1, 0, -1, 0.5, 1e30)
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def _fitting(kind: Kind) -> SearchStrategy[Any]:
    """Values of a kind as the schema has it, plausible more often than not."""
    match kind:
        case Record():
            return _record(kind)
        case ListOf():
            return st.lists(_nearly(kind.item), max_size=3)
        case TextMap():
            return st.dictionaries(WORDS, WORDS, max_size=2)
        case Scalar.TEXT | Scalar.TIME:
            return WORDS
        case Scalar.INT32 | Scalar.INT64:
            return st.sampled_from((0, 1, 2, 5, 15, 80, 3600, -1, 2**31))
        case Scalar.BOOL:
            return st.booleans()
        case Scalar.QUANTITY:
            return QUANTITIES
        case _:
            return JSON


def _record(kind: Record) -> SearchStrategy[Any]:
    needed = {name: field for name, field in kind.fields.items() if field.presence is Presence.ALWAYS}
    return st.fixed_dictionaries(
        {name: _nearly(field.kind) for name, field in needed.items()},
        optional={name: _nearly(field.kind) for name, field in kind.fields.items() if name not in needed},
    )


def _nearly(kind: Kind) -> SearchStrategy[Any]:
    """A fitting value, or rarely any other."""
    return st.integers(0, 60).flatmap(lambda luck: JSON if luck == 0 else _fitting(kind))


def _annotated(manifest: dict[str, Any], metrics: Any, behavior: Any) -> dict[str, Any]:
    metadata = manifest.get("metadata")
    if isinstance(metadata, dict):
        prefix = "autoscaling.alpha.kubernetes.io/"
        given_annotations = metadata.get("annotations")
        annotations = given_annotations if isinstance(given_annotations, dict) else {}
        texts = {f"{prefix}metrics": json.dumps(metrics), f"{prefix}behavior": json.dumps(behavior)}
        metadata["annotations"] = {**annotations, **texts}
    return manifest


def _autoscalers(version: str) -> SearchStrategy[Any]:
    of_kind = {"apiVersion": version, "kind": "HorizontalPodAutoscaler"}
    return _record(AUTOSCALERS[version]).map(lambda manifest: {**manifest, **of_kind})


PLAUSIBLE = _autoscalers(V2) | st.builds(
    _annotated, _autoscalers(V1), _nearly(METRICS_V1), _nearly(AUTOSCALERS[V2].fields["spec"].kind)
)


@st.composite
def valid(draw: st.DrawFn) -> dict[str, Any]:
    """Manifests that validate, often enough."""
    reference = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
    identifier: dict[str, Any] = {
        "name": "m",
        "selector": draw(st.sampled_from((None, {}, {"matchExpressions": [{}]}))),
    }
    amount = draw(st.sampled_from(("1", "100m", 0.5, "1e3", "2Gi", "0.1n", "5000E", "+5", "007")))
    targets: list[dict[str, Any]] = [
        {"type": "Utilization", "averageUtilization": draw(st.integers(1, 200))},
        {"type": draw(st.sampled_from(("Value", "AverageValue", "Utilization"))), "averageValue": amount},
    ]
    sources: list[tuple[str, dict[str, Any]]] = [
        ("Resource", {"name": draw(st.sampled_from(("cpu", "memory", "x"))), "target": draw(st.sampled_from(targets))}),
        ("ContainerResource", {"name": "cpu", "container": "a", "target": draw(st.sampled_from(targets))}),
        ("Pods", {"metric": identifier, "target": targets[1]}),
        ("External", {"metric": identifier, "target": targets[1]}),
        ("Object", {"metric": identifier, "describedObject": reference, "target": targets[1]}),
    ]
    metrics = [
        {"type": kind, kind[0].lower() + kind[1:]: source}
        for kind, source in draw(st.lists(st.sampled_from(sources), max_size=3))
    ]
    policy = {"type": "Pods", "value": draw(st.integers(1, 9)), "periodSeconds": draw(st.integers(1, 1800))}
    rules = st.none() | st.fixed_dictionaries(
        {},
        optional={
            "policies": st.lists(st.just(policy), min_size=1, max_size=2),
            "tolerance": st.sampled_from(("0", "50m", 1.5, "0.0000000001")),
            "stabilizationWindowSeconds": st.integers(0, 3600),
            "selectPolicy": st.sampled_from(("Max", "Min", "Disabled")),
        },
    )
    spec = {
        "scaleTargetRef": reference,
        "minReplicas": draw(st.none() | st.integers(1, 5)),
        "maxReplicas": draw(st.integers(5, 9)),
        "metrics": metrics,
        "behavior": draw(st.none() | st.fixed_dictionaries({}, optional={"scaleUp": rules, "scaleDown": rules})),
    }
    return {"apiVersion": V2, "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": spec}


def _check(manifests: list[Any], gates: DefaultGates) -> None:
    text = "\n".join(f"---\n{json.dumps(manifest)}" for manifest in manifests)
    results = lint(documents("file", text.encode()), gates)
    for result, line in zip(results, render.json_lines(results), strict=True):
        assert bool(result.errors) == (result.defaulted is None)
        assert json.loads(line)["defaulted"] == result.defaulted
    assert len(render.text(results)) == 1 + sum(len(result.errors) + len(result.advice) for result in results)


@BOUNDED
@given(st.lists(JSON | st.floats() | PLAUSIBLE, max_size=3), GATES)
def test_there_is_a_verdict_about_everything(manifests: list[Any], gates: DefaultGates) -> None:
    _check(manifests, gates)


@BOUNDED
@given(st.binary(max_size=60) | st.text(alphabet="{}[]:,-\"' \n\tab01&*!<#|>?%@~", max_size=60).map(str.encode))
def test_every_file_has_documents_or_says_why(data: bytes) -> None:
    lint(documents("file", data), DefaultGates())
    lint(documents("file", b'{"kind": ' + data), DefaultGates())


@BOUNDED
@given(st.sampled_from((V1, V2)).flatmap(_autoscalers), GATES)
def test_what_is_stored_is_stable(manifest: dict[str, Any], gates: DefaultGates) -> None:
    _check_stability(manifest, gates)


@BOUNDED
@given(valid(), GATES)
def test_what_is_stored_of_valid_manifests_is_stable(manifest: dict[str, Any], gates: DefaultGates) -> None:
    assert _check_stability(manifest, gates)


@BOUNDED
@given(st.lists(valid(), max_size=3), GATES)
def test_advice_about_valid_manifests(manifests: list[Any], gates: DefaultGates) -> None:
    _check(manifests, gates)


def _check_stability(manifest: Any, gates: DefaultGates) -> bool:
    """Whether the manifest is valid; and if it is: that it can be decided on, and storing it again changes nothing."""
    admission = admit(loaded(manifest), gates)
    if not isinstance(admission, Admission) or admission.problems:
        return False
    spec_from(admission.stored["spec"])
    again = admit(loaded(admission.stored), gates)
    assert isinstance(again, Admission)
    assert again.problems == ()
    assert again.unknown == ()
    assert again.stored == admission.stored
    return True


@BOUNDED
@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4))
def test_json_is_read_alike_as_json_and_as_yaml(value: dict[str, Any]) -> None:
    text = json.dumps(_printable(value), ensure_ascii=False)
    of_yaml = yaml_text.read(text)
    assert of_yaml is not None
    assert _plain(of_yaml) == _plain(json_text.read(text)) == _printable(value)


def _printable(value: Any) -> Any:
    """The value with what JSON and YAML write alike: whole numbers, and texts without controls."""
    match value:
        case dict():
            return {_text(key): _printable(item) for key, item in value.items()}
        case list():
            return [_printable(item) for item in value]
        case float():
            return None
        case str():
            return _text(value)
        case int() if not isinstance(value, bool):
            return max(min(value, 2**63 - 1), -(2**63))
        case _:
            return value


def _text(text: str) -> str:
    return "".join(character for character in text if character.isprintable() and character != "\ufeff")


def _plain(node: Node) -> Any:
    match node.value:
        case dict():
            return {key: _plain(item) for key, item in node.value.items()}
        case list():
            return [_plain(item) for item in node.value]
        case Number():
            return int(node.value.text)
        case _:
            return node.value
