"""metadata.managedFields: who wrote which fields, and server-side apply, which depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from controller.lab.objects import errors
from controller.lab.patching import field_sets
from controller.lab.schema.types import ListOf

if TYPE_CHECKING:
    from controller.lab.objects.resources import Object
    from controller.lab.patching.field_sets import FieldSet
    from controller.lab.schema.types import Type

Entry = dict[str, Any]


def track_update(
    entries: list[Entry],
    old: Object,
    new: Object,
    *,
    manager: str,
    subresource: str,
    api_version: str,
    schema: Type | None,
    timestamp: str,
) -> list[Entry]:
    """The entries after an update: the writer owns what it changed, and nobody owns what is gone."""
    before, after = field_sets.owned_part(old), field_sets.owned_part(new)
    written = field_sets.changed(before, after, schema)
    if written is None and field_sets.changed(after, before, schema) is None:
        return entries
    identity = (manager, "Update", subresource)
    result = []
    own: FieldSet = {}
    for entry in entries:
        fields = field_sets.existing(entry.get("fieldsV1") or {}, after, schema)
        if _identity(entry) == identity:
            own = fields
            continue
        fields = field_sets.difference(fields, written or {})
        if fields:
            result.append({**entry, "fieldsV1": fields})
    own = field_sets.union(own, written or {})
    if own:
        result.append(_entry(identity, api_version, timestamp, own))
    return result


def _identity(entry: Entry) -> tuple[str, str, str]:
    return entry.get("manager", ""), entry.get("operation", ""), entry.get("subresource", "")


def _entry(identity: tuple[str, str, str], api_version: str, timestamp: str, fields: FieldSet) -> Entry:
    manager, operation, subresource = identity
    entry: Entry = {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "time": timestamp,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return {**entry, "subresource": subresource} if subresource else entry


class Applied(msgspec.Struct, frozen=True):
    """The object after server-side apply, and its managedFields."""

    value: Object
    entries: list[Entry]


def apply(
    live: Object,
    config: Object,
    *,
    manager: str,
    force: bool,
    subresource: str,
    api_version: str,
    schema: Type | None,
    timestamp: str,
) -> Applied:
    """The live object with a manager's configuration applied to it; an empty `live` stands for none.

    Fields the manager applied before and no longer does are removed unless somebody else owns them. Raises a
    Conflict `ApiError` that lists every field which another manager owns with another value, unless `force`
    takes them over.
    """
    entries: list[Entry] = live.get("metadata", {}).get("managedFields") or []
    identity = (manager, "Apply", subresource)
    wanted = field_sets.members(field_sets.owned_part(config), schema)
    previous: FieldSet = next((entry["fieldsV1"] for entry in entries if _identity(entry) == identity), {})
    others = [entry for entry in entries if _identity(entry) != identity]
    conflicts = [
        (entry, path)
        for entry in others
        for path in field_sets.leaves(wanted)
        if field_sets.contains(entry.get("fieldsV1") or {}, path)
        and field_sets.lookup(live, schema, path) != field_sets.lookup(config, schema, path)
        and not isinstance(field_sets.lookup(config, schema, path), dict)
    ]
    if conflicts and not force:
        raise _conflict(conflicts)
    taken: FieldSet = {}
    for _, path in conflicts:
        taken = field_sets.union(taken, _single(path))
    merged = _merge(live, config, schema)
    kept: list[Entry] = []
    for entry in others:
        fields = field_sets.difference(entry.get("fieldsV1") or {}, taken)
        if fields:
            kept.append({**entry, "fieldsV1": fields})
    dropped = field_sets.difference(previous, wanted)
    for entry in kept:
        dropped = field_sets.difference(dropped, entry["fieldsV1"])
    value = _pruned(merged, dropped, schema)
    unchanged = previous == wanted and value == live
    own = next((entry for entry in entries if _identity(entry) == identity), None)
    if own is None or not unchanged:
        own = _entry(identity, api_version, timestamp, wanted)
    return Applied(value, [*kept, own])


def _single(path: tuple[str, ...]) -> FieldSet:
    fields: FieldSet = {}
    for element in reversed(path):
        fields = {element: fields}
    return fields


def _conflict(conflicts: list[tuple[Entry, tuple[str, ...]]]) -> errors.ApiError:
    causes, lines = [], []
    for entry, path in conflicts:
        who = f'conflict with "{entry["manager"]}"'
        if entry.get("subresource"):
            who += f' with subresource "{entry["subresource"]}"'
        who += f" using {entry['apiVersion']}"
        where = field_sets.printed(path)
        causes.append({"reason": "FieldManagerConflict", "message": who, "field": where})
        lines.append(f"{who}: {where}")
    noun = "conflict" if len(conflicts) == 1 else "conflicts"
    listing = lines[0] if len(lines) == 1 else "\n- ".join(["", *lines])
    message = f"Apply failed with {len(conflicts)} {noun}: {listing}"
    return errors.ApiError(409, "Conflict", message, details={"causes": causes})


def _merge(live: Any, config: Any, schema: Type | None) -> Any:
    if isinstance(config, dict):
        below = live if isinstance(live, dict) else {}
        kinds = field_sets.children(config, schema) or {}
        result = dict(below)
        for name, value in config.items():
            if value is not None:
                result[name] = _merge(below.get(name), value, kinds[f"f:{name}"][1])
        return result
    elements = field_sets.children(config, schema)
    before = field_sets.children(live, schema)
    if elements is None or before is None:
        return config
    merged = [
        _merge(item, *elements[key]) if key in elements and isinstance(item, dict) else item
        for key, (item, _) in before.items()
    ]
    return merged + [item for key, (item, _) in elements.items() if key not in before]


def _pruned(value: Any, dropped: FieldSet, schema: Type | None) -> Any:
    if not dropped:
        return value
    below = field_sets.children(value, schema)
    if below is None:
        return value
    kept = {}
    for element, (item, kind) in below.items():
        if element not in dropped:
            kept[element] = item
        elif dropped[element] and "." not in dropped[element]:
            kept[element] = _pruned(item, dropped[element], kind)
    if isinstance(schema, ListOf) and isinstance(value, list):
        return list(kept.values())
    return {element.removeprefix("f:"): item for element, item in kept.items()}
