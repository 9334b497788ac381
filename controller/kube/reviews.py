"""Who asks us for something, and whether they may: the API server reviews the bearer tokens of our own visitors."""

import hashlib
from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec

from controller.kube.client import Client
from controller.kube.errors import decoded

Admission = Literal["allowed", "unknown", "forbidden"]
"""`unknown`: the token is nobody's; `forbidden`: its user may not."""

REMEMBERED_S: Final = 60.0
"""How long an answer holds; a token that is withdrawn works for so long."""

REMEMBERED_MAX: Final = 1000

_WHO: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_WHETHER: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _User | None = None


class _TokenReview(msgspec.Struct):
    status: _TokenStatus


class _AccessStatus(msgspec.Struct):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessStatus


class Reviews:
    """Asks the API server about bearer tokens, and remembers its answers by the tokens' digests."""

    def __init__(self, client: Client, time_s: Callable[[], float]) -> None:
        """`time_s` is a clock that never goes back."""
        self._client = client
        self._time_s = time_s
        self._known: dict[tuple[bytes, str], tuple[float, Admission]] = {}

    async def admission(self, token: str, path: str) -> Admission:
        """Whether the user of a bearer token may `get` the non-resource URL.

        Raises:
            ApiError: the API server did not answer, or does not let us ask.
        """
        if not token.isascii():
            return "unknown"  # no token of Kubernetes; text that was no UTF-8 could not even be sent on
        key = (hashlib.sha256(token.encode()).digest(), path)
        now_s = self._time_s()
        known = self._known.get(key)
        if known is not None and now_s < known[0]:
            return known[1]
        found = await self._ask(token, path)
        if len(self._known) >= REMEMBERED_MAX:
            # Only somebody who guesses brings so many tokens.
            self._known.clear()
        self._known[key] = (now_s + REMEMBERED_S, found)
        return found

    async def _ask(self, token: str, path: str) -> Admission:
        spec: dict[str, Any] = {"token": token}
        reviewed = await self._review(_WHO, "authentication.k8s.io/v1", "TokenReview", spec, _TokenReview)
        user = reviewed.status.user
        if not reviewed.status.authenticated or user is None:
            return "unknown"
        spec = {
            "user": user.username,
            "uid": user.uid,
            "groups": user.groups or [],
            "extra": user.extra or {},
            "nonResourceAttributes": {"path": path, "verb": "get"},
        }
        access = await self._review(_WHETHER, "authorization.k8s.io/v1", "SubjectAccessReview", spec, _AccessReview)
        return "allowed" if access.status.allowed else "forbidden"

    async def _review(self, path: str, version: str, kind: str, spec: dict[str, Any], shape: type[Any]) -> Any:
        body = msgspec.json.encode({"apiVersion": version, "kind": kind, "metadata": {}, "spec": spec})
        return decoded(await self._client.review(path, body), shape, f"the {kind}")
