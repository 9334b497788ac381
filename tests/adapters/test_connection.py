import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import structlog

from controller.kube.connection import CERTIFICATES_CHECKED_S, Connection
from controller.kube.credentials import Credentials, NoCredentials
from controller.kube.errors import Untrusted
from controller.kube.traffic import Traffic
from controller.lab.server import ServingCertificate
from controller.ports import Clock, Refused, Unreachable
from tests.adapters.parts import SetClock, access_to, client_on, connected
from tests.adapters.raw_server import WAIT_S, RawServer, Received, answer, serving
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
        access = access_to(server.url, ca_file=str(ours.authority), server_name="127.0.0.1.")
        async with connected(access) as client:
            assert await client.get("/x", Traffic.LIST) == b"{}"


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


async def test_a_client_key_with_a_pass_phrase_is_told_and_asks_nobody(tmp_path: Path) -> None:
    files = make_certificate(tmp_path, encrypted=True)
    by_name = {"certificate_file": str(files.certificate), "key_file": str(files.key)}
    async with connected(access_to("https://127.0.0.1:1", **by_name)) as client:
        with pytest.raises(Unreachable, match=r"tls\.key is encrypted; keep it without a pass phrase"):
            await client.get("/x", Traffic.LIST)
    certificate = (files.certificate.read_text(), files.key.read_text())
    async with connected(access_to("https://127.0.0.1:1", certificate=certificate)) as client:
        with pytest.raises(Unreachable, match="its key cannot be used: the key is encrypted"):
            await client.get("/x", Traffic.LIST)


async def test_after_closing_nothing_is_sent() -> None:
    async with serving(answer(b"{}")) as server:
        connection = Connection(access_to(server.url), SetClock())
        client = client_on(connection)
        await connection.close()
        with pytest.raises(Unreachable, match="closed"):
            await client.get("/x", Traffic.LIST)
        assert server.connections == 0


@asynccontextmanager
async def serving_clients_of(tmp_path: Path, *names: str) -> AsyncIterator[tuple[RawServer, str, list[Path]]]:
    """A server that demands a client certificate of one of these, its authority, and the folders of their files."""
    folders = [tmp_path / name for name in ("server", *names)]
    for folder in folders:
        folder.mkdir()
    ours, *theirs = [make_certificate(folder, folder.name) for folder in folders]
    context = serving_tls(ours)
    context.verify_mode = ssl.CERT_REQUIRED
    for files in theirs:
        context.load_verify_locations(files.authority)
    async with serving(answer(b"{}"), context) as server:
        yield server, str(ours.authority), folders[1:]


async def test_client_certificates_may_be_files_which_are_looked_at_every_ten_seconds(tmp_path: Path) -> None:
    async with serving_clients_of(tmp_path, "old", "new") as (server, authority, (old, new)):
        clock, files = SetClock(), {"certificate_file": str(old / "tls.crt"), "key_file": str(old / "tls.key")}
        async with connected(access_to(server.url, ca_file=authority, **files), clock) as client:
            await client.get("/x", Traffic.LIST)
            clock.now_s += 9
            for name in ("tls.crt", "tls.key"):
                (old / name).write_bytes((new / name).read_bytes())
            await client.get("/x", Traffic.LIST)
            assert server.connections == 1
            clock.now_s += 1
            await client.get("/x", Traffic.LIST)
            assert server.connections == 2


@pytest.mark.parametrize("name", ["tls.crt", "tls.key"])
async def test_half_a_client_certificate_is_told_or_waited_for(tmp_path: Path, name: str) -> None:
    """The other half comes a moment later: whichever of the two it is, a change of it is noticed."""
    async with serving_clients_of(tmp_path, "old", "new") as (server, authority, (old, new)):
        clock, files = SetClock(), {"certificate_file": str(old / "tls.crt"), "key_file": str(old / "tls.key")}
        whole = (new / name).read_bytes()
        for one in ("tls.crt", "tls.key"):
            (old / one).write_bytes((new / one).read_bytes())
        (old / name).write_text("half-written")
        async with connected(access_to(server.url, ca_file=authority, **files), clock) as client:
            with pytest.raises(Unreachable, match="the client certificate and its key cannot be used"):
                await client.get("/x", Traffic.LIST)
            (old / name).write_bytes(whole)
            await client.get("/x", Traffic.LIST)
            before = server.connections
            clock.now_s += CERTIFICATES_CHECKED_S
            (old / name).write_text("half-written")
            await client.get("/x", Traffic.LIST)
            clock.now_s += CERTIFICATES_CHECKED_S
            (old / name).write_bytes(whole + b"\n")
            await client.get("/x", Traffic.LIST)
            assert server.connections == before + 1


class Certificates(NoCredentials):
    """A plug-in that prints certificates; those that are refused are replaced by the next ones."""

    def __init__(self, *printed: tuple[str, str]) -> None:
        self.printed = list(printed)

    async def credentials(self, clock: Clock) -> Credentials:
        del clock
        return Credentials(None, self.printed[0])

    def refused(self, credentials: Credentials) -> bool:
        assert credentials.certificate == self.printed[0]
        return len(self.printed) > 1 and bool(self.printed.pop(0))


def pem(folder: Path) -> tuple[str, str]:
    return (folder / "tls.crt").read_text(), (folder / "tls.key").read_text()


async def test_a_new_certificate_of_a_plug_in_is_used_at_once(tmp_path: Path) -> None:
    async with serving_clients_of(tmp_path, "old", "new") as (server, authority, (old, new)):
        tokens = Certificates(pem(old))
        async with connected(access_to(server.url, ca_file=authority, tokens=tokens), SetClock()) as client:
            for _ in range(2):
                await client.get("/x", Traffic.LIST)
            assert server.connections == 1
            tokens.printed = [pem(new)]
            for _ in range(2):
                await client.get("/x", Traffic.LIST)
            assert server.connections == 2


async def test_a_certificate_of_a_plug_in_that_cannot_be_used_leaves_the_one_from_before(tmp_path: Path) -> None:
    async with serving_clients_of(tmp_path, "old") as (server, authority, (old,)):
        tokens = Certificates(pem(old))
        async with connected(access_to(server.url, ca_file=authority, tokens=tokens), SetClock()) as client:
            await client.get("/x", Traffic.LIST)
            tokens.printed = [("nonsense", "nonsense")]
            for _ in range(2):
                await client.get("/x", Traffic.LIST)
            assert server.connections == 1


async def test_a_refusal_has_the_certificate_files_looked_at_again(tmp_path: Path) -> None:
    """Not a minute later: who was refused is who has old files."""
    paths = [tmp_path / name for name in ("old", "new")]
    for folder in paths:
        folder.mkdir()
    old, new = (make_certificate(folder, folder.name) for folder in paths)
    served = make_certificate(tmp_path)

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("ssl_object").getpeercert()
        good = ("commonName", "new") in [pair for part in peer["subject"] for pair in part]
        writer.write(answer(b"{}") if good else answer(b"no", status="401 Unauthorized"))

    context = serving_tls(served)
    context.verify_mode = ssl.CERT_REQUIRED
    for files in (old, new):
        context.load_verify_locations(files.authority)
    async with serving(say, context) as server:
        access = access_to(
            server.url, ca_file=str(served.authority), certificate_file=str(old.certificate), key_file=str(old.key)
        )
        async with connected(access, SetClock()) as client:
            with pytest.raises(Refused):
                await client.get("/x", Traffic.LIST)
            assert len(server.requests) == 2, "once more, with the same"
            for source, target in ((new.certificate, old.certificate), (new.key, old.key)):
                target.write_bytes(source.read_bytes())
            assert await client.get("/x", Traffic.LIST) == b"{}"


async def test_credentials_that_are_refused_are_replaced(tmp_path: Path) -> None:
    """A plug-in hears of it, and what it prints next is tried."""
    paths = [tmp_path / name for name in ("old", "new")]
    for folder in paths:
        folder.mkdir()
        make_certificate(folder, folder.name)

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"no", status="401 Unauthorized"))

    async with serving(say) as server:
        tokens = Certificates(pem(paths[0]), pem(paths[1]))
        async with connected(access_to(server.url, tokens=tokens), SetClock()) as client:
            with pytest.raises(Refused):
                await client.get("/x", Traffic.LIST)
            assert len(server.requests) == 2
            assert tokens.printed == [pem(paths[1])]


async def test_more_requests_are_under_way_than_a_library_allows_by_default() -> None:
    hangs = asyncio.Event()

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        await hangs.wait()
        writer.write(answer(b"{}"))

    async with serving(say) as server, connected(access_to(server.url), SetClock()) as client, asyncio.timeout(WAIT_S):
        kinds = (Traffic.SCALE, Traffic.RESOURCE_METRICS)
        asked = [asyncio.create_task(client.get("/x", kind)) for kind in kinds for _ in range(60)]
        while len(server.requests) < len(asked):  # noqa: ASYNC110 - bounded above
            await asyncio.sleep(0.01)
        hangs.set()
        assert await asyncio.gather(*asked) == [b"{}"] * len(asked)


async def test_of_several_requests_under_way_on_old_certificates_each_ends_in_peace(tmp_path: Path) -> None:
    served, path = make_certificate(tmp_path), tmp_path / "ca.crt"
    path.write_bytes(served.authority.read_bytes())
    gates = {"/first": asyncio.Event(), "/second": asyncio.Event()}

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.target in gates:
            await gates[received.target].wait()
        writer.write(answer(b"{}"))

    async with serving(say, serving_tls(served)) as server, asyncio.timeout(WAIT_S):
        clock = SetClock()
        async with connected(access_to(server.url, ca_file=str(path)), clock) as client:
            slow = [asyncio.create_task(client.get(target, Traffic.LIST)) for target in gates]
            while len(server.requests) < 2:  # noqa: ASYNC110 - bounded above
                await asyncio.sleep(0.01)
            clock.now_s += CERTIFICATES_CHECKED_S
            path.write_bytes(served.authority.read_bytes() + b"\n")
            await client.get("/x", Traffic.LIST)
            for task, gate in zip(slow, gates.values(), strict=True):
                gate.set()
                assert await task == b"{}"


async def test_closing_ends_what_is_under_way_on_old_certificates(tmp_path: Path) -> None:
    served, path = make_certificate(tmp_path), tmp_path / "ca.crt"
    path.write_bytes(served.authority.read_bytes())

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.target == "/slow":
            await asyncio.Event().wait()
        writer.write(answer(b"{}"))

    async with serving(say, serving_tls(served)) as server, asyncio.timeout(WAIT_S):
        clock = SetClock()
        async with connected(access_to(server.url, ca_file=str(path)), clock) as client:
            slow = asyncio.create_task(client.get("/slow", Traffic.LIST, timeout_s=10 * WAIT_S))
            while not server.requests:  # noqa: ASYNC110 - bounded above
                await asyncio.sleep(0.01)
            clock.now_s += CERTIFICATES_CHECKED_S
            path.write_bytes(served.authority.read_bytes() + b"\n")
            await client.get("/x", Traffic.LIST)
        with pytest.raises(Unreachable):
            await slow


async def test_certificates_that_cannot_be_used_are_told_once(tmp_path: Path) -> None:
    served, path, clock = make_certificate(tmp_path), tmp_path / "ca.crt", SetClock()
    path.write_bytes(served.authority.read_bytes())
    async with (
        serving(answer(b"{}"), serving_tls(served)) as server,
        connected(access_to(server.url, ca_file=str(path)), clock) as client,
    ):
        await client.get("/x", Traffic.LIST)
        path.write_text("half-written")
        with structlog.testing.capture_logs() as logs:
            for _ in range(3):
                clock.now_s += CERTIFICATES_CHECKED_S
                await client.get("/x", Traffic.LIST)
    assert [line["event"].endswith("going on with those from before") for line in logs] == [True]


async def test_certificates_that_stay_keep_their_connections(tmp_path: Path) -> None:
    served, clock = make_certificate(tmp_path), SetClock()
    async with serving(answer(b"{}"), serving_tls(served)) as server:
        async with connected(access_to(server.url, ca_file=str(served.authority)), clock) as client:
            for _ in range(5):
                await client.get("/x", Traffic.LIST)
                clock.now_s += CERTIFICATES_CHECKED_S
        assert server.connections == 1


async def test_a_refusal_is_believed_where_there_are_no_other_credentials() -> None:
    async with serving(answer(b"no", status="401 Unauthorized")) as server:
        async with connected(access_to(server.url), SetClock()) as client:
            with pytest.raises(Refused):
                await client.get("/x", Traffic.LIST)
        assert len(server.requests) == 1
