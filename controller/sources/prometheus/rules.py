"""The configuration file of prometheus-adapter, read as it is: every mistake is named with file and line."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import yaml

from controller.kube.kubeconfig_files import ConfigurationError
from controller.os_errors import why
from controller.sources.prometheus.go_regex import GoRegex, RegexError
from controller.sources.prometheus.template_tokens import TemplateError
from controller.sources.prometheus.templates import Template

QUERY_FIELDS: Final = ("Series", "LabelMatchers", "LabelValuesByName", "GroupBy", "GroupBySlice")
LABEL_FIELDS: Final = ("Group", "Resource")
FILE_BYTES_MAX: Final = 4 * 1024 * 1024
_DURATION: Final = re.compile(
    r"(?:([0-9]+)y)?(?:([0-9]+)w)?(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?(?:([0-9]+)ms)?"
)
_DURATION_MS: Final = (365 * 86_400_000, 7 * 86_400_000, 86_400_000, 3_600_000, 60_000, 1_000, 1)
_NANOSECONDS_PER_MS: Final = 10**6

T = TypeVar("T")


class RulesError(ConfigurationError):
    """The rules cannot be used; the message begins with file and line."""


class GroupResource(msgspec.Struct, frozen=True, order=True):
    """A resource as rules name it, singular or plural, its group possibly left out."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class Mapping(msgspec.Struct, frozen=True):
    """How labels and resources belong together; `line` is where that is said."""

    overrides: tuple[tuple[str, GroupResource], ...] = ()
    template: Template | None = None
    namespaced: bool = True
    line: int = 0


class SeriesFilter(msgspec.Struct, frozen=True):
    """A condition on the name of a series."""

    pattern: GoRegex
    positive: bool

    def passes(self, name: str) -> bool:
        """Whether a series of this name is meant."""
        return self.pattern.matches(name) is self.positive


class Rule(msgspec.Struct, frozen=True):
    """Which series are meant, what they are called, and how they are queried."""

    series_query: str
    filters: tuple[SeriesFilter, ...]
    mapping: Mapping
    name_pattern: GoRegex
    name_as: str
    query: Template
    line: int

    def metric_name(self, series: str) -> str | None:
        """The name of the metric that is made of a series; None if the rule does not mean the series."""
        if not all(condition.passes(series) for condition in self.filters):
            return None
        return self.name_pattern.expanded(self.name_as, series)


class UsageRule(msgspec.Struct, frozen=True):
    """How the use of cpu or memory is queried, by container."""

    query: Template
    mapping: Mapping
    container_label: str
    line: int


class UsageRules(msgspec.Struct, frozen=True):
    """`resourceRules`: what metrics.k8s.io would say. `window_ns` is what a query looks back on."""

    cpu: UsageRule
    memory: UsageRule
    window_ns: int


class Rules(msgspec.Struct, frozen=True):
    """A whole file; `usage` is None where it has no resourceRules."""

    custom: tuple[Rule, ...] = ()
    external: tuple[Rule, ...] = ()
    usage: UsageRules | None = None


def read_rules(path: str) -> Rules:
    """The rules of a file. Raises RulesError."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
        text = content.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise RulesError(f"{path}: the rules cannot be read: {why(error)}") from error
    if len(content) > FILE_BYTES_MAX:
        raise RulesError(f"{path}: the file is larger than {FILE_BYTES_MAX} bytes")
    return parse_rules(text, path)


def parse_rules(text: str, source: str) -> Rules:
    """The rules of a text; `source` is what messages call it. Raises RulesError."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = 1 + (error.problem_mark.line if error.problem_mark else 0)
        raise RulesError(f"{source}:{line}: not YAML: {error.problem}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise RulesError(f"{source}:1: not YAML: {' '.join(str(error).split())}") from error
    reader = _Reader(source)
    if root is None:
        raise RulesError(f"{source}:1: the file is empty")
    if isinstance(root, yaml.MappingNode) and any(key.value == "kind" for key, _ in root.value):
        raise reader.error(root, "a Kubernetes object; what is needed is the text in its data, under config.yaml")
    fields = reader.fields(root, {"rules", "externalRules", "resourceRules"})
    usage = fields.get("resourceRules")
    return Rules(
        tuple(map(reader.rule, reader.items(fields.get("rules")))),
        tuple(map(reader.external_rule, reader.items(fields.get("externalRules")))),
        None if usage is None or reader.is_null(usage) else reader.usage(usage),
    )


class _Reader:
    """YAML nodes into values; nodes know their lines, which plain values do not."""

    def __init__(self, source: str) -> None:
        self._source = source

    def error(self, node: yaml.Node, message: str, lines_below: int = 0) -> RulesError:
        return RulesError(f"{self._source}:{node.start_mark.line + 1 + lines_below}: {message}")

    def is_null(self, node: yaml.Node) -> bool:
        return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"

    def fields(self, node: yaml.Node | None, known: set[str]) -> dict[str, yaml.Node]:
        """The fields of a mapping; unknown and repeated ones are refused, as the adapter does."""
        found: dict[str, yaml.Node] = {}
        for key, value in self._pairs(node):
            if key.value not in known:
                raise self.error(key, f"unknown field {key.value!r}; known are {', '.join(sorted(known))}")
            if key.value in found:
                raise self.error(key, f"the field {key.value!r} is there twice")
            found[key.value] = value
        return found

    def items(self, node: yaml.Node | None) -> Iterator[yaml.Node]:
        if node is None or self.is_null(node):
            return
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, "a list is needed here")
        yield from node.value

    def text(self, node: yaml.Node | None) -> str:
        if node is None or self.is_null(node):
            return ""
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(node, "a text is needed here")
        text = str(node.value)
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise self.error(node, f"half of a character, as {text!r} has it, cannot be sent")
        return text

    def rule(self, node: yaml.Node) -> Rule:
        fields = self.fields(node, {"seriesQuery", "seriesFilters", "resources", "name", "metricsQuery"})
        name = self.fields(fields.get("name"), {"matches", "as"})
        matches = self.text(name.get("matches"))
        pattern = self._made(name.get("matches", node), GoRegex, matches or ".*")
        filters = tuple(self._filter(item) for item in self.items(fields.get("seriesFilters")))
        name_as = self.text(name.get("as"))
        if not name_as:
            if pattern.groups > 1:
                raise self.error(name["matches"], "`as` is needed beside `matches` with more than one group")
            name_as = "$1" if pattern.groups else "$0"
        query = fields.get("metricsQuery")
        series_query = self.text(fields.get("seriesQuery"))
        if not series_query.strip():
            raise self.error(node, "seriesQuery is missing")
        return Rule(
            series_query,
            filters,
            self._mapping(fields.get("resources")),
            pattern,
            name_as,
            self._template(node, query, QUERY_FIELDS, "metricsQuery"),
            node.start_mark.line + 1,
        )

    def external_rule(self, node: yaml.Node) -> Rule:
        rule = self.rule(node)
        if rule.mapping.namespaced:
            self._check_labels(node, rule.mapping, "namespace")
        return rule

    def usage(self, node: yaml.Node) -> UsageRules:
        fields = self.fields(node, {"cpu", "memory", "window"})
        for name in ("cpu", "memory"):
            if name not in fields:
                raise self.error(node, f"resourceRules need {name}: the adapter answers only with both")
        window = fields.get("window")
        return UsageRules(
            self._usage_rule(fields["cpu"]),
            self._usage_rule(fields["memory"]),
            0 if window is None else self._made(window, _duration_ns, self.text(window)),
        )

    def _usage_rule(self, node: yaml.Node) -> UsageRule:
        fields = self.fields(node, {"containerQuery", "nodeQuery", "resources", "containerLabel"})
        mapping = self._mapping(fields.get("resources"))
        self._check_labels(node, mapping, "namespace", "pod")
        return UsageRule(
            self._template(node, fields.get("containerQuery"), QUERY_FIELDS, "containerQuery"),
            mapping,
            self.text(fields.get("containerLabel")),
            node.start_mark.line + 1,
        )

    def _mapping(self, node: yaml.Node | None) -> Mapping:
        fields = self.fields(node, {"template", "overrides", "namespaced"})
        overrides: dict[str, GroupResource] = {}
        for key, value in self._pairs(fields.get("overrides")):
            named = self.fields(value, {"group", "resource"})
            resource = self.text(named.get("resource"))
            if not resource:
                raise self.error(key, f"the override of the label {key.value!r} names no resource")
            if key.value in overrides:
                raise self.error(key, f"the label {key.value!r} is there twice")
            overrides[str(key.value)] = GroupResource(self.text(named.get("group")), resource)
        template = fields.get("template")
        namespaced = fields.get("namespaced")
        return Mapping(
            tuple(overrides.items()),
            self._template(template, template, LABEL_FIELDS, "template") if template and self.text(template) else None,
            namespaced=namespaced is None or self.is_null(namespaced) or self._truth(namespaced),
            line=node.start_mark.line + 1 if node is not None else 0,
        )

    def _check_labels(self, node: yaml.Node, mapping: Mapping, *needed: str) -> None:
        """Refuse a rule of which no query could be made, since nothing says which label these resources have."""
        overridden = {wanted.resource.lower().removesuffix("s") for _, wanted in mapping.overrides if not wanted.group}
        for singular in needed:
            if mapping.template is None and singular not in overridden:
                raise self.error(node, f"no label is said for {singular}: resources need an override or a template")

    def _filter(self, node: yaml.Node) -> SeriesFilter:
        fields = self.fields(node, {"is", "isNot"})
        texts = {name: self.text(value) for name, value in fields.items() if self.text(value)}
        if len(texts) != 1:
            raise self.error(node, "a filter has either `is` or `isNot`")
        ((name, text),) = texts.items()
        return SeriesFilter(self._made(fields[name], GoRegex, text), positive=name == "is")

    def _template(self, parent: yaml.Node, node: yaml.Node | None, known: tuple[str, ...], name: str) -> Template:
        text = self.text(node)
        if node is None or not text.strip():
            raise self.error(parent, f"{name} is missing")
        try:
            return Template(text, known)
        except TemplateError as error:
            # The text of a block begins in the line below its mark.
            below = 1 if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">") else 0
            raise self.error(node, f"{name}: {error}", error.line + below) from error

    def _truth(self, node: yaml.Node) -> bool:
        if node.tag != "tag:yaml.org,2002:bool":
            raise self.error(node, "true or false is needed here")
        return str(node.value).lower() in ("true", "yes", "on")

    def _pairs(self, node: yaml.Node | None) -> Iterator[tuple[Any, yaml.Node]]:
        if node is None or self.is_null(node):
            return
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, "a mapping is needed here")
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self.error(key, "a text is needed as key")
            if key.tag == "tag:yaml.org,2002:merge":
                raise self.error(key, "the merge key << is not supported; write its fields out")
            yield key, value

    def _made(self, node: yaml.Node, make: Callable[[str], T], text: str) -> T:
        try:
            return make(text)
        except (RegexError, ValueError) as error:
            raise self.error(node, str(error)) from error


def _duration_ns(text: str) -> int:
    """Nanoseconds of a duration as Prometheus writes it: `5m`, `1h30m`; `0` needs no unit."""
    matched = _DURATION.fullmatch(text)
    if text == "0":
        return 0
    if matched is None or not text:
        raise ValueError(f"{text!r} is not a duration such as 5m or 1h30m")
    parts = zip(matched.groups(), _DURATION_MS, strict=True)
    return sum(int(count) * unit_ms for count, unit_ms in parts if count) * _NANOSECONDS_PER_MS
