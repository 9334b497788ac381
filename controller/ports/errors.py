"""What an API server, or our own leadership, can have against a request.

ApiError
├── NotFound          404: the object is gone
├── Conflict          409: somebody else wrote first, read again
├── Expired           410: the resource version is too old, list again
├── Throttled         429: come back later, `retry_after_s` if the server said when
├── Refused           401, 403: a permission is missing
│   └── Terminating   403: nothing new is taken in a namespace that is being deleted
├── Rejected          another 4xx: the request itself is wrong, repeating it is useless
├── ServerFailure     5xx
└── Unreachable       no answer: connection, TLS, timeout, cut off in the middle

NotSent
├── NotLeading        another instance may be writing: nothing may be sent
└── NotMandated       the HPA is not ours to write
"""


class ApiError(Exception):
    """An API server did not do what was asked; the text is what it said. `status` is 0 where there was no answer."""

    def __init__(self, message: str, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class NotFound(ApiError):
    """404."""


class Conflict(ApiError):
    """409."""


class Expired(ApiError):
    """410, or an error event of that kind in a watch."""


class Throttled(ApiError):
    """429; `retry_after_s` None: the server did not say when to come back."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message, 429, "TooManyRequests")
        self.retry_after_s = retry_after_s


class Refused(ApiError):
    """401 or 403."""


class Terminating(Refused):
    """403, as the namespace is being deleted: no permission is missing."""


class Rejected(ApiError):
    """Another 4xx."""


class ServerFailure(ApiError):
    """5xx; `retry_after_s` None: the server did not say when to come back."""

    def __init__(self, message: str, status: int, reason: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, status, reason)
        self.retry_after_s = retry_after_s


class Unreachable(ApiError):
    """No answer."""


class NotSent(Exception):
    """A write was stopped before it went out, or before it went out again."""


class NotLeading(NotSent):
    """The Lease is not (or no longer certainly) ours."""


class NotMandated(NotSent):
    """The HPA is not, or no longer, ours to write; see Mandate."""
