"""Which programs the real control plane is made of, at which versions, and where built ones are found.

Every folder under ``tools/`` is a Go module that pins one program: its ``tool`` line names the main package,
its ``require`` lines and ``go.sum`` fix that package's version and every dependency. A program of our own has its
sources in its folder instead of a ``tool`` line. A few more come out of packages of Debian, whose version is the
one that the machine's package sources offer.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import subprocess
from pathlib import Path

TOOLS = Path(__file__).parent / "tools"

# As upstream's release builds: without what only tests and gRPC's tracing pages need.
BUILD_TAGS = "selinux,notest,grpcnotrace"

# The Go variables that carry the version a program reports, by the module its main package is in. The program
# of a module that is not listed reports what its source says.
_VERSION_VARIABLES: dict[str, dict[str, str]] = {
    "k8s.io/kubernetes": {
        f"{package}.{name}": value
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
        for name, value in {
            "gitVersion": "{version}",
            "gitMajor": "{major}",
            "gitMinor": "{minor}",
            "gitTreeState": "clean",
            "gitCommit": "",  # the archive of a module does not say which commit it was made of
        }.items()
    },
    "sigs.k8s.io/metrics-server": {"k8s.io/client-go/pkg/version.gitVersion": "{version}"},
    "helm.sh/helm/v3": {"helm.sh/helm/v3/internal/version.version": "{version}"},
    "github.com/kedacore/keda/v2": {"github.com/kedacore/keda/v2/version.Version": "{number}"},
}

# Programs of our own, which are test binaries, and the module that they are about.
_OUR_OWN = {"hpa-reference": "k8s.io/kubernetes"}

# KEDA links every cloud's client library: more minutes than `make e2e`, which does not use it, should cost.
_ON_DEMAND = {"keda-metrics-apiserver", "keda-operator"}

# How a program without a stamp is asked for its version; those not listed answer to --version.
_VERSION_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "kubectl": ("version", "--client"),
    "helm": ("version", "--short"),
}
_VERSION_TIMEOUT_S = 20.0


class ProgramError(Exception):
    """A program cannot be used or built; the message says which, why and what to do."""


@dataclasses.dataclass(frozen=True, slots=True)
class Tool:
    """One program as its folder under ``tools/`` pins it."""

    folder: Path
    """The folder with go.mod and go.sum, which has the name of the program's file."""
    package: str
    """Import path of the main package; ``.`` for one of our own."""
    module: str
    """The module that holds the package, or that one of our own is about."""
    version: str
    """Version of that module, such as ``v1.36.3``."""
    go_version: tuple[int, int]
    """The oldest Go release that builds it."""

    @property
    def name(self) -> str:
        """The name of the program's file."""
        return self.folder.name

    @property
    def on_demand(self) -> bool:
        """Whether it is built only where it is asked for by name."""
        return self.name in _ON_DEMAND

    @property
    def our_own(self) -> bool:
        """Whether its sources are in its folder."""
        return self.name in _OUR_OWN

    def link_flags(self) -> str:
        """The linker's flags: no debug information, and the version where the program reports it."""
        number = self.version.removeprefix("v")
        major, minor = number.split(".")[:2]
        values = {
            variable: value.format(version=self.version, number=number, major=major, minor=minor)
            for variable, value in _VERSION_VARIABLES.get(self.module, {}).items()
        }
        return " ".join(["-s", "-w", *(f"-X={variable}={value}" for variable, value in values.items())])

    def digest(self) -> str:
        """A hash of everything that fixes the program: the pins of all modules, our sources, the flags and the tags."""
        parts = [(self.folder / name).read_bytes() for name in ("go.mod", "go.sum")]
        parts += [path.read_bytes() for path in sorted(self.folder.glob("*.go"))]
        parts += [self.link_flags().encode(), BUILD_TAGS.encode()]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()


@dataclasses.dataclass(frozen=True, slots=True)
class DebianPackage:
    """A package of Debian and what tests use of it."""

    name: str
    programs: tuple[str, ...]
    """Names of the files in its ``/usr/bin``."""

    def why_unusable(self, folder: Path) -> str | None:
        """Why folder cannot serve as the place of its programs; None when it can."""
        return next(filter(None, (_why_no_program(folder / program) for program in self.programs)), None)

    def version(self, folder: Path) -> str:
        """The version that was fetched into folder; programs that came from elsewhere have none."""
        note = self.note_path(folder)
        return note.read_text().strip() if note.is_file() else "of unknown version"

    def note_path(self, folder: Path) -> Path:
        """The file in folder that tells which version was fetched."""
        return folder / f".{self.name}.debian"


# Prometheus: building it would take longer than all the rest together, and no test hangs on its version.
# mmdebstrap: a script, with which the image is built where there is no container engine.
_PACKAGES = (DebianPackage("prometheus", ("prometheus", "promtool")), DebianPackage("mmdebstrap", ("mmdebstrap",)))
DEBIAN_PACKAGES = {package.name: package for package in _PACKAGES}


def pinned_tools() -> dict[str, Tool]:
    """All programs that have a folder under ``tools/``. Raises ProgramError when a go.mod cannot be used."""
    return {path.parent.name: _read_pins(path) for path in sorted(TOOLS.glob("*/go.mod"))}


def cache_folder() -> Path:
    """Where built programs are: $LAB_BIN if it is set, else ``hpa-controller/bin`` in the user's cache."""
    if chosen := os.environ.get("LAB_BIN"):
        return Path(chosen).expanduser().absolute()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser().absolute() / "hpa-controller" / "bin"


def find_program(name: str) -> Path:
    """The path of a program. Raises ProgramError when it is missing or not what is pinned."""
    path = cache_folder() / name
    if any(name in package.programs for package in DEBIAN_PACKAGES.values()):
        if reason := _why_no_program(path):
            raise ProgramError(f"{path}: {reason}; `make e2e-tools` fetches it")
        return path
    tool = pinned_tools().get(name)
    if tool is None:
        raise ProgramError(f"{name} is not pinned: there is no {TOOLS / name / 'go.mod'}")
    if reason := why_unusable(tool, path):
        command = f"python3.11 -m tests.e2e.build {name}" if tool.on_demand else "make e2e-tools"
        raise ProgramError(f"{path}: {reason}; `{command}` builds it")
    return path


def why_unusable(tool: Tool, path: Path) -> str | None:
    """Why the file at path is not the pinned program; None when it is.

    A stamp that belongs to the file decides. A file without one came from elsewhere and is asked its version.
    """
    if reason := _why_no_program(path):
        return reason
    stamp = stamp_path(path)
    if stamp.is_file():
        size, digest, *_ = [*stamp.read_text().split(), "", ""]
        if size == str(path.stat().st_size):
            return None if digest == tool.digest() else "built from other pins than the present ones"
    return _why_other_version(tool, path)


def write_stamp(tool: Tool, path: Path) -> None:
    """Notes beside a program what it was built from."""
    stamp_path(path).write_text(f"{path.stat().st_size} {tool.digest()} {tool.package}@{tool.version}\n")


def stamp_path(path: Path) -> Path:
    """The file that tells what the program at path was built from."""
    return path.with_name(f".{path.name}.stamp")


def _why_no_program(path: Path) -> str | None:
    if not path.is_file():
        return "missing"
    return None if os.access(path, os.X_OK) else "not executable"


def _why_other_version(tool: Tool, path: Path) -> str | None:
    command = [str(path), *_VERSION_ARGUMENTS.get(tool.name, ("--version",))]
    try:
        answer = subprocess.run(  # noqa: S603  # a program in the folder that the user chose
            command,
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unable to tell its version: {error}"
    wanted = re.escape(tool.version.removeprefix("v"))
    if re.search(rf"(?<![\d.])v?{wanted}(?![\w.+-])", answer.stdout):
        return None
    told = (answer.stdout or answer.stderr).strip().splitlines()[:1]
    return f"not {tool.version}, it says {repr(told[0]) if told else 'nothing'}"


def _read_pins(path: Path) -> Tool:
    text = path.read_text()
    name = path.parent.name
    tool_lines = re.findall(r"^tool (\S+)$", text, re.MULTILINE)
    go_line = re.search(r"^go (\d+)\.(\d+)", text, re.MULTILINE)
    if name in _OUR_OWN:
        if tool_lines or go_line is None:
            raise ProgramError(f"{path}: one line `go <version>` is needed, and no line `tool`: its sources are here")
    elif len(tool_lines) != 1 or go_line is None:
        raise ProgramError(f"{path}: one line `tool <main package>` and one line `go <version>` are needed")
    package = "." if name in _OUR_OWN else tool_lines[0]
    about = _OUR_OWN.get(name, package)
    # With `go mod tidy` the requirement stands alone or in a block, with or without `// indirect`.
    required = dict(re.findall(r"^(?:require |\t)(\S+) (v\S+)(?: // indirect)?$", text, re.MULTILINE))
    holders = [module for module in required if about == module or about.startswith(f"{module}/")]
    if not holders:
        raise ProgramError(f"{path}: no require line for the module of {about}; run `go mod tidy` there")
    module = max(holders, key=len)
    go_version = (int(go_line[1]), int(go_line[2]))
    return Tool(path.parent, package, module, required[module], go_version)
