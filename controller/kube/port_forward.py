"""HTTP to a port of a pod, through the API server: the `portforward` subresource over a WebSocket.

The kubelet speaks `v4.channel.k8s.io`: one message is a channel number and bytes; channel 0 carries data, channel 1
errors, and the first two bytes on each are the port. No local port is opened.
"""

import asyncio
from typing import Final

import aiohttp
import msgspec
from yarl import URL

from controller.kube.client import path_of
from controller.kube.connection import Connection
from controller.kube.credentials import CredentialsError
from controller.kube.errors import TRANSPORT_ERRORS, error_of, unreachable
from controller.kube.kubeconfig_files import ConfigurationError
from controller.ports import ServerFailure, Unreachable

PROTOCOL: Final = "v4.channel.k8s.io"
ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
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


async def _forwarded(connection: Connection, door: Door, path: str) -> tuple[int, bytes]:
    access = connection.access
    try:
        credentials = await connection.credentials()
        headers = dict(access.headers)
        if credentials.authorization is not None:
            headers["Authorization"] = credentials.authorization
        place = path_of("api", "v1", "namespaces", door.namespace, "pods", door.pod, "portforward")
        async with connection.session(credentials) as http:
            try:
                socket = await http.ws_connect(
                    URL(f"{access.server}{place}?ports={door.port}", encoded=True),
                    protocols=(PROTOCOL,),
                    headers=headers,
                    proxy=access.proxy,
                    max_msg_size=ANSWER_BYTES_MAX,
                )
            except aiohttp.WSServerHandshakeError as error:
                raise error_of(error.status, error.headers or {}, b"") from error
            async with socket:
                return await _exchange(socket, door, path)
    except (CredentialsError, ConfigurationError) as error:
        raise Unreachable(str(error)) from error
    except TRANSPORT_ERRORS as error:
        raise unreachable(error) from error


async def _exchange(socket: aiohttp.ClientWebSocketResponse, door: Door, path: str) -> tuple[int, bytes]:
    """Send one request and read its answer; HTTP/1.0, so that it is neither chunked nor followed by another one."""
    request = f"GET {path} HTTP/1.0\r\nHost: {door.pod}\r\nAccept: application/json\r\n\r\n"
    await socket.send_bytes(bytes((_DATA,)) + request.encode("ascii"))
    received = {_DATA: bytearray(), _ERROR: bytearray()}
    while True:
        message = await socket.receive()
        if message.type in _ENDED:
            break
        if message.type is not aiohttp.WSMsgType.BINARY:
            raise ServerFailure(f"{door}: the forwarding broke off: {message.data}", 0)
        if message.data and message.data[0] in received:
            received[message.data[0]] += message.data[1:]
        if len(received[_ERROR]) > _PORT_BYTES:
            break
        if len(received[_DATA]) > ANSWER_BYTES_MAX:
            raise ServerFailure(f"{door}: the answer is larger than {ANSWER_BYTES_MAX} bytes", 0)
        if _whole(bytes(received[_DATA][_PORT_BYTES:])):
            break
    if len(received[_ERROR]) > _PORT_BYTES:
        said = bytes(received[_ERROR][_PORT_BYTES:]).decode(errors="replace")
        raise ServerFailure(" ".join(said.split()), 0)
    return _parsed(bytes(received[_DATA][_PORT_BYTES:]), door)


def _whole(answer: bytes) -> bool:
    """Whether everything that the answer's Content-Length promises is there."""
    head, end, body = answer.partition(_HEADER_END)
    length = _length(head)
    return bool(end) and length is not None and len(body) >= length


def _length(head: bytes) -> int | None:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    return None


def _parsed(answer: bytes, door: Door) -> tuple[int, bytes]:
    head, end, body = answer.partition(_HEADER_END)
    words = head.split(b"\r\n", 1)[0].split(b" ", 2)
    if not end or len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():  # noqa: PLR2004 - protocol and status
        raise ServerFailure(f"{door}: what answers there does not speak HTTP", 0)
    length = _length(head)
    if length is not None and len(body) < length:
        raise Unreachable(f"{door}: the connection was closed before the answer was complete")
    return int(words[1]), body if length is None else body[:length]
