"""Files with secrets and certificates change under a controller at work: the next queries use them."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography import x509

from controller.lab.server import ServingCertificate
from tests.adapters.raw_server import Received, answer, serving
from tests.lab.certificates import make_certificate
from tests.lab_run.runs import Run, in_fast_time, running
from tests.lab_run.scaled_by import external, scenario
from tests.sources.fake_prometheus import FakePrometheus, sample
from tests.sources.tls import serving_tls

SPEED: Final = 12.0
"""So that limits of time in the lab are seconds of any machine."""

RULES: Final = """\
externalRules:
- seriesQuery: depth
  resources: {namespaced: false}
  metricsQuery: depth
"""
OPTION: Final = "--metrics-source-option=http-json"


class Guarded:
    """A server over TLS that notes the client's certificate and lets go of each connection, so that each one counts."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self.tls = tls
        self.fake = FakePrometheus()
        self.fake.series = [{"__name__": "depth"}]
        self.value = "30"
        self.seen: tuple[str | None, str | None] = (None, None)
        """Authorization and serial number of the client's certificate of the last request."""

    async def say(self, received: Received, writer: asyncio.StreamWriter) -> None:
        certificate: dict[str, Any] = writer.get_extra_info("peercert") or {}
        self.seen = received.header("authorization"), certificate.get("serialNumber")
        self.fake.answers["depth"] = [sample(self.value)]
        if received.target.startswith("/json"):
            writer.write(answer(f'{{"value": {self.value}}}'.encode(), "Connection: close"))
        else:
            await self.fake.say(received, writer)
        await writer.drain()
        writer.close()


class Files:
    """What the controller is told to read, and what stands behind it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority, self.certificate, self.key = folder / "ca.crt", folder / "client.crt", folder / "client.key"
        self.token, self.password, self.rules = folder / "token", folder / "password", folder / "rules.yaml"
        self.token.write_text("one")
        self.password.write_text("first")
        self.rules.write_text(RULES)
        self._made: dict[str, ServingCertificate] = {}

    def made(self, name: str) -> ServingCertificate:
        """A certificate of this name, which is its own authority."""
        if name not in self._made:
            (self.folder / name).mkdir()
            self._made[name] = make_certificate(self.folder / name, name)
        return self._made[name]

    def trust(self, name: str) -> None:
        self.authority.write_bytes(self.made(name).certificate.read_bytes())

    def show(self, name: str) -> str:
        """Let a client certificate stand in the files; its serial number as a server sees it."""
        made = self.made(name)
        self.certificate.write_bytes(made.certificate.read_bytes())
        self.key.write_bytes(made.key.read_bytes())
        return _serial(made)


def _serial(made: ServingCertificate) -> str:
    number = x509.load_pem_x509_certificate(made.certificate.read_bytes()).serial_number
    return f"{number:X}".zfill(2 * ((number.bit_length() + 7) // 8))


@asynccontextmanager
async def _guarded(files: Files, *, clients: bool) -> AsyncIterator[tuple[Guarded, str]]:
    tls = serving_tls(files.made("server-1"), files.made("client-1") if clients else None)
    if clients:
        tls.load_verify_locations(files.made("client-2").certificate)
    guarded = Guarded(tls)
    async with serving(guarded.say, tls) as server:
        guarded.fake.server = server
        yield guarded, server.url


def _flags(files: Files, url: str, kind: str) -> tuple[str, ...]:
    if kind == "http-json":
        options = {"url": f"{url}/json/{{metric}}", "value": "$.value"}
        options |= {"token-file": str(files.token), "ca-file": str(files.authority)}
        return ("--metrics-source=external=http-json", *(f"{OPTION}.{key}={value}" for key, value in options.items()))
    shared = (
        "--metrics-source=external=prometheus",
        f"--prometheus-url={url}",
        f"--prometheus-rules={files.rules}",
        f"--prometheus-ca-file={files.authority}",
        f"--prometheus-client-tls-cert-file={files.certificate}",
        f"--prometheus-client-tls-key-file={files.key}",
        "--prometheus-timeout=40s",
    )
    if kind == "token":
        return (*shared, f"--prometheus-token-file={files.token}")
    return (*shared, "--prometheus-username=hpa", f"--prometheus-password-file={files.password}")


class Story:
    """One controller from the first answer to the last; what it does is awaited, not timed."""

    def __init__(self, run: Run, guarded: Guarded) -> None:
        self._run = run
        self._guarded = guarded

    async def scales_to(self, replicas: int) -> None:
        self._guarded.value = str(10 * replicas)
        await self._run.until(lambda: self._run.desired()["queue"] == replicas, f"{replicas} replicas")

    async def sends(self, authorization: str | None, serial: str | None) -> None:
        wanted = authorization, serial
        await self._run.until(
            lambda: self._guarded.seen == wanted, f"a request with {wanted}, not {self._guarded.seen}"
        )

    async def fails_with(self, part: str) -> None:
        await self._run.until(self._says(part), f"a condition with {part!r}")

    def _says(self, part: str) -> Callable[[], bool]:
        def said() -> bool:
            [view] = self._run.lab.look()
            active = view.conditions["ScalingActive"]
            return active.status == "False" and part in active.message

        return said


def _basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"hpa:{password}".encode()).decode()


@pytest.mark.parametrize("kind", ["token", "password", "http-json"])
def test_the_next_queries_use_what_the_files_hold_now(tmp_path: Path, kind: str) -> None:
    files = Files(tmp_path)
    files.trust("server-1")
    serials: list[str | None] = [files.show("client-2"), files.show("client-1")]
    clients = kind != "http-json"
    after, before = serials if clients else (None, None)
    secret = files.password if kind == "password" else files.token
    told: Callable[[str], str] = _basic if kind == "password" else "Bearer {}".format

    async def story() -> None:
        async with _guarded(files, clients=clients) as (guarded, url):
            about = scenario(tmp_path, {"queue": external("depth")}, sync_period="4s")
            async with running(about, flags=_flags(files, url, kind), speed=SPEED) as run:
                step = Story(run, guarded)
                await step.scales_to(5)
                await step.sends(told(secret.read_text()), before)

                secret.write_text("another")
                await step.sends(told("another"), before)
                await step.scales_to(6)

                if clients:
                    files.show("client-2")
                    await step.sends(told("another"), after)
                    await step.scales_to(7)

                renewed = files.made("server-2")
                guarded.tls.load_cert_chain(renewed.certificate, renewed.key)
                await step.fails_with("certificate is not trusted")
                files.trust("server-2")
                await step.scales_to(8)

                secret.unlink()
                await step.fails_with(f"the file {secret} ")
                secret.write_text("restored")
                await step.sends(told("restored"), after)
                await step.scales_to(4)

    in_fast_time(story, SPEED)
