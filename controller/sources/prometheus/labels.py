"""Which label names which resource, by the overrides and the template of one rule."""

from collections.abc import Iterable
from typing import Final

from controller.sources.prometheus.go_regex import GoRegex, RegexError
from controller.sources.prometheus.mapper import ResourceNames
from controller.sources.prometheus.rules import GroupResource, Mapping
from controller.sources.prometheus.template_tokens import TemplateError

NAMESPACES: Final = GroupResource("", "namespaces")
PODS: Final = GroupResource("", "pods")
_SANITIZED: Final = str.maketrans("._", "__") | str.maketrans("-", "_")


class MappingError(Exception):
    """A label or a resource cannot be mapped; the message says which."""


class LabelMapping:
    """One rule's labels and resources, with the names that the API server has now.

    A template works both ways: filled with a resource it gives the label, filled with groups of a regular expression it
    recognises labels.
    """

    def __init__(self, mapping: Mapping, names: ResourceNames) -> None:
        """Raises MappingError when an override names a resource that is not served, or the template is no use."""
        self._mapping = mapping
        self._names = names
        self._resources: dict[str, GroupResource | None] = {}
        self._labels: dict[GroupResource, str] = {}
        for label, wanted in mapping.overrides:
            found = names.find(wanted)
            if found is None:
                raise MappingError(f"the API server serves no resource {wanted}, which the label {label!r} is to name")
            self._resources[label] = found
            self._labels[found] = label
        self._pattern = self._recogniser()

    def resources_of(self, labels: Iterable[str]) -> set[GroupResource]:
        """The resources that a series with these labels is about."""
        return {found for label in labels if (found := self._resource(label)) is not None}

    def label_of(self, resource: GroupResource) -> str:
        """The label that names objects of a resource. Raises MappingError."""
        label = self._labels.get(resource)
        if label is None:
            label = self._labels[resource] = self._templated(resource)
        return label

    def _templated(self, resource: GroupResource) -> str:
        template = self._mapping.template
        if template is None:
            raise MappingError(f"no override of the rule is for {resource}, and it has no template")
        group = resource.group.translate(_SANITIZED)
        try:
            label = template.fill({"Group": group, "Resource": self._names.singular(resource.resource)})
        except TemplateError as error:
            raise MappingError(f"the template {template.text!r} cannot be filled in: {error}") from error
        if not label:
            raise MappingError(f"the template {template.text!r} gives no label for {resource}")
        return label

    def _resource(self, label: str) -> GroupResource | None:
        if label not in self._resources:
            said = None if self._pattern is None else self._pattern.named(label)
            self._resources[label] = (
                None if said is None else self._names.find(GroupResource(said.get("group", ""), said["resource"]))
            )
        return self._resources[label]

    def _recogniser(self) -> GoRegex | None:
        template = self._mapping.template
        if template is None:
            return None
        try:
            text = template.fill({"Group": "(?P<group>.+?)", "Resource": "(?P<resource>.+?)"})
            pattern = GoRegex(f"^{text}$")
        except (TemplateError, RegexError) as error:
            raise MappingError(f"the template {template.text!r} recognises no labels: {error}") from error
        if "resource" not in pattern.names:
            raise MappingError(f"the template {template.text!r} has no <<.Resource>>")
        return pattern
