import asyncio
import datetime as dt
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from controller.decide.instants import format_rfc3339
from controller.kube.connection import Connection
from controller.kube.credentials import Credentials, CredentialsError
from controller.kube.exec_plugin import ExecPlugin
from tests.adapters.parts import START_NS, SetClock, access_to
from tests.adapters.raw_server import WAIT_S

VERSION = "client.authentication.k8s.io/v1"


def printed(**status: Any) -> str:
    return json.dumps({"kind": "ExecCredential", "apiVersion": VERSION, "status": status})


def token(text: str, expires_s: int | None = None) -> str:
    until = {} if expires_s is None else {"expirationTimestamp": format_rfc3339(START_NS + expires_s * 10**9)}
    return printed(token=text, **until)


class Program:
    """A program that prints a file, and counts its runs."""

    def __init__(self, folder: Path) -> None:
        self._says, self._runs = folder / "says", folder / "runs"
        self.source = (
            f"import pathlib, sys\nwith open({str(self._runs)!r}, 'a') as runs: runs.write('x')\n"
            f"said = pathlib.Path({str(self._says)!r}).read_text()\nprint(said)\nsys.exit(not said)\n"
        )
        self.plugin = plugin(self.source)

    def say(self, text: str) -> None:
        self._says.write_text(text)

    @property
    def runs(self) -> int:
        return len(self._runs.read_text()) if self._runs.exists() else 0


def plugin(source: str, **entry: Any) -> ExecPlugin:
    config = {"apiVersion": VERSION, "command": sys.executable, "args": ["-S", "-c", source], **entry}
    return ExecPlugin.from_config(config, {"server": "https://cluster", "certificate-authority-data": "Q0E="})


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


async def ask(source: ExecPlugin, clock: SetClock | None = None) -> Credentials:
    async with asyncio.timeout(WAIT_S):
        return await source.credentials(clock or SetClock())


async def finished(source: ExecPlugin) -> None:
    """Wait for a run that nobody waits for."""
    if source._running is not None:
        async with asyncio.timeout(WAIT_S):
            await asyncio.wait([source._running])


async def test_fifty_who_ask_at_once_cause_one_run(program: Program) -> None:
    program.say(token("a"))
    got = await asyncio.gather(*(ask(program.plugin) for _ in range(50)))
    assert set(got) == {Credentials("Bearer a")}
    assert program.runs == 1


async def test_one_who_stops_waiting_harms_no_other(program: Program) -> None:
    program.say(token("a"))
    first, second = asyncio.create_task(ask(program.plugin)), asyncio.create_task(ask(program.plugin))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == Credentials("Bearer a")
    assert program.runs == 1


async def test_credentials_are_renewed_before_they_expire_and_nobody_waits(program: Program) -> None:
    clock = SetClock()
    program.say(token("a", 600))
    await ask(program.plugin, clock)
    program.say(token("b", 1200))
    clock.now_s = 539
    await ask(program.plugin, clock)
    assert program.runs == 1
    clock.now_s = 541
    assert await ask(program.plugin, clock) == Credentials("Bearer a")
    await finished(program.plugin)
    assert await ask(program.plugin, clock) == Credentials("Bearer b")
    assert program.runs == 2


async def test_short_lived_credentials_are_renewed_in_the_last_fifth_of_their_life(program: Program) -> None:
    """Else those that live for less than a minute would be renewed all the time."""
    clock = SetClock()
    program.say(token("a", 50))
    for clock.now_s, runs in ((0.0, 1), (30.0, 1), (39.0, 1), (41.0, 2)):
        await ask(program.plugin, clock)
        await finished(program.plugin)
        assert program.runs == runs


async def test_after_closing_what_is_still_good_is_used_to_its_end(program: Program) -> None:
    """Requests that are still under way may ask for them once more."""
    clock = SetClock()
    program.say(token("a", 600))
    await ask(program.plugin, clock)
    await program.plugin.close()
    clock.now_s = 550.0
    assert await ask(program.plugin, clock) == Credentials("Bearer a")
    assert program.runs == 1
    clock.now_s = 601.0
    with pytest.raises(CredentialsError, match="is not run any more"):
        await ask(program.plugin, clock)


async def test_what_is_still_good_is_used_while_the_program_fails(program: Program) -> None:
    clock = SetClock()
    program.say(token("a", 600))
    await ask(program.plugin, clock)
    program.say("")
    for clock.now_s in (550.0, 551.0, 552.0):
        assert await ask(program.plugin, clock) == Credentials("Bearer a")
        await finished(program.plugin)
    assert program.runs == 2, "a failure is believed for a while"
    clock.now_s = 601
    with pytest.raises(CredentialsError, match="ended with status 1"):
        await ask(program.plugin, clock)


async def test_a_failure_that_many_are_told_of_keeps_nothing_of_them(program: Program) -> None:
    program.say("")
    told = list[CredentialsError]()
    for _ in range(100):
        with pytest.raises(CredentialsError) as raised:
            await ask(program.plugin)
        told.append(raised.value)
    assert len(traceback.extract_tb(told[-1].__traceback__)) < 20
    assert program.runs == 1


async def test_a_refusal_causes_another_run(program: Program) -> None:
    program.say(token("a"))
    old = await ask(program.plugin)
    program.say(token("b"))
    assert program.plugin.refused(old)
    new = await ask(program.plugin)
    assert new == Credentials("Bearer b")
    program.plugin.refused(old)
    assert await ask(program.plugin) == new, "a late refusal of old ones says nothing about new ones"
    assert program.runs == 2


async def test_certificates_may_be_printed_too(program: Program) -> None:
    program.say(printed(token=None, clientCertificateData="CERT", clientKeyData="KEY"))
    assert await ask(program.plugin) == Credentials(None, ("CERT", "KEY"))


async def test_a_program_may_print_more_than_a_pipe_holds_on_both_sides() -> None:
    said = token("a" * 70_000)
    noisy = plugin(f"import sys\nsys.stderr.write('e' * 300_000)\nprint({said!r})\nsys.stderr.write('f' * 300_000)")
    assert await ask(noisy) == Credentials("Bearer " + "a" * 70_000)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("no json", "printed no usable ExecCredential"),
        ("{}", "printed no usable ExecCredential"),
        (token("a").replace("ExecCredential", "Pod"), "its kind is 'Pod'"),
        ('{"kind": "ExecCredential", "apiVersion": "v1", "status": {"token": "a"}}', "its apiVersion is 'v1'"),
        (json.dumps({"kind": "ExecCredential", "apiVersion": VERSION}), "it has no status"),
        (printed(), "neither a token nor a client certificate"),
        (printed(clientCertificateData="CERT"), "come together or not at all"),
        (printed(token="a\nb"), "holds no token"),  # noqa: S106 - not a secret
        (printed(token="a", expirationTimestamp="soon"), "soon"),  # noqa: S106 - not a secret
        (printed(token="a" * 2**20), "larger than"),
    ],
)
async def test_whatever_a_program_prints_is_judged(program: Program, said: str, text: str) -> None:
    program.say(said)
    with pytest.raises(CredentialsError, match=text):
        await ask(program.plugin)


async def test_how_a_program_failed_is_told() -> None:
    with pytest.raises(CredentialsError, match=r"ended with status 3: log in first$"):
        await ask(plugin("import sys; sys.stderr.write('usage\\nlog in first\\n'); sys.exit(3)"))
    absent = plugin("", command="no-such-program", installHint="see the manual")
    with pytest.raises(CredentialsError, match=r"cannot be started: no such file.*\(see the manual\)"):
        await ask(absent)


class HangsWithAChild:
    """A program that hangs once it has told its child's process id; `options` are those of Popen."""

    def __init__(self, folder: Path, options: str = "") -> None:
        self._told = folder / "pid"
        self.plugin = plugin(
            "import os, pathlib, subprocess, time\n"
            f"child = subprocess.Popen(['sleep', '600'], {options})\n"
            f"pathlib.Path({str(self._told)!r} + '.new').write_text(str(child.pid))\n"
            f"os.rename({str(self._told)!r} + '.new', {str(self._told)!r})\n"
            "time.sleep(600)"
        )

    def child_without_us(self) -> int:
        """The process id, once it is there, while the loop stands still."""
        end_s = time.monotonic() + WAIT_S
        while not self._told.exists():
            assert time.monotonic() < end_s
            time.sleep(0.01)
        return int(self._told.read_text())

    async def child(self) -> int:
        """The process id, once it is there; bounded by the caller."""
        while not self._told.exists():  # noqa: ASYNC110 - a program writes it
            await asyncio.sleep(0.01)
        return int(self._told.read_text())


async def test_a_program_that_hangs_is_killed_with_what_it_started(tmp_path: Path) -> None:
    """Closing takes the same way as its time running out."""
    program = HangsWithAChild(tmp_path)
    hanging = program.plugin
    asking = asyncio.create_task(ask(hanging))
    async with asyncio.timeout(WAIT_S):
        child = await program.child()
        await Connection(access_to("http://127.0.0.1:1", tokens=hanging), SetClock()).close()
        assert hanging._running is None
        with pytest.raises(CredentialsError, match="was stopped before it gave credentials"):
            await asking
        with pytest.raises(CredentialsError, match="is not run any more"):
            await ask(hanging)
        while _runs(child):  # noqa: ASYNC110 - the kernel ends it
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("iterations", range(3, 9))
@pytest.mark.parametrize("factory", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_program_that_is_being_started_when_we_stop_does_not_stay(
    factory: Callable[[], asyncio.AbstractEventLoop], iterations: int, tmp_path: Path
) -> None:
    """Whatever our loop, which is busy with others, has done of its start by then."""

    async def story() -> None:
        program = HangsWithAChild(tmp_path)
        asking = asyncio.create_task(ask(program.plugin))
        for _ in range(iterations):
            await asyncio.sleep(0)
        child = program.child_without_us()
        try:
            async with asyncio.timeout(WAIT_S):
                await program.plugin.close()
                with pytest.raises(CredentialsError):
                    await asking
                while _runs(child):  # noqa: ASYNC110 - the kernel ends it
                    await asyncio.sleep(0.01)
        finally:
            if _runs(child):
                os.kill(child, signal.SIGKILL)

    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(story())


async def test_what_a_program_leaves_in_a_session_of_its_own_keeps_nobody_from_closing(tmp_path: Path) -> None:
    """It keeps the pipes open, and asyncio's own loop does not say that a program has ended before they are closed."""
    program = HangsWithAChild(tmp_path, "start_new_session=True")
    asking = asyncio.create_task(ask(program.plugin))
    async with asyncio.timeout(WAIT_S):
        child = await program.child()
        try:
            await program.plugin.close()
            assert _runs(child)
        finally:
            os.kill(child, signal.SIGKILL)
        with pytest.raises(CredentialsError, match="was stopped"):
            await asking


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def test_a_program_gets_its_variables_and_knows_the_cluster() -> None:
    source = (
        "import json, os\ninfo = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "said = os.environ['MINE'] + '-' + info['spec']['cluster']['server'].partition('//')[2]\n"
        "said += '-' + info['spec']['cluster']['certificate-authority-data'].strip('=') + '-' + info['kind']\n"
        "print(json.dumps({'kind': 'ExecCredential', 'apiVersion': info['apiVersion'], 'status': {'token': said}}))"
    )
    known = plugin(source, env=[{"name": "MINE", "value": "mine"}], provideClusterInfo=True)
    assert await ask(known) == Credentials("Bearer mine-cluster-Q0E-ExecCredential")


def test_a_date_in_what_is_known_of_the_cluster_is_a_text() -> None:
    extensions = [{"name": "client.authentication.k8s.io/exec", "extension": {"issued": dt.date(2024, 1, 31)}}]
    entry = {"apiVersion": VERSION, "command": "x", "provideClusterInfo": True}
    made = ExecPlugin.from_config(entry, {"server": "https://x", "extensions": extensions})
    assert '"issued": "2024-01-31"' in made._info


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"command": ""}, "it has no command"),
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "apiVersion is .*v1alpha1.*known are"),
        ({"interactiveMode": "Always"}, "nobody to ask"),
        ({"args": "x"}, "Expected `array.*args"),
        ({"env": [{"value": "x"}]}, "name"),
    ],
)
def test_entries_that_cannot_work_are_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        ExecPlugin.from_config({"apiVersion": VERSION, "command": "x", **changes}, {})
