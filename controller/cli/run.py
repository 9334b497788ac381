"""`hpa-controller run`: the controller against a cluster."""

import argparse
import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

from controller import allocator, run_flags, settings
from controller.cli.outcome import BAD_INPUT, DONE, UNREACHED, complain

USAGE = "[FLAGS]"

add_flags = run_flags.add_flags


def run(parsed: argparse.Namespace) -> int:
    """Control until SIGTERM or SIGINT; a second one ends the program at once."""
    try:
        chosen = settings.from_arguments(parsed)
    except settings.SettingsError as error:
        return complain(str(error), BAD_INPUT)
    # The first process of a container has no default action for it: until the loop listens it would be lost.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(DONE))
    # These libraries take half a second, which `run --help` and bad flags need not wait for.
    import uvloop  # noqa: PLC0415

    from controller import app  # noqa: PLC0415
    from controller.kube.kubeconfig_files import ConfigurationError  # noqa: PLC0415
    from controller.kube.reach import Unreached  # noqa: PLC0415
    from controller.recorder import NotRecordableError  # noqa: PLC0415
    from controller.telemetry import log  # noqa: PLC0415
    from controller.telemetry.server import BindError  # noqa: PLC0415

    log.configure(chosen.log_level, chosen.log_format)
    allocator.keep_large_apart()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_until_signalled(lambda stop: app.run(chosen, stop, os.environ)))
    except (settings.SettingsError, ConfigurationError, BindError, NotRecordableError) as error:
        return complain(str(error), BAD_INPUT)
    except Unreached as error:
        return complain(str(error), UNREACHED)
    return DONE


async def _until_signalled(control: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run with an event that the first signal sets."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def signalled() -> None:
        if stop.is_set():
            os._exit(1)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled)
    await control(stop)
