"""Asking the introspection listener of the controller that decides: by address, or through the API server.

Which pod of a cluster that is `explain_whereabouts` finds out.
"""

import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import aiohttp

from controller.cli.explain_whereabouts import DIRECT, NotReached, Whereabouts, find
from controller.clock import SystemClock
from controller.kube import port_forward
from controller.kube.client import Client
from controller.kube.connection import Connection
from controller.kube.errors import reason_of
from controller.kube.kubeconfig import Access, load
from controller.kube.lease import ReadOnly
from controller.ports import ApiError, Leadership, Refused

TIMEOUT_S: Final = 30.0


class Controller:
    """A controller that can be asked.

    `where` names it for people; `namespace` is the kubeconfig's, empty without one.
    """

    def __init__(
        self, where: str, http: aiohttp.ClientSession | None, connection: Connection | None, door: Any
    ) -> None:
        self.where = where
        self.namespace = connection.access.namespace if connection is not None else ""
        self._http = http
        self._connection = connection
        self._door = door

    async def get(self, path: str) -> tuple[int, bytes]:
        """Status and body of its answer to a percent-encoded path.

        Raises:
            NotReached: there was none.
        """
        with self._asking():
            if self._http is None:
                assert self._connection is not None  # noqa: S101 - one of the two is given
                return await port_forward.get(self._connection, self._door, path, TIMEOUT_S)
            async with self._http.get(path) as answer:
                return answer.status, await answer.read()

    @asynccontextmanager
    async def stream(self, path: str, silence_s: float) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        """Status of its answer to a percent-encoded path, and the body piece by piece as it comes.

        Raises:
            NotReached: there was none, or no more of it: broken off, or silent for so long.
        """
        with self._asking():
            if self._http is None:
                assert self._connection is not None  # noqa: S101 - one of the two is given
                async with port_forward.stream(self._connection, self._door, path, silence_s) as found:
                    yield found
                return
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT_S, sock_read=silence_s)
            async with self._http.get(path, timeout=timeout) as answer:
                yield answer.status, answer.content.iter_any()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except Refused as error:
            raise NotReached(
                f"{self.where} cannot be asked: {error}; that takes the verbs get and create on pods/portforward"
            ) from error
        except ApiError as error:
            raise NotReached(f"{self.where} cannot be asked: {error}") from error
        except (aiohttp.ClientError, TimeoutError, OSError, UnicodeError) as error:
            raise NotReached(
                f"no controller answers at {self.where}: {reason_of(error)}; is it running with "
                "--introspection-bind-address?"
            ) from error


@asynccontextmanager
async def reached(whereabouts: Whereabouts) -> AsyncIterator[Controller]:
    """The controller that decides.

    Raises:
        NotReached: it was not found; asking it may still fail.
        ConfigurationError: there is no usable kubeconfig.
    """
    if whereabouts.address:
        async with aiohttp.ClientSession(
            f"http://{whereabouts.address}", trust_env=False, timeout=aiohttp.ClientTimeout(total=TIMEOUT_S)
        ) as http:
            yield Controller(whereabouts.address, http, None, None)
        return
    async with connected(whereabouts) as (connection, client):
        yield await holder(connection, client, whereabouts)


@asynccontextmanager
async def connected(
    whereabouts: Whereabouts, leadership: Leadership | None = None
) -> AsyncIterator[tuple[Connection, Client]]:
    """The cluster of the kubeconfig, to read from only unless a leadership allows more.

    Raises:
        NotReached: its API server cannot be reached, or does not do what is asked and nobody made anything of that.
        ConfigurationError: there is no usable kubeconfig.
    """
    access = load(whereabouts.kubeconfig or None, environment=os.environ, context=whereabouts.context or None)
    connection = Connection(access, SystemClock())
    try:
        yield (
            connection,
            Client(
                connection,
                leadership=leadership or ReadOnly(),
                random=random.SystemRandom().random,
                answered=lambda *_: None,
            ),
        )
    except ApiError as error:
        raise _by(access, error) from error
    finally:
        await connection.close()


async def holder(connection: Connection, client: Client, whereabouts: Whereabouts) -> Controller:
    """The controller that decides in the cluster.

    Raises:
        NotReached: it was not found; asking it may still fail.
    """
    try:
        door = await find(client, whereabouts)
    except ApiError as error:
        raise _by(connection.access, error, f"; or {DIRECT}" if isinstance(error, Refused) else "") from error
    return Controller(f"the controller in {door}", None, connection, door)


def _by(access: Access, error: ApiError, remedy: str = "") -> NotReached:
    return NotReached(f"the API server {access.server} ({access.source}): {error}{remedy}")
