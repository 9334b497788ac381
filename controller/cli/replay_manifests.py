"""The HPAs that `replay --hpa` puts in the place of recorded ones."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from controller.cli.replay_views import listed
from controller.decide.gates import parse_gates
from controller.decide.spec import Gates
from controller.manifest import lint
from controller.manifest.load import STDIN, load
from controller.recording.course import Course
from controller.recording.lines import RecordingError
from controller.recording.variants import Variant, varied

_HPA: Final = "hpa="
_ALL_GATES: Final = parse_gates("AllAlpha=true,AllBeta=true")


class ManifestError(ValueError):
    """A manifest cannot be used; the message begins with its file."""


class Manifest:
    """A file, or a folder of files, with one HPA for any recorded one, or several of which the namesake is meant."""

    def __init__(self, file: str, gates_hint: str = "here the recorded gates count, or those of --set") -> None:
        """Read it; `gates_hint`: where gates come from, said where they do not allow what is in it.

        Raises:
            UnreadableError: it cannot be read.
            ManifestError: there is no HPA in it, or only one that no API server would take.
        """
        self._file = file
        self._gates_hint = gates_hint
        self._loaded = load([file], sys.stdin.buffer)
        # Which gates were on, recordings say: here it is only asked whether it is an HPA at all.
        self._results = lint.lint(self._loaded, _ALL_GATES)
        self._by_gates = {_ALL_GATES: self._results}
        if not self._results:
            raise ManifestError(f"{file}: it holds no HorizontalPodAutoscaler, one is needed")
        if len(self._results) == 1:
            _usable(self._results[0])

    @property
    def names(self) -> tuple[str, ...]:
        """Of the HPAs that have one, `namespace/name` or, where the manifest leaves the namespace open, `name`."""
        return tuple(result.name for result in self._results if result.name)

    def spec(self, hpa: str, gates: Gates) -> dict[str, Any]:
        """What stands for an HPA, `namespace/name`, as an API server with these gates would store it.

        The others of several are not looked at.

        Raises:
            ManifestError: there are several, but none for that one, or the one that is has errors.
        """
        meant = self._meant(hpa)
        _usable(meant)
        if gates not in self._by_gates:
            self._by_gates[gates] = lint.lint(self._loaded, gates)
        return _usable(self._by_gates[gates][self._results.index(meant)], f"; {self._gates_hint}")

    def _meant(self, hpa: str) -> lint.LintResult:
        if len(self._results) == 1:
            return self._results[0]
        # Manifests may leave their namespace to whoever applies them.
        for name in (hpa, hpa.partition("/")[2]):
            found = [result for result in self._results if name and result.name == name]
            if len(found) == 1:
                return found[0]
            if found:
                lines = " and ".join(f"{result.file}:{result.line}" for result in found[:2])
                raise ManifestError(f"{self._file}: it holds {name} {len(found)} times, at {lines}; keep one")
        for result in self._results:
            if not result.name:
                _usable(result)  # what cannot be read may be the one
        names = listed(set(self.names), hpa)
        raise ManifestError(f"{self._file}: none of its HorizontalPodAutoscalers is {hpa}; it holds {names}")


class Asked(msgspec.Struct, frozen=True):
    """A variant as it was asked for; with a manifest, its spec depends on what was recorded."""

    variant: Variant
    manifest: Manifest | None = None

    def of(self, course: Course, name: str, instead: str) -> Variant:
        """What it is for a recording, or for the HPA of that name in it; `instead` says how to choose one.

        Raises:
            RecordingError: a manifest is for one HPA, and there may be several.
            ManifestError: the manifest does not have it, or not without errors.
        """
        if self.manifest is None:
            return self.variant
        hpa = name or course.hpa
        if not hpa:
            raise RecordingError(f"{course.name}: {self.variant.label} is for one HPA, here may be several; {instead}")
        gates = varied(course.settings, self.variant.assignments).gates
        return replace(self.variant, spec=self.manifest.spec(hpa, gates))


def parted(parts: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """The assignments among the parts of a variant, and the names of files in its `hpa=FILE`."""
    files = [part.removeprefix(_HPA) for part in parts if part.startswith(_HPA)]
    return tuple(part for part in parts if not part.startswith(_HPA)), files


def check_stdin(parts: Iterable[str]) -> None:
    """Raises ManifestError where more than one of the parts of all variants names standard input."""
    if [*parts].count(f"{_HPA}{STDIN}") > 1:
        raise ManifestError("standard input can be read once only; one of the manifests has to be a file")


def _usable(result: lint.LintResult, hint: str = "") -> dict[str, Any]:
    if result.errors or result.defaulted is None:
        error = result.errors[0]
        field = f"{error.field}: " if error.field else ""
        raise ManifestError(f"{error.file}:{error.line}: {field}{error.message}{hint}")
    spec: dict[str, Any] = result.defaulted["spec"]
    return spec
