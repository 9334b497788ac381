"""YAML as Kubernetes reads it: which plain texts are numbers and truth values differs from PyYAML's rules."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Hashable

_TAG = "tag:yaml.org,2002:"
_INT64 = range(-(2**63), 2**63)
_DECIMAL = 10
_OCTAL = 8
_TRUE = ("y", "yes", "on", "true")
_FALSE = ("n", "no", "off", "false")
_PREFIXES = ("0x", "0b", "0o")


class KubernetesLoader(yaml.SafeLoader):
    """Dates and `1:30` are texts, `y` and `off` are truth values, keys are texts."""

    # PyYAML calls it so.
    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002
        """The mapping with its keys as texts."""
        if not isinstance(node, yaml.MappingNode):
            raise yaml.constructor.ConstructorError(None, None, "a mapping is needed here", node.start_mark)
        self.flatten_mapping(node)
        return {self._key(key): self.construct_object(value, deep=deep) for key, value in node.value}

    def _key(self, node: yaml.Node) -> str:
        match self.construct_object(node, deep=True):
            case str(text):
                return text
            case bool(truth):
                return "true" if truth else "false"
            case int(number) | float(number):
                return str(number)
            case _:
                raise yaml.constructor.ConstructorError(None, None, "a key must be a text", node.start_mark)

    def construct_truth(self, node: yaml.ScalarNode) -> bool:
        """True or false."""
        return str(self.construct_scalar(node)).lower() in _TRUE

    def construct_integer(self, node: yaml.ScalarNode) -> int | float | str:
        """A number, which is no integer any more beyond 64 bits, or with an 8 or a 9 after a leading zero."""
        text = str(self.construct_scalar(node)).replace("_", "").lower()
        digits = text.lstrip("+-")
        prefixed = digits.startswith(_PREFIXES)
        try:
            value = int(text, 0 if prefixed else _OCTAL if digits.startswith("0") else _DECIMAL)
        except ValueError:
            return self.construct_number(node)
        if value in _INT64:
            return value
        return text if prefixed else self.construct_number(node)

    def construct_number(self, node: yaml.ScalarNode) -> float | str:
        """A number, or the text when it is too large for one."""
        text = str(self.construct_scalar(node))
        value = float(text.replace("_", ""))
        return text if math.isinf(value) else value


class BodyLoader(KubernetesLoader):
    """Reads what then has to be written as JSON: raises a YAMLError for infinity and for what is no number."""

    def refuse(self, node: yaml.ScalarNode) -> None:
        """Refuse what JSON cannot express."""
        raise yaml.constructor.ConstructorError(None, None, f"JSON has no number {node.value}", node.start_mark)


def _spellings(*words: str) -> str:
    return "|".join(spelling for word in words for spelling in (word, word.capitalize(), word.upper()))


_NUMBER_START = "-+0123456789."
_SCALARS = (
    ("null", rf"~|{_spellings('null')}|", ["~", "n", "N", ""], None),
    ("bool", _spellings(*_TRUE, *_FALSE), "yYnNtTfFoO", KubernetesLoader.construct_truth),
    (
        "int",
        r"[-+]?(0[xX][0-9a-fA-F_]*[0-9a-fA-F]|0[bB][01_]*[01]|0[oO][0-7_]*[0-7]|[0-9][0-9_]*)",
        _NUMBER_START,
        KubernetesLoader.construct_integer,
    ),
    (
        "float",
        r"[-+]?(\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9][0-9_]*)?",
        _NUMBER_START,
        KubernetesLoader.construct_number,
    ),
    ("infinite", rf"[-+]?\.({_spellings('inf')})|\.(nan|NaN|NAN)", "-+.", KubernetesLoader.construct_yaml_float),
    ("merge", "<<", "<", KubernetesLoader.construct_scalar),
)

KubernetesLoader.yaml_implicit_resolvers = {}
for _name, _pattern, _first, _constructor in _SCALARS:
    KubernetesLoader.add_implicit_resolver(_TAG + _name, re.compile(f"(?:{_pattern})$"), list(_first))
    if _constructor is not None:
        KubernetesLoader.add_constructor(_TAG + _name, _constructor)
BodyLoader.add_constructor(_TAG + "infinite", BodyLoader.refuse)
