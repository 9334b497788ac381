"""Objects, lists and tables as bytes, in the form a client wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from controller.lab.serving.printers import CUSTOM, FALLBACK, PRINTERS, SCALE, Printer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from controller.lab.objects.resources import Endpoint, Object
    from controller.lab.operations.reading import Page
    from controller.lab.serving.negotiation import Wanted
    from controller.lab.storage.stored import Stored

_META = "meta.k8s.io/v1"
_COMPLETED = {
    "Succeeded": ("Succeeded", "The pod has completed successfully."),
    "Failed": ("Failed", "The pod failed."),
}


def render_object(endpoint: Endpoint, stored: Stored, wanted: Wanted, now: datetime) -> bytes:
    """One object: itself, its metadata, or a table with one row."""
    match wanted.form:
        case "object":
            return stored.full(endpoint)
        case "metadata":
            return msgspec.json.encode(_metadata_only(stored))
        case "table":
            metadata = {"resourceVersion": str(stored.revision)}
            return render_table(endpoint, [stored], metadata, wanted, now)


def render_scale(scale: Object, wanted: Wanted, now: datetime) -> bytes:
    """The Scale of an object: itself, its metadata, or a table with one row."""
    metadata = {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": scale["metadata"]}
    if wanted.form != "table":
        return msgspec.json.encode(scale if wanted.form == "object" else metadata)
    shown = {"Metadata": metadata, "Object": scale}.get(wanted.include)
    table = {
        "kind": "Table",
        "apiVersion": _META,
        "metadata": {"resourceVersion": scale["metadata"]["resourceVersion"]},
        "columnDefinitions": _columns(SCALE),
        "rows": [{"cells": SCALE.cells(scale, now), "object": shown}],
    }
    return msgspec.json.encode(table)


def render_list(endpoint: Endpoint, page: Page, wanted: Wanted, now: datetime) -> bytes:
    """A list; items of built-in kinds come without apiVersion and kind, those of custom resources with."""
    metadata: Object = {"resourceVersion": str(page.revision)}
    if page.continue_token:
        metadata["continue"] = page.continue_token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    if wanted.form == "table":
        return render_table(endpoint, page.items, metadata, wanted, now)
    if wanted.form == "metadata":
        kind, version = "PartialObjectMetadataList", _META
        items = [msgspec.json.encode(_metadata_only(item)) for item in page.items]
    else:
        kind, version = f"{endpoint.kind}List", endpoint.api_version
        if endpoint.resource.custom:
            metadata.setdefault("continue", "")
        custom = endpoint.resource.custom
        items = [item.full(endpoint) if custom else item.bare(endpoint) for item in page.items]
    head = f'{{"kind":"{kind}","apiVersion":"{version}","metadata":'.encode()
    return b"".join((head, msgspec.json.encode(metadata), b',"items":[', b",".join(items), b"]}"))


def render_table(
    endpoint: Endpoint,
    items: Sequence[Stored],
    metadata: Object,
    wanted: Wanted,
    now: datetime,
    *,
    headers: bool = True,
) -> bytes:
    """A Table of objects; without `headers` for all but the first event of a watch."""
    printer = printer_of(endpoint)
    table = {
        "kind": "Table",
        "apiVersion": _META,
        "metadata": metadata,
        "columnDefinitions": _columns(printer) if headers else None,
        "rows": [_row(endpoint, printer, item, wanted, now) for item in items],
    }
    return msgspec.json.encode(table)


def printer_of(endpoint: Endpoint) -> Printer:
    """The columns of an endpoint."""
    return PRINTERS.get(endpoint.resource.key, CUSTOM if endpoint.resource.custom else FALLBACK)


def _columns(printer: Printer) -> list[Object]:
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": int(column.wide),
        }
        for column in printer.columns
    ]


def _row(endpoint: Endpoint, printer: Printer, stored: Stored, wanted: Wanted, now: datetime) -> Object:
    row: dict[str, Any] = {"cells": printer.cells(stored.value, now)}
    phase = _COMPLETED.get((stored.value.get("status") or {}).get("phase", ""))
    if phase and stored.resource.key == "pods":
        reason, message = phase
        row["conditions"] = [{"type": "Completed", "status": "True", "reason": reason, "message": message}]
    if wanted.include == "Metadata":
        row["object"] = _metadata_only(stored)
    elif wanted.include == "Object":
        row["object"] = msgspec.Raw(stored.full(endpoint))
    else:
        row["object"] = None
    return row


def _metadata_only(stored: Stored) -> Object:
    return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": stored.value["metadata"]}
