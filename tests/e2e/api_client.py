"""A plain JSON client of the Kubernetes API for tests, which shares nothing with the product's own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

import aiohttp

from tests.trust import trusting

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path
    from types import TracebackType

    from tests.e2e.certificates import Credential

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

# What a test may meet while a server is down, starts or is being stopped.
CONNECTION_ERRORS = (aiohttp.ClientError, ConnectionError, TimeoutError)

# One line of a watch is one object, which may be large.
_LINE_LIMIT_BYTES = 1 << 22


class ApiError(Exception):
    """An answer other than 2xx: the HTTP ``status``, the API's ``reason``, such as ``NotFound``, and the ``body``."""

    def __init__(self, request: str, status: int, body: bytes) -> None:
        try:
            answer = json.loads(body)
        except ValueError:
            answer = None
        details = answer if isinstance(answer, dict) else {}
        self.status = status
        self.body = body
        self.reason = str(details.get("reason", ""))
        self.message = str(details.get("message") or body[:500].decode(errors="replace"))
        super().__init__(f"{request}: {status} {self.reason}: {self.message}")


class ApiClient:
    """Sends JSON to one API server as one user. Close it, or use it in ``async with``."""

    def __init__(self, server: str, authority: Path, identity: Credential | str | None = None) -> None:
        context = trusting(authority)
        headers = {"User-Agent": "hpa-controller-e2e"}
        if isinstance(identity, str):
            headers["Authorization"] = f"Bearer {identity}"
        elif identity is not None:
            context.load_cert_chain(identity.certificate, identity.key)
        self.server = server
        self._session = aiohttp.ClientSession(
            headers=headers,
            # Watches hold their connections, so a limit would make requests wait for them.
            connector=aiohttp.TCPConnector(ssl=context, limit=0),
            read_bufsize=_LINE_LIMIT_BYTES,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes all connections."""
        await self._session.close()

    async def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        accept: str = "application/json",
        timeout_s: float = 30.0,
    ) -> Any:
        """The decoded answer. Raises ApiError, or one of CONNECTION_ERRORS."""
        return await self.request("GET", path, query=query, accept=accept, timeout_s=timeout_s)

    async def create(self, path: str, body: Any) -> Any:
        """POSTs a new object to a collection; what the server made of it."""
        return await self.request("POST", path, body=body)

    async def replace(self, path: str, body: Any) -> Any:
        """PUTs an object; what the server made of it."""
        return await self.request("PUT", path, body=body)

    async def patch(self, path: str, body: Any, content_type: str = MERGE_PATCH) -> Any:
        """PATCHes an object, by default with a merge patch; the whole object as it is then."""
        return await self.request("PATCH", path, body=body, content_type=content_type)

    async def delete(self, path: str, query: Mapping[str, str] | None = None, body: Any = None) -> Any:
        """DELETEs an object or a collection; the answer, which depends on the kind."""
        return await self.request("DELETE", path, query=query, body=body)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout_s: float = 30.0,
    ) -> Any:
        """The decoded answer, or its text where it is not JSON. Raises ApiError or CONNECTION_ERRORS."""
        async with self._session.request(
            method,
            self.server + path,
            params=query,
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": content_type, "Accept": accept},
            timeout=aiohttp.ClientTimeout(total=timeout_s),
        ) as response:
            content = await response.read()
            if not response.ok:
                raise ApiError(f"{method} {path}", response.status, content)
            return json.loads(content) if response.content_type == "application/json" else content.decode()

    async def watch(self, path: str, query: Mapping[str, str] | None = None) -> AsyncGenerator[dict[str, Any], None]:
        """The events of a collection until the server ends the watch; close the generator to end it sooner.

        Without a resourceVersion in query it begins with an ADDED event for each object there is. Raises
        ApiError, also for an ERROR event, or one of CONNECTION_ERRORS.
        """
        async with self._session.get(
            self.server + path,
            params={**(query or {}), "watch": "true"},
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10.0),
        ) as response:
            if not response.ok:
                raise ApiError(f"WATCH {path}", response.status, await response.read())
            async for line in response.content:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    status = event["object"]
                    raise ApiError(f"WATCH {path}", int(status.get("code", 500)), json.dumps(status).encode())
                yield event
