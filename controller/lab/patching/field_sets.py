"""Sets of fields as FieldsV1 trees: `f:name`, `k:{"name":"x"}`, `v:"x"`, and `.` for an element itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from controller.lab.schema.decode import default_of, field_of
from controller.lab.schema.types import ListOf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from controller.lab.objects.resources import Object
    from controller.lab.schema.types import Type

FieldSet = dict[str, Any]
"""A tree whose leaves (empty dicts) are the members."""

_SELF = "."
_SYSTEM_METADATA = frozenset(
    {
        "name",
        "namespace",
        "uid",
        "selfLink",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    }
)


def owned_part(value: Object) -> Object:
    """The object without what nobody owns: its identity and what the server sets."""
    part = {name: item for name, item in value.items() if name not in ("apiVersion", "kind")}
    metadata = {key: item for key, item in value.get("metadata", {}).items() if key not in _SYSTEM_METADATA}
    part.pop("metadata", None)
    return {"metadata": metadata, **part} if metadata else part


def children(value: Any, schema: Type | None) -> dict[str, tuple[Any, Type | None]] | None:
    """What lies below a value: path element to value and type; None when the value is owned as a whole."""
    if isinstance(value, dict):
        return {f"f:{name}": (item, field_of(schema, name)) for name, item in value.items()}
    if not isinstance(value, list) or not isinstance(schema, ListOf):
        return None
    if not schema.map_keys and schema.merge_key != "*":
        return None
    return {_element(item, schema): (item, schema.item) for item in value}


def _element(item: Any, schema: ListOf) -> str:
    if not schema.map_keys:
        return f"v:{json.dumps(item)}"
    content = item if isinstance(item, dict) else {}
    named: dict[str, Any] = {}
    for key in sorted(schema.map_keys):
        if key in content:
            named[key] = content[key]
        elif default := default_of(schema.item, key):
            # A configuration that leaves out what is stored by default still means the stored element.
            named[key] = default
    return "k:" + json.dumps(named, separators=(",", ":"))


def first_duplicate(value: Any, schema: Type | None, path: tuple[str, ...] = ()) -> tuple[str, ...] | None:
    """The path of an element that its list has twice; None when there is none."""
    below = children(value, schema) or {}
    if isinstance(value, list) and isinstance(schema, ListOf) and below and len(below) < len(value):
        elements = [_element(item, schema) for item in value]
        return (*path, next(element for element in below if elements.count(element) > 1))
    found = (first_duplicate(item, kind, (*path, element)) for element, (item, kind) in below.items())
    return next((twice for twice in found if twice), None)


def members(value: Any, schema: Type | None) -> FieldSet:
    """The set of all fields of a value."""
    below = children(value, schema)
    if not below:
        return {}
    result: FieldSet = {}
    for element, (item, kind) in below.items():
        inside = members(item, kind)
        result[element] = {_SELF: {}, **inside} if inside and element.startswith("k:") else inside
    return result


def changed(old: Any, new: Any, schema: Type | None) -> FieldSet | None:
    """The fields of `new` that `old` lacks or has otherwise; None when there are none."""
    if old == new:
        return None
    before, after = children(old, schema), children(new, schema)
    if before is None or not after:
        return members(new, schema)
    result: FieldSet = {}
    for element, (item, kind) in after.items():
        if element not in before:
            inside = members(item, kind)
            result[element] = {_SELF: {}, **inside} if inside and element.startswith("k:") else inside
            continue
        difference = changed(before[element][0], item, kind)
        if difference is not None:
            result[element] = difference
    return result or None


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """All fields of both sets."""
    result = dict(left)
    for element, inside in right.items():
        result[element] = union(result[element], inside) if element in result else inside
    return result


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The fields of the first set that are not in the second."""
    result: FieldSet = {}
    for element, inside in left.items():
        if element not in right:
            result[element] = inside
        elif inside:
            rest = difference(inside, right[element]) if right[element] else {}
            if rest:
                result[element] = rest
    return result


def existing(fields: FieldSet, value: Any, schema: Type | None) -> FieldSet:
    """The fields of the set that a value still has."""
    below = children(value, schema)
    result: FieldSet = {}
    for element, inside in fields.items():
        if element == _SELF:
            result[element] = inside
        elif below is not None and element in below:
            item, kind = below[element]
            rest = existing(inside, item, kind) if inside else {}
            if rest or not inside:
                result[element] = rest
    return result


def leaves(fields: FieldSet, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of all members."""
    for element, inside in fields.items():
        if element == _SELF:
            yield path
        elif inside:
            yield from leaves(inside, (*path, element))
        else:
            yield (*path, element)


def contains(fields: FieldSet, path: tuple[str, ...]) -> bool:
    """Whether a path is a member, or leads to members."""
    for element in path:
        if element not in fields:
            return False
        fields = fields[element]
    return True


def lookup(value: Any, schema: Type | None, path: tuple[str, ...]) -> Any:
    """What a value has at a path; None when it has nothing there."""
    for element in path:
        below = children(value, schema)
        if below is None or element not in below:
            return None
        value, schema = below[element]
    return value


def printed(path: tuple[str, ...]) -> str:
    """A path as messages show it: `.spec.template.spec.containers[name="app"].image`."""
    parts = []
    for element in path:
        kind, _, text = element.partition(":")
        if kind == "f":
            parts.append(f".{text}")
        elif kind == "k":
            named = json.loads(text)
            parts.append("[" + ",".join(f"{key}={json.dumps(item)}" for key, item in named.items()) + "]")
        else:
            parts.append(f"[={text}]")
    return "".join(parts)
