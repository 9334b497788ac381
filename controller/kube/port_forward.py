"""HTTP to a port of a pod, through the API server: the `portforward` subresource over a WebSocket.

The kubelet speaks `v4.channel.k8s.io`: one message is a channel number and bytes; channel 0 carries data, channel 1
errors, and the first two bytes on each are the port. No local port is opened.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import aiohttp
import msgspec
from yarl import URL

from controller.kube.connection import Connection
from controller.kube.credentials import CredentialsError
from controller.kube.errors import TRANSPORT_ERRORS, error_of, unreachable
from controller.kube.sessions import CertificatesError
from controller.kube.urls import path_of
from controller.ports import ServerFailure, Unreachable

PROTOCOL: Final = "v4.channel.k8s.io"
ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
HANDSHAKE_S: Final = 30.0
"""How long the API server may take to open the port: it answers at once, unless the node is gone."""

_DATA: Final = 0
_ERROR: Final = 1
_PORT_BYTES: Final = 2
_HEADER_END: Final = b"\r\n\r\n"
_ENDED: Final = (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING, aiohttp.WSMsgType.CLOSED)


class Door(msgspec.Struct, frozen=True):
    """A port of a pod."""

    namespace: str
    pod: str
    port: int

    def __str__(self) -> str:
        """`pod kube-system/web-0, port 8082`."""
        return f"pod {self.namespace}/{self.pod}, port {self.port}"


async def get(connection: Connection, door: Door, path: str, timeout_s: float) -> tuple[int, bytes]:
    """Status and body of what the pod answers to `GET path`; `path` is percent-encoded.

    Raises:
        ApiError: the API server refused the forwarding, or the pod does not answer there.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await _forwarded(connection, door, path)
    except TimeoutError as error:
        raise Unreachable(f"{door} did not answer within {timeout_s:g} s") from error


@asynccontextmanager
async def stream(
    connection: Connection, door: Door, path: str, silence_s: float
) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
    """Status of what the pod answers to `GET path`, and its body piece by piece as it comes, until the pod closes it.

    Raises:
        ApiError: the API server refused the forwarding, the pod does not answer there, or was silent for too long.
    """
    async with _opened(connection, door) as socket:
        pieces = _pieces(await _asked(socket, door, path), door, silence_s)
        answer = b""
        while _HEADER_END not in answer:
            piece = await anext(pieces, b"")
            if not piece:
                break
            answer += piece
        status, begun = _parsed(answer, door, whole=False)
        yield status, _joined(begun, pieces)


async def _joined(begun: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    if begun:
        yield begun
    async for piece in pieces:
        yield piece


async def _forwarded(connection: Connection, door: Door, path: str) -> tuple[int, bytes]:
    async with _opened(connection, door) as socket:
        return await _exchange(await _asked(socket, door, path), door)


@asynccontextmanager
async def _opened(connection: Connection, door: Door) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """The forwarded port."""
    access = connection.access
    try:
        credentials = await connection.credentials()
        headers = list(access.headers)
        if credentials.authorization is not None:
            headers.append(("Authorization", credentials.authorization))
        place = path_of("api", "v1", "namespaces", door.namespace, "pods", door.pod, "portforward")
        async with await connection.session(credentials) as http:
            try:
                async with asyncio.timeout(HANDSHAKE_S):
                    socket = await http.session.ws_connect(
                        URL(f"{access.server}{place}?ports={door.port}", encoded=True),
                        protocols=(PROTOCOL,),
                        headers=headers,
                        proxy=access.proxy,
                        server_hostname=access.server_name,
                        max_msg_size=ANSWER_BYTES_MAX,
                    )
            except aiohttp.WSServerHandshakeError as error:
                raise error_of(error.status, error.headers or {}, b"") from error
            async with socket:
                yield socket
    except (CredentialsError, CertificatesError) as error:
        raise Unreachable(str(error)) from error
    except TRANSPORT_ERRORS as error:
        raise unreachable(error) from error


async def _asked(socket: aiohttp.ClientWebSocketResponse, door: Door, path: str) -> aiohttp.ClientWebSocketResponse:
    """The socket after one request; HTTP/1.0, so that the answer is neither chunked nor followed by another one."""
    request = f"GET {path} HTTP/1.0\r\nHost: {door.pod}\r\nAccept: application/json\r\n\r\n"
    # Where the kubelet has given up already, what it said about that is still to be read.
    with suppress(ConnectionResetError):
        await socket.send_bytes(bytes((_DATA,)) + request.encode("ascii"))
    return socket


async def _exchange(socket: aiohttp.ClientWebSocketResponse, door: Door) -> tuple[int, bytes]:
    """The whole answer."""
    received, whole_bytes = bytearray(), None
    async for piece in _pieces(socket, door, None):
        received += piece
        if len(received) > ANSWER_BYTES_MAX:
            raise ServerFailure(f"{door}: the answer is larger than {ANSWER_BYTES_MAX} bytes", 0)
        if whole_bytes is None:
            whole_bytes = _whole_bytes(received)
        if whole_bytes is not None and len(received) >= whole_bytes:
            break
    return _parsed(bytes(received), door)


async def _pieces(
    socket: aiohttp.ClientWebSocketResponse, door: Door, silence_s: float | None
) -> AsyncGenerator[bytes, None]:
    """What comes on the data channel, without the port before it, until the other side closes.

    Raises:
        ServerFailure: the other channel tells of an error, or the forwarding broke off.
        Unreachable: nothing came for so long (None: however long it takes).
    """
    port_left, said = _PORT_BYTES, bytearray()
    while True:
        try:
            message = await socket.receive(silence_s)
        except TimeoutError as error:
            raise Unreachable(f"{door} has been silent for {silence_s:g} s") from error
        if message.type in _ENDED:
            return
        if message.type is not aiohttp.WSMsgType.BINARY:
            raise ServerFailure(f"{door}: the forwarding broke off: {message.data}", 0)
        channel, data = message.data[:1], message.data[1:]
        if channel == bytes((_ERROR,)):
            said += data
            if len(said) > _PORT_BYTES:
                raise ServerFailure(" ".join(said[_PORT_BYTES:].decode(errors="replace").split()), 0)
        elif channel == bytes((_DATA,)):
            port_left, data = max(0, port_left - len(data)), data[port_left:]
            if data:
                yield data


def _whole_bytes(begun: bytearray) -> int | None:
    """How long an answer will be, by its Content-Length; None while, or if, it does not say."""
    end = begun.find(_HEADER_END)
    length = None if end < 0 else _length(bytes(begun[:end]))
    return None if length is None else end + len(_HEADER_END) + length


def _length(head: bytes) -> int | None:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    return None


def _parsed(answer: bytes, door: Door, *, whole: bool = True) -> tuple[int, bytes]:
    head, end, body = answer.partition(_HEADER_END)
    words = head.split(b"\r\n", 1)[0].split(b" ", 2)
    if not end or len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():  # noqa: PLR2004 - protocol and status
        raise ServerFailure(f"{door}: what answers there does not speak HTTP", 0)
    length = _length(head)
    if whole and length is not None and len(body) < length:
        raise Unreachable(f"{door}: the connection was closed before the answer was complete")
    return int(words[1]), body if length is None else body[:length]
