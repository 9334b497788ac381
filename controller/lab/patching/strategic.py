"""Strategic merge patch: a merge patch that merges lists by key where the schema names one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from controller.lab.objects import errors
from controller.lab.schema.decode import field_of
from controller.lab.schema.types import ListOf

if TYPE_CHECKING:
    from controller.lab.objects.resources import Object
    from controller.lab.schema.types import Type

_PATCH = "$patch"
_RETAIN_KEYS = "$retainKeys"
_ELEMENT_ORDER = "$setElementOrder/"
_DELETE_SCALARS = "$deleteFromPrimitiveList/"
_SET = "*"


def apply_strategic_patch(original: Object, patch: Object, schema: Type | None) -> Object:
    """The object after the patch.

    Raises a BadRequest `ApiError` when a directive or a list element makes no sense.
    """
    return _merge(original, patch, schema, "")


def _merge(original: Object, patch: Object, schema: Type | None, path: str) -> Object:
    directive = patch.get(_PATCH)
    content = {name: value for name, value in patch.items() if not name.startswith("$")}
    match directive:
        case None | "merge":
            pass
        case "replace":
            replaced: Object = _without_nulls(content)
            return replaced
        case "delete":
            return {}
        case _:
            raise errors.bad_request(f"{path or 'the patch'}: unrecognized {_PATCH} directive {directive!r}")
    result = dict(original)
    if _RETAIN_KEYS in patch:
        result = {name: value for name, value in result.items() if name in patch[_RETAIN_KEYS]}
    for name, value in patch.items():
        if name.startswith(_DELETE_SCALARS):
            field = name.removeprefix(_DELETE_SCALARS)
            result[field] = [item for item in result.get(field) or () if item not in value]
    for name, value in content.items():
        order = patch.get(_ELEMENT_ORDER + name)
        _merge_field(result, name, value, schema, (order, f"{path}.{name}"))
    for name, value in patch.items():
        field = name.removeprefix(_ELEMENT_ORDER)
        if name.startswith(_ELEMENT_ORDER) and field not in content and isinstance(result.get(field), list):
            result[field] = _arranged(result[field], value, result[field], _merge_key(field_of(schema, field)))
    return result


def _merge_field(
    result: Object, name: str, value: Any, schema: Type | None, context: tuple[list[Any] | None, str]
) -> None:
    order, path = context
    kind, before = field_of(schema, name), result.get(name)
    if value is None:
        result.pop(name, None)
    elif isinstance(value, dict):
        result[name] = _merge(before if isinstance(before, dict) else {}, value, kind, path)
        if value.get(_PATCH) == "delete":
            del result[name]
    elif isinstance(value, list):
        original, key = before if isinstance(before, list) else [], _merge_key(kind)
        merged = _merge_list(original, value, kind, path)
        result[name] = _arranged(merged, order or value, original, key)
    else:
        result[name] = value


def _merge_key(kind: Type | None) -> str:
    return kind.merge_key if isinstance(kind, ListOf) else ""


def _merge_list(original: list[Any], patch: list[Any], kind: Type | None, path: str) -> list[Any]:
    key = _merge_key(kind)
    if not key or not isinstance(kind, ListOf):
        return [_without_nulls(item) if isinstance(item, dict) else item for item in patch]
    if key == _SET:
        return original + [item for item in patch if item not in original]
    if any(isinstance(item, dict) and item.get(_PATCH) == "replace" for item in patch):
        return [_without_nulls(item) for item in patch if item.get(_PATCH) != "replace"]
    result = list(original)
    for item in patch:
        if not isinstance(item, dict) or key not in item:
            raise errors.bad_request(f"{path}: an element of the patch lacks its merge key {key!r}")
        index = next((index for index, found in enumerate(result) if found.get(key) == item[key]), None)
        if item.get(_PATCH) == "delete":
            result = [found for found in result if found.get(key) != item[key]]
        elif index is None:
            result.append(_merge({}, item, kind.item, path))
        else:
            result[index] = _merge(result[index], item, kind.item, path)
    return result


def _arranged(items: list[Any], wanted: list[Any], original: list[Any], key: str) -> list[Any]:
    """The items that the patch wants in its order, the others before those that they preceded in the original.

    New ones have no place in the original, so they come before whatever else is left.
    """
    if not key:
        return items

    def identity(item: Any) -> Any:
        return item.get(key) if isinstance(item, dict) else item

    def place(item: Any) -> int:
        return before.index(identity(item)) if identity(item) in before else -1

    order = [identity(item) for item in wanted]
    before = [identity(item) for item in original]
    patched = [item for item in items if identity(item) in order]
    others = deque(item for item in items if identity(item) not in order)
    result: list[Any] = []
    for item in sorted(patched, key=lambda item: order.index(identity(item))):
        while others and place(others[0]) < place(item):
            result.append(others.popleft())
        result.append(item)
    return [*result, *others]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_nulls(item) for name, item in value.items() if item is not None and not name.startswith("$")
        }
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
