"""Builds the programs of the real control plane that the cache does not have yet, and fetches those that come built.

Needs Go, for Prometheus apt, and nothing but Python's standard library; run it at the root of the project::

    python3.11 -m tests.e2e.build              # build what is missing, except KEDA, which only `make e2e-long` uses
    python3.11 -m tests.e2e.build kubectl      # only this one
    python3.11 -m tests.e2e.build --list       # say what the cache has, build nothing
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.debian_packages import fetch
from tests.e2e.programs import (
    BUILD_TAGS,
    DEBIAN_PACKAGES,
    DebianPackage,
    ProgramError,
    Tool,
    cache_folder,
    pinned_tools,
    stamp_path,
    why_unusable,
    write_stamp,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_BUILD_TIMEOUT_S = 3600.0
_PROGRESS_PERIOD_S = 30.0
_LOCK_POLL_S = 1.0
_SHOWN_LINES = 30


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds what the command line asks for. Returns 0, 1 when a program could not be had, 2 on bad usage."""
    summary = (__doc__ or "").split("\n", 1)[0]
    parser = argparse.ArgumentParser(prog="python3.11 -m tests.e2e.build", description=summary)
    parser.add_argument("tool", nargs="*", help="build only these (default: all but KEDA)")
    parser.add_argument("--list", action="store_true", help="say what the cache has, build nothing")
    options = parser.parse_args(arguments)
    try:
        tools: dict[str, Tool | DebianPackage] = {**pinned_tools(), **DEBIAN_PACKAGES}
        if unknown := [name for name in options.tool if name not in tools]:
            parser.error(f"no such tool: {', '.join(unknown)}; there are {', '.join(tools)}")
        for tool in [tools[name] for name in options.tool or _usual(tools, everything=options.list)]:
            if options.list:
                _say(_state(tool))
            elif isinstance(tool, Tool):
                build_missing(tool)
            else:
                fetch_missing(tool)
    except ProgramError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; what was built so far is kept\n")
        return 1
    return 0


def build_missing(tool: Tool) -> Path:
    """The path of the program, built now unless the cache has it. Raises ProgramError."""
    folder = cache_folder()
    path = folder / tool.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / f".{tool.name}.lock", tool.name):
            reason = why_unusable(tool, path)
            if reason is None:
                _say(f"{tool.name} {tool.version}: {path}")
            else:
                _build(tool, path, reason)
    except OSError as error:
        raise ProgramError(f"{folder}: {error}; set LAB_BIN to a folder that can be written") from error
    return path


def fetch_missing(package: DebianPackage) -> None:
    """Leaves the package's programs in the cache, fetched now unless they are there. Raises ProgramError."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(folder / f".{package.name}.lock", package.name):
            if package.why_unusable(folder):
                fetch(package, folder)
            paths = ", ".join(str(folder / name) for name in package.programs)
            _say(f"{package.name} {package.version(folder)}: {paths}")
    except OSError as error:
        raise ProgramError(f"{folder}: {error}; set LAB_BIN to a folder that can be written") from error


def module_folder(tool: Tool) -> Path:
    """The sources of the tool's module, fetched now unless the machine has them. Raises ProgramError."""
    _require_go(tool)
    answer = subprocess.run(  # noqa: S603  # every argument is the project's own
        ["go", "mod", "download", "-json", f"{tool.module}@{tool.version}"],  # noqa: S607  # the user's Go
        cwd=tool.folder,
        env=_go_environment(),
        capture_output=True,
        text=True,
        timeout=_BUILD_TIMEOUT_S,
        check=False,
    )
    if answer.returncode != 0:
        raise ProgramError(f"{tool.name}: {tool.module} cannot be fetched: {(answer.stderr or answer.stdout).strip()}")
    return Path(json.loads(answer.stdout)["Dir"])


def _usual(tools: Mapping[str, Tool | DebianPackage], *, everything: bool) -> list[str]:
    return [name for name, tool in tools.items() if everything or not (isinstance(tool, Tool) and tool.on_demand)]


def _state(tool: Tool | DebianPackage) -> str:
    path = cache_folder() / tool.name
    if isinstance(tool, Tool):
        return f"{tool.name} {tool.version}: {path}: {why_unusable(tool, path) or 'ready'}"
    reason = tool.why_unusable(path.parent)
    return f"{tool.name} from Debian: {path}: {reason or f'ready, {tool.version(path.parent)}'}"


def _build(tool: Tool, path: Path, reason: str) -> None:
    _require_go(tool)
    _say(f"{tool.name} {tool.version}: {path} is {reason}; building, which can take minutes")
    started = time.monotonic()
    unfinished = path.with_name(f".{tool.name}.unfinished")
    try:
        _compile(tool, unfinished, path.with_name(f".{tool.name}.log"))
        stamp_path(path).unlink(missing_ok=True)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    write_stamp(tool, path)
    _say(f"{tool.name} {tool.version}: built in {time.monotonic() - started:.0f} s")


def _compile(tool: Tool, output: Path, log: Path) -> None:
    """Builds into output, with a line of progress now and then. Raises ProgramError when it fails."""
    how = ["test", "-c"] if tool.our_own else ["build", "-v"]
    command = ["go", *how, "-trimpath", "-buildvcs=false", f"-tags={BUILD_TAGS}"]
    command += [f"-ldflags={tool.link_flags()}", f"-o={output}", tool.package]
    started = time.monotonic()
    with log.open("w") as stream:
        process = subprocess.Popen(  # noqa: S603  # every argument is the project's own
            command,
            cwd=tool.folder,
            env=_go_environment(),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
        try:
            while (status := _wait(process, _PROGRESS_PERIOD_S)) is None:
                duration_s = time.monotonic() - started
                if duration_s > _BUILD_TIMEOUT_S:
                    raise ProgramError(f"{tool.name}: not built after {duration_s:.0f} s; its log is {log}")
                compiled = sum(not line.startswith("go: ") for line in log.read_text().splitlines())
                told = "" if tool.our_own else f", {compiled} packages compiled"
                _say(f"{tool.name} {tool.version}: {duration_s:.0f} s{told}")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if status != 0:
        shown = "\n  ".join(log.read_text().splitlines()[-_SHOWN_LINES:])
        raise ProgramError(f"{tool.name}: `go {how[0]}` in {tool.folder} ended with status {status}:\n  {shown}")


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> int | None:
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None


def _require_go(tool: Tool) -> None:
    wanted = ".".join(map(str, tool.go_version))
    if shutil.which("go") is None:
        raise ProgramError(
            f"{tool.name}: Go {wanted} or newer is needed to build it and `go` is not in PATH; "
            f"install Go, or set LAB_BIN to a folder that has {tool.name} {tool.version}"
        )
    answer = subprocess.run(
        ["go", "env", "GOVERSION"],  # noqa: S607  # the user's Go
        env=_go_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"go(\d+)\.(\d+)", answer.stdout)
    if found is None:
        raise ProgramError(f"{tool.name}: `go env GOVERSION` fails: {answer.stderr.strip()}")
    if (int(found[1]), int(found[2])) < tool.go_version:
        raise ProgramError(f"{tool.name}: Go {wanted} or newer is needed, this is {answer.stdout.strip()}")


def _go_environment() -> dict[str, str]:
    # readonly: exactly what go.sum lists is built, or nothing. local: the Go in PATH fetches no other Go.
    fixed = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    return {**os.environ, **fixed}


@contextmanager
def _locked(path: Path, name: str) -> Iterator[None]:
    """Holds the file as a lock, so that two runs never build one program at the same time."""
    deadline = time.monotonic() + _BUILD_TIMEOUT_S
    said = False
    with path.open("w") as stream:
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise ProgramError(f"{name}: another run still holds {path}, giving up") from None
            if not said:
                _say(f"{name}: another run is building it, waiting")
                said = True
            time.sleep(_LOCK_POLL_S)
        yield


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201  # progress is this program's output


if __name__ == "__main__":
    sys.exit(main())
