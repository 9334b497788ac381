"""What a person is told of a file or a connection that was refused."""

from __future__ import annotations

import errno
import socket
import ssl
from typing import TYPE_CHECKING

import pytest

from controller.os_errors import why

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "a.yaml"), "no such file or directory"),
        # As asyncio does, which keeps the number.
        (OSError(errno.EADDRINUSE, "error while attempting to bind on address"), "address already in use"),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "Name or service not known"),
        (OSError("cannot be read"), "cannot be read"),
        (ValueError("embedded null byte"), "embedded null byte"),
    ],
)
def test_the_reason_without_numbers_and_names(error: OSError | ValueError, said: str) -> None:
    assert why(error) == said


def test_openssl_has_numbers_of_its_own(tmp_path: Path) -> None:
    nothing = tmp_path / "tls.crt"
    nothing.write_text("no certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with pytest.raises(ssl.SSLError) as caught:
        context.load_cert_chain(nothing)
    assert why(caught.value) == str(caught.value)
    assert "not permitted" not in why(caught.value)
