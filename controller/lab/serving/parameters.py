"""What the query of a write may say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.lab.objects import errors
from controller.lab.objects.errors import FieldError

if TYPE_CHECKING:
    from controller.lab.serving.service import Exchange

_OPTIONS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_MANAGER_MAX_BYTES = 128


def check_parameters(exchange: Exchange, *, applies: bool = False) -> None:
    """Raise an Invalid `ApiError` that names every parameter of a write which cannot be accepted.

    `applies` says that it is a server-side apply, which needs a manager and alone may be forced.
    """
    query = exchange.query
    manager, dry_run, validation = (query.get(name, "") for name in ("fieldManager", "dryRun", "fieldValidation"))
    problems: list[FieldError] = []
    if applies and not manager:
        problems.append(errors.required("fieldManager", "is required for apply patch"))
    elif not applies and exchange.request.method == "PATCH" and "force" in query:
        problems.append(errors.forbidden("force", "only a server-side apply can be forced"))
    if len(manager.encode()) > _MANAGER_MAX_BYTES:
        text = f"Too long: may not be more than {_MANAGER_MAX_BYTES} bytes"
        problems.append(FieldError("fieldManager", "FieldValueTooLong", text))
    elif not manager.isprintable():
        problems.append(errors.invalid("fieldManager", manager, "must be of printable characters"))
    if dry_run not in ("", "All"):
        problems.append(errors.not_supported("dryRun", [dry_run], ("All",)))
    if validation not in _VALIDATIONS:
        problems.append(errors.not_supported("fieldValidation", validation, _VALIDATIONS))
    if problems:
        raise errors.unprocessable("meta.k8s.io", _OPTIONS[exchange.request.method], "", problems)
