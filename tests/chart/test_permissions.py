"""The list of permissions, from which the chart makes its roles, and what the program says of missing ones."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.kube.errors import error_of
from controller.kube.permissions import advice
from controller.ports import Refused

CHART = Path(__file__).parents[2] / "charts" / "hpa-controller"
PERMISSIONS: dict[str, list[dict[str, Any]]] = yaml.safe_load((CHART / "files" / "permissions.yaml").read_text())
RULES = [rule for section in PERMISSIONS.values() for rule in section]
EACH = [
    (rule["value"], verb, resource, group)
    for rule in RULES
    for group in rule["apiGroups"]
    for resource in rule["resources"]
    for verb in rule["verbs"]
]


def forbidden(verb: str, resource: str, group: str) -> str:
    return f'x is forbidden: User "u" cannot {verb} resource "{resource}" in API group "{group}" at the cluster scope'


@pytest.mark.parametrize(("value", "verb", "resource", "group"), EACH)
def test_a_missing_permission_names_the_value_that_grants_it(value: str, verb: str, resource: str, group: str) -> None:
    actual = resource.replace("*", "anything")
    said = advice(forbidden(verb, actual, group))
    assert "rbac.create=true" in said
    assert value in said
    others = {rule["value"] for rule in RULES} - {value, "rbac.create"}
    assert not [other for other in others if other in said]


def test_a_refusal_carries_the_advice() -> None:
    text = forbidden("update", "deployments/scale", "apps")
    body = json.dumps({"kind": "Status", "code": 403, "message": text}).encode()
    error = error_of(403, {}, body, advice)
    assert isinstance(error, Refused)
    assert str(error) == f"{text} (the Helm chart grants it with rbac.create=true)"
    assert str(error_of(403, {}, body)) == text, "who types a command has an account of their own"


def test_other_refusals_stay_as_they_are() -> None:
    text = 'admission webhook "policy" denied the request'
    body = json.dumps({"kind": "Status", "code": 403, "message": text}).encode()
    assert str(error_of(403, {}, body, advice)) == text


def test_each_permission_says_why_and_under_which_known_conditions() -> None:
    template = (CHART / "templates" / "_permissions.tpl").read_text()
    for rule in RULES:
        assert rule["why"]
        assert rule["verbs"]
        for condition in rule["when"]:
            assert f"\n{condition}: {{{{" in template, condition


def test_nothing_may_be_done_that_was_not_asked_for() -> None:
    for rule in RULES:
        assert "*" not in rule["verbs"]
        assert not {"secrets", "nodes"} & set(rule["resources"])
        named = "named" in rule or rule["verbs"] == ["create"]
        assert "configmaps" not in rule["resources"] or named, "by their names, which a new one cannot have"
        if "*" in rule["resources"]:
            assert all(group.endswith("metrics.k8s.io") for group in rule["apiGroups"])
