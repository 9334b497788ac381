"""The steps of the Dockerfile without a container engine: in root file systems that mmdebstrap makes.

Needs root, or user namespaces with subordinate ids (package uidmap, lines in /etc/subuid and /etc/subgid).
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.programs import find_program

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[3]
_SUITES = {"debian:trixie-slim": "trixie"}
_BUILD_TIMEOUT_S = 900.0
_TRUST = Path("/etc/ssl/certs/ca-certificates.crt")
_PASSED = re.compile(r"PIP_(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|DEFAULT_TIMEOUT)|\w+_(proxy|PROXY)")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ImageError(Exception):
    """The Dockerfile cannot be followed, or a step of it failed; the message has the end of its output."""


@dataclasses.dataclass
class Stage:
    """One FROM of the Dockerfile with its instructions."""

    name: str
    base: str
    steps: list[tuple[str, str]]

    def last(self, instruction: str) -> str:
        """The arguments of the last instruction of a kind. Raises ImageError when there is none."""
        found = [arguments for kind, arguments in self.steps if kind == instruction]
        if not found:
            raise ImageError(f"stage {self.name or 'without name'} has no {instruction}")
        return found[-1]

    @property
    def environment(self) -> dict[str, str]:
        """What ENV sets."""
        words = [word for kind, text in self.steps if kind == "ENV" for word in shlex.split(text)]
        return dict(word.split("=", 1) for word in words)

    @property
    def command(self) -> list[str]:
        """What a container runs when nothing else is said."""
        return [*json.loads(self.last("ENTRYPOINT")), *json.loads(self.last("CMD"))]


def stages(text: str) -> list[Stage]:
    """The stages of a Dockerfile. Raises ImageError for what is not known here."""
    arguments: dict[str, str] = {}
    found: list[Stage] = []
    joined = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    for line in filter(None, map(str.strip, joined.splitlines())):
        kind, _, rest = line.partition(" ")
        if kind == "ARG" and not found:
            name, _, value = rest.partition("=")
            arguments[name] = value
        elif kind == "FROM":
            base, _, name = rest.partition(" AS ")
            found.append(Stage(name.strip(), re.sub(r"\$\{(\w+)\}", lambda of: arguments[of[1]], base.strip()), []))
        elif kind in ("RUN", "COPY", "WORKDIR", "ENV", "USER", "EXPOSE", "ENTRYPOINT", "CMD"):
            found[-1].steps.append((kind, rest.strip()))
        else:
            raise ImageError(f"{kind} is not known here: {line}")
    return found


def build(dockerfile: str, folder: Path) -> Stage:
    """Runs all stages; the last one's file system is then in ``folder/image.tar``. Raises ImageError."""
    all_stages = stages(dockerfile)
    for stage in all_stages:
        needed = {path for other in all_stages for path in _copied_from(other, stage.name)}
        script = folder / f"stage-{stage.name or 'last'}.sh"
        script.write_text(_script(stage, folder, sorted(needed)))
        script.chmod(0o700)
        last = stage is all_stages[-1]
        _bootstrap(stage, script, folder / "image.tar" if last else None)
    return all_stages[-1]


def inside(*command: str, root: Path, prepare: str = "") -> list[str]:
    """A command line that runs a command in a read-only root file system as the image's user.

    prepare is a shell script that runs first, as root, with the file system's path as ``$1``.
    """
    mounts = (
        'mount --bind "$1" "$1"',
        prepare,
        'mount -o remount,bind,ro "$1"',
        'mount --rbind /proc "$1/proc"',
        'mount --rbind /dev "$1/dev"',
    )
    enter = 'user="$2"; root="$1"; shift 2; exec chroot --userspec="$user" "$root" "$@"'
    return [*_unshare(), "sh", "-euc", "\n".join(filter(None, (*mounts, enter))), "sh", str(root), *command]


def unpack(folder: Path) -> Path:
    """The image's file system, unpacked from ``folder/image.tar``."""
    root = folder / "root"
    root.mkdir()
    command = [*_unshare(), "tar", "--extract", "--numeric-owner", "--exclude=./dev/*"]
    _run([*command, "--directory", str(root), "--file", str(folder / "image.tar")], "unpacking the image")
    return root


def _unshare() -> list[str]:
    ids = [] if os.geteuid() == 0 else ["--user", "--map-root-user", "--map-auto"]
    program = shutil.which("unshare")
    if program is None:
        raise ImageError("`unshare` is not in PATH; it belongs to the package util-linux")
    return [program, "--mount", *ids]


def _copied_from(stage: Stage, name: str) -> list[str]:
    prefix = f"--from={name} "
    return [text.removeprefix(prefix).split()[0] for kind, text in stage.steps if kind == "COPY" and prefix in text]


def _script(stage: Stage, folder: Path, needed: Sequence[str]) -> str:
    """A hook of mmdebstrap, which gives it the root as ``$1``: does the steps, then keeps what other stages copy."""
    # Registries are reached as this machine is set up to; nothing of that stays in the image.
    passed = [f"{name}={value}" for name, value in os.environ.items() if _PASSED.fullmatch(name)]
    lines = ["#!/bin/sh", "set -eu", 'root="$1"']
    if _TRUST.exists():
        passed.append("PIP_CERT=/run/trust.crt")
        lines.append(f'cp {_TRUST} "$root/run/trust.crt"')
    workdir = "/"
    for kind, text in stage.steps:
        if kind == "WORKDIR":
            workdir = text
            lines.append(f'mkdir -p "$root{workdir}"')
        elif kind == "RUN":
            step = f"cd {workdir} && {text}"
            environment = shlex.join([f"PATH={_PATH}", *passed])
            lines.append(f'chroot "$root" /usr/bin/env -i {environment} sh -euc {shlex.quote(step)}')
        elif kind == "COPY":
            lines.append(_copy(text, workdir, folder))
    lines += [
        f'tar --directory "$root" --create --file {folder}/{_archive(path)} {path.lstrip("/")}' for path in needed
    ]
    lines.append('rm -f "$root/run/trust.crt"')
    return "\n".join((*lines, ""))


def _copy(text: str, workdir: str, folder: Path) -> str:
    *sources, target = text.split()
    if sources[0].startswith("--from="):
        return f'tar --directory "$root" --extract --file {folder}/{_archive(sources[1])}'
    place = target if target.startswith("/") else f"{workdir}/{target.removeprefix('./')}"
    paths = [ROOT / source for source in sources]
    if len(paths) == 1 and paths[0].is_dir():
        return f'mkdir -p "$root{place}" && cp -r {paths[0]}/. "$root{place}"'
    return f'mkdir -p "$root{place}" && cp {shlex.join(map(str, paths))} "$root{place}"'


def _archive(path: str) -> str:
    return f"{path.strip('/').replace('/', '-')}.tar"


def _bootstrap(stage: Stage, script: Path, output: Path | None) -> None:
    suite = _SUITES.get(stage.base)
    if suite is None:
        raise ImageError(f"the base {stage.base} is not known here, only {', '.join(_SUITES)}")
    command = [str(find_program("mmdebstrap")), "--quiet", "--mode=unshare", "--variant=minbase"]
    command += ["--format=null" if output is None else "--format=tar", f"--customize-hook={script}"]
    _run([*command, suite, "-" if output is None else str(output)], f"stage {stage.name or 'last'} of the Dockerfile")


def _run(command: Sequence[str], what: str) -> None:
    done = subprocess.run(  # noqa: S603 - our own
        command, capture_output=True, text=True, check=False, timeout=_BUILD_TIMEOUT_S, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        end = "\n  ".join((done.stdout + done.stderr).splitlines()[-25:])
        raise ImageError(
            f"{what} failed with status {done.returncode} (root, or subordinate ids for `mmdebstrap --mode=unshare`, "
            f"are needed):\n  {end}"
        )
