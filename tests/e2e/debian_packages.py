"""Programs that come built, out of packages of Debian: fetched by apt, unpacked into the cache, never installed.

Prometheus is one: building it would take longer than all the rest together, and no test hangs on its version.
No root is needed; the version is the one that the machine's own package sources offer.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.programs import DebianPackage, ProgramError

if TYPE_CHECKING:
    from collections.abc import Sequence

_FETCH_TIMEOUT_S = 600.0
_SHOWN_LINES = 5


def fetch(package: DebianPackage, folder: Path) -> str:
    """Fetches the package's programs into folder. Returns the version that came. Raises ProgramError."""
    _require("apt-get", package, folder)
    _require("dpkg-deb", package, folder)
    with tempfile.TemporaryDirectory(prefix=f".{package.name}.", dir=folder) as scratch:
        version, programs = _unpacked(package, package.name, Path(scratch))
        for program in package.programs:
            found = programs / program
            if not found.is_file() and program != package.name:
                # Debian 13 has promtool in a package of its own.
                found = _unpacked(package, program, Path(scratch))[1] / program
            if not found.is_file():
                raise ProgramError(f"{package.name} {version} has no /usr/bin/{program}")
            found.replace(folder / program)
    package.note_path(folder).write_text(f"{version}\n")
    return version


def _unpacked(package: DebianPackage, name: str, scratch: Path) -> tuple[str, Path]:
    """The version of the package of that name, which is part of what ``package`` stands for, and its ``/usr/bin``."""
    place = scratch / name
    place.mkdir()
    _download(package, name, place)
    archives = sorted(place.glob("*.deb"))
    if len(archives) != 1:
        raise ProgramError(f"{name}: `apt-get download` left {len(archives)} packages instead of one")
    version = _run(package, ["dpkg-deb", "--field", str(archives[0]), "Version"], place).strip()
    _run(package, ["dpkg-deb", "--extract", str(archives[0]), "unpacked"], place)
    return version, place / "unpacked" / "usr" / "bin"


def _download(package: DebianPackage, name: str, scratch: Path) -> None:
    """By what apt knows; if that is nothing, or too old, by what it learns anew in a folder of its own."""
    download = ["apt-get", "download", "--quiet", name]
    try:
        _run(package, download, scratch)
    except ProgramError:
        for part in ("state/lists/partial", "cache/archives/partial"):
            (scratch / part).mkdir(parents=True)
        own = {
            "Dir::State": scratch / "state",
            "Dir::State::status": "/var/lib/dpkg/status",
            "Dir::Cache": scratch / "cache",
            "APT::Sandbox::User": "root",
        }
        options = [f"--option={option}={value}" for option, value in own.items()]
        _run(package, ["apt-get", *options, "--quiet", "update"], scratch)
        _run(package, ["apt-get", "download", *options, "--quiet", name], scratch)


def _require(command: str, package: DebianPackage, folder: Path) -> None:
    if shutil.which(command) is None:
        raise ProgramError(
            f"{package.name}: it is taken from a package of Debian and `{command}` is not in PATH; "
            f"put {' and '.join(package.programs)} into {folder} yourself"
        )


def _run(package: DebianPackage, command: Sequence[str], folder: Path) -> str:
    try:
        answer = subprocess.run(  # noqa: S603  # every argument is the project's own
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_FETCH_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise ProgramError(f"{package.name}: {error}") from None
    if answer.returncode != 0:
        told = "\n  ".join(answer.stderr.splitlines()[-_SHOWN_LINES:])
        raise ProgramError(f"{package.name}: `{' '.join(command)}` ended with status {answer.returncode}:\n  {told}")
    return answer.stdout
