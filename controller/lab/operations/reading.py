"""Reading: one object, or a list of those that are selected, as they are now or were at a revision."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

import msgspec

from controller.lab.objects import errors
from controller.lab.objects.resources import nested
from controller.lab.objects.selectors import (
    FieldRequirement,
    LabelSelector,
    parse_field_selector,
    parse_label_selector,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from controller.lab.objects.resources import Endpoint
    from controller.lab.operations.world import World
    from controller.lab.storage.stored import Stored

CONTINUE_EXPIRED = (
    "the list this continue parameter belongs to is no longer remembered. Start over without it, or go on "
    "with the token in this response, which shows the rest as it is now and may miss or repeat objects."
)
_ANY_REVISION = -1


class Selection(msgspec.Struct, frozen=True):
    """Which objects of a resource are meant; `namespace` is None for all namespaces."""

    namespace: str | None = None
    labels: LabelSelector = LabelSelector()
    fields: tuple[tuple[FieldRequirement, tuple[str, ...]], ...] = ()

    @property
    def selects_by_content(self) -> bool:
        """Whether more than the namespace decides."""
        return bool(self.labels) or bool(self.fields)

    def matches(self, stored: Stored) -> bool:
        """Whether an object is meant."""
        if self.namespace is not None and stored.namespace != self.namespace:
            return False
        if self.labels and not self.labels.matches(stored.labels):
            return False
        return all(
            (_text(nested(stored.value, *path)) == requirement.value) != requirement.negated
            for requirement, path in self.fields
        )


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def select(endpoint: Endpoint, namespace: str | None, label_selector: str = "", field_selector: str = "") -> Selection:
    """The selection that the parameters of a request ask for.

    Raises a BadRequest `ApiError` when they cannot be read.
    """
    try:
        labels = parse_label_selector(label_selector)
    except ValueError as error:
        raise errors.bad_request(f'unable to parse requirement in labelSelector "{label_selector}": {error}') from error
    try:
        requirements = parse_field_selector(field_selector)
    except ValueError as error:
        raise errors.bad_request(str(error)) from error
    known: Mapping[str, tuple[str, ...]] = endpoint.field_labels or endpoint.resource.field_labels
    for requirement in requirements:
        if requirement.field not in known:
            raise errors.bad_request(
                f'Unable to find "{endpoint.api_version}, Resource={endpoint.plural}" that match label '
                f'selector "{label_selector}", field selector "{field_selector}": '
                f"field label not supported: {requirement.field}; supported are {', '.join(known)}"
            )
    fields = tuple((requirement, known[requirement.field]) for requirement in requirements)
    return Selection(namespace, labels, fields)


def get(world: World, endpoint: Endpoint, namespace: str, name: str) -> Stored:
    """The object of that name; raises a NotFound `ApiError` when there is none."""
    stored = world.store.get(endpoint.resource, namespace, name)
    if stored is None:
        raise errors.not_found(endpoint.group, endpoint.plural, name)
    return stored


class ListOptions(msgspec.Struct, frozen=True):
    """How to list: `limit` 0 means everything; `resource_version` and `match` as in the API."""

    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    match: str = ""


class Page(msgspec.Struct, frozen=True):
    """A list or a part of one: all parts of a list show the state at one revision.

    `remaining` is how many objects follow, None when nothing follows or selectors make it unknown.
    """

    items: Sequence[Stored]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


def list_objects(world: World, endpoint: Endpoint, selection: Selection, options: ListOptions) -> Page:
    """The selected objects, or one page of them.

    Raises `ApiError` for options that contradict each other or expired.
    """
    if options.continue_token:
        return _continued(world, endpoint, selection, options)
    wanted = parse_revision(options.resource_version)
    _check_options(options)
    world.store.check_reached(wanted)
    if options.match == "Exact" or (not options.match and wanted > 0 and options.limit > 0):
        everything = world.store.snapshot(endpoint.resource, wanted)
        revision = wanted
    else:
        # Reading first lets expired objects go, which counts as a write.
        everything = world.store.items(endpoint.resource, selection.namespace)
        revision = world.store.revision
    found = [item for item in everything if selection.matches(item)]
    # A server that answers version 0 from its cache ignores the limit; clients must be ready for that.
    limit = 0 if options.resource_version == "0" else options.limit
    return _page(found, revision, limit, selection)


def _check_options(options: ListOptions) -> None:
    problems = []
    if options.match and not options.resource_version:
        text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        problems.append(errors.forbidden("resourceVersionMatch", text))
    if options.match not in ("", "Exact", "NotOlderThan"):
        problems.append(errors.not_supported("resourceVersionMatch", options.match, ("Exact", "NotOlderThan", "")))
    if options.match == "Exact" and options.resource_version == "0":
        text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        problems.append(errors.forbidden("resourceVersionMatch", text))
    if problems:
        raise errors.unprocessable("meta.k8s.io", "ListOptions", "", problems)


def parse_revision(text: str) -> int:
    """The number in a resourceVersion parameter, 0 for none.

    Raises a BadRequest `ApiError` for anything else.
    """
    if text and not (text.isascii() and text.isdigit()):
        raise errors.bad_request(f"invalid resource version {text!r}: it must be a number that this server gave out")
    return int(text or 0)


def _continued(world: World, endpoint: Endpoint, selection: Selection, options: ListOptions) -> Page:
    if options.resource_version not in ("", "0"):
        raise errors.bad_request("specifying resource version is not allowed when using continue")
    revision, start = _decode_token(options.continue_token)
    if revision == _ANY_REVISION:
        revision = world.store.revision
    try:
        everything = world.store.snapshot(endpoint.resource, revision)
    except errors.ApiError as error:
        token = _encode_token(_ANY_REVISION, start)
        raise errors.expired(CONTINUE_EXPIRED, continue_token=token) from error
    found = [item for item in everything if item.path >= start and selection.matches(item)]
    return _page(found, revision, options.limit, selection)


def _page(found: list[Stored], revision: int, limit: int, selection: Selection) -> Page:
    if not limit or len(found) <= limit:
        return Page(found, revision)
    shown = found[:limit]
    token = _encode_token(revision, shown[-1].path + "\0")
    remaining = None if selection.selects_by_content else len(found) - limit
    return Page(shown, revision, token, remaining)


def _encode_token(revision: int, start: str) -> str:
    document = {"v": "meta.k8s.io/v1", "rv": revision, "start": start}
    return base64.urlsafe_b64encode(msgspec.json.encode(document)).decode().rstrip("=")


def _decode_token(token: str) -> tuple[int, str]:
    try:
        document = msgspec.json.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        revision, start = document["rv"], document["start"]
    except (binascii.Error, msgspec.DecodeError, KeyError, TypeError) as error:
        raise errors.bad_request(f"continue key is not valid: {error}") from error
    if not isinstance(revision, int) or not isinstance(start, str):
        raise errors.bad_request("continue key is not valid: it was not made by this server")
    return revision, start
