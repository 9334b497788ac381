"""JSON patch (RFC 6902) and merge patch (RFC 7386)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from controller.lab.objects import errors
from controller.lab.objects.resources import Object, copied

if TYPE_CHECKING:
    from collections.abc import Callable

_OPERATIONS_MAX = 10_000


def apply_merge_patch(original: Object, patch: Object) -> Object:
    """The object after a merge patch; null removes a field, lists are replaced."""
    result = dict(original)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            before = result.get(name)
            result[name] = apply_merge_patch(before if isinstance(before, dict) else {}, value)
        else:
            result[name] = value
    return result


def apply_json_patch(original: Object, operations: object) -> Object:
    """The object after a list of operations.

    Raises `ApiError`: 400 when it is no such list, 413 when it is too long, 422 when an operation cannot be
    carried out or a test fails.
    """
    if not isinstance(operations, list) or not all(isinstance(item, dict) for item in operations):
        raise errors.bad_request("error decoding patch: a JSON patch is a list of operations")
    if len(operations) > _OPERATIONS_MAX:
        text = f"The allowed maximum operations in a JSON patch is {_OPERATIONS_MAX}, got {len(operations)}"
        raise errors.ApiError(413, "RequestEntityTooLarge", f"Request entity too large: {text}")
    document: Any = copied(original)
    for index, operation in enumerate(operations):
        handler = _OPERATIONS.get(operation.get("op", ""))
        if handler is None:
            raise errors.bad_request(f"operation {index}: unknown op {operation.get('op')!r}")
        try:
            document = handler(document, operation)
        except (LookupError, TypeError, ValueError) as error:
            text = f"the server rejected our request due to an error in our request (operation {index}: {error})"
            raise errors.ApiError(422, "Invalid", text, details={}) from error
    if not isinstance(document, dict):
        raise errors.bad_request("the patch does not leave an object")
    return document


def _segments(pointer: object) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise ValueError(f"{pointer!r} is no JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _get(document: Any, segments: list[str]) -> Any:
    for segment in segments:
        document = document[_index(document, segment)]
    return document


def _index(container: Any, segment: str, *, appending: bool = False) -> Any:
    if isinstance(container, dict):
        return segment
    if not isinstance(container, list):
        raise TypeError(f"there is nothing below {segment!r}")
    if appending and segment == "-":
        return len(container)
    index = int(segment)
    if not 0 <= index < len(container) + appending:
        raise IndexError(f"there is no element {index}")
    return index


def _add(document: Any, operation: Object) -> Any:
    return _insert(document, _segments(operation["path"]), operation["value"])


def _insert(document: Any, segments: list[str], value: Any) -> Any:
    if not segments:
        return value
    container = _get(document, segments[:-1])
    index = _index(container, segments[-1], appending=True)
    if isinstance(container, list):
        container.insert(index, value)
    else:
        container[index] = value
    return document


def _remove(document: Any, operation: Object) -> Any:
    segments = _segments(operation["path"])
    if not segments:
        raise ValueError("the whole document cannot be removed")
    container = _get(document, segments[:-1])
    del container[_index(container, segments[-1])]
    return document


def _replace(document: Any, operation: Object) -> Any:
    segments = _segments(operation["path"])
    if not segments:
        return operation["value"]
    container = _get(document, segments[:-1])
    index = _index(container, segments[-1])
    if isinstance(container, dict) and index not in container:
        raise KeyError(f"there is no field {index}")
    container[index] = operation["value"]
    return document


def _move(document: Any, operation: Object) -> Any:
    value = _get(document, _segments(operation["from"]))
    document = _remove(document, {"path": operation["from"]})
    return _insert(document, _segments(operation["path"]), value)


def _copy(document: Any, operation: Object) -> Any:
    value = copied({"value": _get(document, _segments(operation["from"]))})["value"]
    return _insert(document, _segments(operation["path"]), value)


def _test(document: Any, operation: Object) -> Any:
    if _get(document, _segments(operation["path"])) != operation.get("value"):
        raise ValueError(f"testing path {operation['path']} failed")
    return document


_OPERATIONS: dict[str, Callable[[Any, Object], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
