import asyncio
import ssl
from pathlib import Path

import pytest

from controller.kube.client import Traffic
from controller.kube.connection import CERTIFICATES_CHECKED_S, Connection
from controller.kube.errors import Untrusted
from controller.lab.server import ServingCertificate
from controller.ports import Unreachable
from tests.adapters.parts import SetClock, access_to, client_on, connected
from tests.adapters.raw_server import WAIT_S, Received, answer, serving
from tests.lab.certificates import make_certificate


def serving_tls(files: ServingCertificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    return context


async def test_only_the_named_authority_is_trusted(tmp_path: Path) -> None:
    for name in ("ours", "other"):
        (tmp_path / name).mkdir()
    ours, other = make_certificate(tmp_path / "ours"), make_certificate(tmp_path / "other")
    async with serving(answer(b"{}"), serving_tls(ours)) as server:
        async with connected(access_to(server.url, ca_file=str(ours.authority))) as client:
            assert await client.get("/x", Traffic.LIST) == b"{}"
        async with connected(access_to(server.url, ca_file=str(other.authority))) as client:
            with pytest.raises(Untrusted, match="its certificate is not trusted"):
                await client.get("/x", Traffic.LIST)
        async with connected(access_to(server.url, verify=False)) as client:
            assert await client.get("/x", Traffic.LIST) == b"{}"
        access = access_to(server.url, ca_file=str(ours.authority), server_name="api.example")
        async with connected(access) as client:
            with pytest.raises(Untrusted, match=r"api\.example"):
                await client.get("/x", Traffic.LIST)


async def test_a_replaced_authority_is_used_by_new_requests_while_old_ones_end_in_peace(tmp_path: Path) -> None:
    served, path, gate = make_certificate(tmp_path), tmp_path / "ca.crt", asyncio.Event()
    path.write_bytes(served.authority.read_bytes())

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.target == "/slow":
            await gate.wait()
        writer.write(answer(b"{}"))

    async with serving(say, serving_tls(served)) as server, asyncio.timeout(WAIT_S):
        clock = SetClock()
        connection = Connection(access_to(server.url, ca_file=str(path)), clock)
        client = client_on(connection)
        await client.get("/x", Traffic.LIST)
        slow = asyncio.create_task(client.get("/slow", Traffic.LIST))
        while len(server.requests) < 2:  # noqa: ASYNC110 - bounded above
            await asyncio.sleep(0.01)
        clock.now_s += CERTIFICATES_CHECKED_S
        path.write_text("half-written")
        assert await client.get("/x", Traffic.LIST) == b"{}"
        before = server.connections
        clock.now_s += CERTIFICATES_CHECKED_S
        path.write_bytes(served.authority.read_bytes() + b"\n")
        assert await client.get("/x", Traffic.LIST) == b"{}"
        assert server.connections == before + 1, "new certificates come with a new connection"
        await client.get("/x", Traffic.LIST)
        assert server.connections == before + 1, "one context per change"
        gate.set()
        assert await slow == b"{}"
        await connection.close()


async def test_certificates_may_be_text(tmp_path: Path) -> None:
    for name in ("server", "client"):
        (tmp_path / name).mkdir()
    ours, theirs = make_certificate(tmp_path / "server"), make_certificate(tmp_path / "client", "client")
    context = serving_tls(ours)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(theirs.authority)
    authority, certificate = ours.authority.read_text(), (theirs.certificate.read_text(), theirs.key.read_text())
    async with serving(answer(b"{}"), context) as server:
        async with connected(access_to(server.url, ca_text=authority, certificate=certificate)) as client:
            assert await client.get("/x", Traffic.LIST) == b"{}"
        async with connected(access_to(server.url, ca_text=authority)) as client:
            with pytest.raises(Unreachable):
                await client.get("/x", Traffic.LIST)


async def test_certificates_that_were_never_good_are_told(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    path.write_text("nonsense")
    async with connected(access_to("https://127.0.0.1:1", ca_file=str(path))) as client:
        with pytest.raises(Unreachable, match="the certificate authority cannot be used"):
            await client.get("/x", Traffic.LIST)


async def test_after_closing_nothing_is_sent() -> None:
    async with serving(answer(b"{}")) as server:
        connection = Connection(access_to(server.url), SetClock())
        client = client_on(connection)
        await connection.close()
        with pytest.raises(Unreachable, match="closed"):
            await client.get("/x", Traffic.LIST)
        assert server.connections == 0
