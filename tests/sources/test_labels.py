"""Labels that name resources, and resources that labels name, by the overrides and the template of a rule."""

import pytest

from controller.sources.prometheus.labels import LabelMapping, MappingError
from controller.sources.prometheus.mapper import Named, ResourceNames
from controller.sources.prometheus.rules import LABEL_FIELDS, GroupResource, Mapping
from controller.sources.prometheus.templates import Template

PODS, DEPLOYMENTS = GroupResource("", "pods"), GroupResource("apps", "deployments")
NAMES = ResourceNames([Named("", "pods", "pod"), Named("apps", "deployments", "deployment")])


def mapping(template: str | None = None, **overrides: str) -> LabelMapping:
    named = tuple((label, GroupResource("", resource)) for label, resource in overrides.items())
    return LabelMapping(Mapping(named, None if template is None else Template(template, LABEL_FIELDS)), NAMES)


def test_an_override_goes_before_the_template_both_ways() -> None:
    labels = mapping("<<.Group>>_<<.Resource>>", instance="pod")
    assert labels.resources_of(["instance", "apps_deployment", "apps_moon", "job"]) == {PODS, DEPLOYMENTS}
    assert (labels.label_of(PODS), labels.label_of(DEPLOYMENTS)) == ("instance", "apps_deployment")


def test_without_a_template_only_overrides_name_anything() -> None:
    labels = mapping(instance="pod")
    assert labels.resources_of(["instance", "pod", "deployment"]) == {PODS}
    assert labels.label_of(PODS) == "instance"


@pytest.mark.parametrize(
    ("template", "overrides", "error"),
    [
        (None, {"moon": "moons"}, "the API server serves no resource moons, which the label 'moon' is to name"),
        ("kube_<<.Group>>", {}, "the template 'kube_<<.Group>>' has no <<.Resource>>"),
        ("(<<.Resource>>", {}, "the template '(<<.Resource>>' recognises no labels: "),
    ],
)
def test_a_mapping_that_is_no_use_is_refused(template: str | None, overrides: dict[str, str], error: str) -> None:
    with pytest.raises(MappingError) as refused:
        mapping(template, **overrides)
    assert str(refused.value).startswith(error)


@pytest.mark.parametrize(
    ("template", "error"),
    [
        (None, "no override of the rule is for pods, and it has no template"),
        ('<<if ne .Resource "pod">><<.Resource>><<end>>', " gives no label for pods"),
        (
            '<<.Resource>><<if eq .Resource "pod">><<range .Resource>><<end>><<end>>',
            " cannot be filled in: range cannot go over ",
        ),
    ],
)
def test_a_resource_without_a_label_is_told(template: str | None, error: str) -> None:
    labels = mapping(template)
    with pytest.raises(MappingError) as refused:
        labels.label_of(PODS)
    assert error in str(refused.value)
