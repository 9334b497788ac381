"""`hpa-controller lab`: an embedded cluster that moves, with the controller against it."""

import argparse
import asyncio
import io
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TextIO

from controller import settings
from controller.cli.outcome import BAD_INPUT, DONE, complain, not_taken
from controller.flag_values import count, file_path, whole
from controller.lab.durations import parse_duration
from controller.lab.named_faults import NAMED
from controller.os_errors import why

USAGE = "[-f FILE...] [FLAGS] [-- RUN_FLAGS]"
SPEED_MAX: Final = 100.0


def add_flags(parser: argparse.ArgumentParser) -> None:
    """What is in the lab, how it runs, and what is shown."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "faults:\n" + "\n".join(f"  {name:<16} {named.text}" for name, named in NAMED.items())
    parser.add_argument(
        "-f",
        "--filename",
        action="append",
        default=[],
        type=file_path,
        metavar="FILE",
        help="your own Deployments and HPAs in YAML, with or without a load for them, or a folder of them "
        "(repeatable); see docs/lab.md",
    )
    parser.add_argument(
        "--duration", type=_duration, metavar="DURATION", help="end after so much of the lab's time (default: never)"
    )
    parser.add_argument(
        "--speed", type=_speed, default=1.0, metavar="FACTOR", help="how many times faster time passes (default 1)"
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        choices=tuple(NAMED),
        metavar="NAME",
        help="break something from time to time (repeatable)",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json"),
        default="text",
        help="a live view on a terminal, else lines; or one JSON object per sync and event (default text)",
    )
    parser.add_argument(
        "--port", type=_port, default=0, metavar="PORT", help="port of the API server (default: a free one)"
    )
    parser.add_argument(
        "--seed", type=count, default=1, metavar="NUMBER", help="of names, noise and faults (default 1)"
    )
    parser.add_argument(
        "--log-file", type=file_path, metavar="FILE", help="the controller's log (default: beside the kubeconfig)"
    )
    parser.add_argument(
        "run_flags", nargs="*", metavar="RUN_FLAGS", help="flags of `hpa-controller run` for the controller, after --"
    )


def run(parsed: argparse.Namespace) -> int:
    """Run the lab until its time is over, or a signal."""
    from controller.cli.lab_run import LabEnded, Wanted, run_lab  # noqa: PLC0415 - `--help` need not wait for it
    from controller.kube.kubeconfig_files import ConfigurationError  # noqa: PLC0415
    from controller.lab.scaled_loop import scaled_loop_factory  # noqa: PLC0415
    from controller.lab.scenario import ScenarioError  # noqa: PLC0415
    from controller.telemetry import log  # noqa: PLC0415
    from controller.telemetry.server import BindError  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="hpa-lab-") as folder:
        try:
            wanted = Wanted(
                files=tuple(parsed.filename),
                folder=Path(folder),
                duration_s=parsed.duration,
                speed=parsed.speed,
                faults=tuple(parsed.fault),
                output=parsed.output,
                port=parsed.port,
                seed=parsed.seed,
                log_file=parsed.log_file or Path(folder) / "controller.log",
                run_flags=tuple(parsed.run_flags),
            )
            with _opened(wanted.log_file) as stream:
                log.configure("info", "json", stream)
                with asyncio.Runner(loop_factory=scaled_loop_factory(parsed.speed)) as runner:
                    runner.run(_until_signalled(lambda stop: run_lab(wanted, stop, sys.stdout)))
        except (ScenarioError, settings.SettingsError, ConfigurationError, BindError) as error:
            return complain(str(error), BAD_INPUT)
        except OSError as error:
            if isinstance(error, BrokenPipeError) or not_taken(error):
                raise  # standard output's, which all commands have
            where = error.filename or f"127.0.0.1:{parsed.port}"
            return complain(f"{where}: {why(error)}", BAD_INPUT)
        except LabEnded as error:
            return complain(str(error), 1)
    return DONE


async def _until_signalled(work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as it is under nohup
        loop.add_signal_handler(signal.SIGHUP, stop.set)
    await work(stop)


def _opened(path: Path) -> TextIO:
    return io.TextIOWrapper(io.BufferedWriter(_Named(path, "a")), encoding="utf-8", line_buffering=True)


class _Named(io.FileIO):
    """A file whose name its errors have: without one they would be taken for standard output's."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = str(self.name)
            raise


def _duration(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is too short")
    return seconds


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from error
    if not 0 < speed <= SPEED_MAX:
        raise argparse.ArgumentTypeError(f"{text} is not above 0 and at most {SPEED_MAX:g}")
    return speed


def _port(text: str) -> int:
    port = whole(text, 0, 2**16 - 1)
    if port is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return port
