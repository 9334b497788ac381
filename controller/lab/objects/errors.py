"""Refusals in the form of the API server: a `Status` object with code, reason and details."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence


class FieldError(msgspec.Struct, frozen=True):
    """One thing that is wrong with one field.

    `kind` is the cause as clients see it (`FieldValueRequired`, …); `text` is the message without the path.
    """

    field: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.field}: {self.text}"


def required(field: str, detail: str = "") -> FieldError:
    """The field must be given."""
    return FieldError(field, "FieldValueRequired", "Required value" + (f": {detail}" if detail else ""))


def invalid(field: str, value: object, detail: str) -> FieldError:
    """The field has a value that cannot be accepted; `value` is quoted in the message."""
    return FieldError(field, "FieldValueInvalid", f"Invalid value: {_quote(value)}: {detail}")


def forbidden(field: str, detail: str) -> FieldError:
    """The field must not be given here."""
    return FieldError(field, "FieldValueForbidden", f"Forbidden: {detail}")


def not_supported(field: str, value: object, supported: Sequence[str]) -> FieldError:
    """The field has none of the values it may have."""
    choices = ", ".join(f'"{choice}"' for choice in supported)
    text = f"Unsupported value: {_quote(value)}" + (f": supported values: {choices}" if choices else "")
    return FieldError(field, "FieldValueNotSupported", text)


def _quote(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return msgspec.json.encode(value).decode()


class ApiError(Exception):
    """A request that is answered with a Failure status.

    Attributes:
        code: HTTP status.
        reason: machine-readable reason (`NotFound`, `Conflict`, …); empty for none.
        message: for humans.
        details: the `details` of the Status; None leaves them out.
        continue_token: for an expired list that may go on from another state; empty otherwise.

    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        continue_token: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.continue_token = continue_token

    @property
    def retry_after_s(self) -> int:
        """Seconds after which the client may try again; 0 means that nothing is said about it."""
        seconds = (self.details or {}).get("retryAfterSeconds", 0)
        return seconds if isinstance(seconds, int) else 0

    def status(self) -> dict[str, Any]:
        """The Status object that carries this refusal."""
        document: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_token} if self.continue_token else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            document["reason"] = self.reason
        if self.details is not None:
            document["details"] = self.details
        document["code"] = self.code
        return document


def qualified(group: str, plural: str) -> str:
    """A resource as messages name it: `deployments.apps`, or `pods` for the core group."""
    return f"{plural}.{group}" if group else plural


def _details(group: str, kind: str, name: str) -> dict[str, Any]:
    return {key: value for key, value in (("name", name), ("group", group), ("kind", kind)) if value}


def not_found(group: str, plural: str, name: str) -> ApiError:
    """404: no object of that name."""
    text = f'{qualified(group, plural)} "{name}" not found'
    return ApiError(404, "NotFound", text, details=_details(group, plural, name))


def unknown_resource() -> ApiError:
    """404: the API version is served, the resource or subresource is not."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(group: str, plural: str, name: str) -> ApiError:
    """409: the name is taken."""
    text = f'{qualified(group, plural)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", text, details=_details(group, plural, name))


STALE = "the object has been modified; please apply your changes to the latest version and try again"
"""What a write with an old resourceVersion is told; clients show it, and some look for it."""


def conflict(group: str, plural: str, name: str, cause: str = STALE) -> ApiError:
    """409: the object is not what the writer believed it to be."""
    text = f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {cause}'
    return ApiError(409, "Conflict", text, details=_details(group, plural, name))


def bad_request(message: str) -> ApiError:
    """400: the request makes no sense as it stands."""
    return ApiError(400, "BadRequest", message)


def forbidden_request(group: str, plural: str, name: str, cause: str) -> ApiError:
    """403: understood and refused."""
    named = f'{qualified(group, plural)} "{name}"' if name else qualified(group, plural)
    return ApiError(403, "Forbidden", f"{named} is forbidden: {cause}", details=_details(group, plural, name))


def unauthorized() -> ApiError:
    """401: the caller did not say who it is, or is not known."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def unprocessable(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> ApiError:
    """422: the object was understood and has wrong fields; every one of them is listed as a cause."""
    causes = [{"reason": error.kind, "message": error.text, "field": error.field} for error in errors]
    texts = list(dict.fromkeys(str(error) for error in errors))
    listing = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    message = f'{qualified(group, kind)} "{name}" is invalid: {listing}'
    return ApiError(422, "Invalid", message, details={**_details(group, kind, name), "causes": causes})


def expired(message: str, *, continue_token: str = "") -> ApiError:
    """410: the state that was asked for is no longer known."""
    return ApiError(410, "Expired", message, continue_token=continue_token)


def too_large_resource_version(wanted: int, current: int) -> ApiError:
    """504: the caller has seen a state that this server has not."""
    text = f"Too large resource version: {wanted}, current: {current}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return ApiError(504, "Timeout", f"Timeout: {text}", details={"causes": causes, "retryAfterSeconds": 1})


def method_not_supported() -> ApiError:
    """405: the path exists, but not for this method."""
    text = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", text, details={})


def unsupported_media_type(accepted: Sequence[str], details: dict[str, Any] | None = None) -> ApiError:
    """415: the body is of a type that nobody here reads."""
    text = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return ApiError(415, "UnsupportedMediaType", text, details=details)


def not_acceptable(accepted: Sequence[str]) -> ApiError:
    """406: none of the media types the client accepts can be produced."""
    text = "only the following media types are accepted: " + ", ".join(accepted)
    return ApiError(406, "NotAcceptable", text, details={})


def service_unavailable(message: str) -> ApiError:
    """503: somebody behind the server does not answer."""
    return ApiError(503, "ServiceUnavailable", message)


def internal_error(message: str) -> ApiError:
    """500: the server itself failed."""
    return ApiError(
        500,
        "InternalError",
        f"Internal error occurred: {message}",
        details={"causes": [{"message": message}]},
    )
