"""Kubeconfig files merged as kubectl does: the first file that names a thing wins."""

import os
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from controller.os_errors import why

_LISTS: Final = {"clusters": "cluster", "contexts": "context", "users": "user"}
_FILE_KEYS: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


class ConfigurationError(Exception):
    """The kubeconfig or the pod's service account cannot be used; the message says which file and what to do."""


class Merged(msgspec.Struct, frozen=True):
    """What all files together say; file names in it are absolute.

    `current` is the current context, empty if none is set; `entries` are the bodies of clusters, contexts and users by
    name.
    """

    paths: str
    current: str
    entries: dict[str, dict[str, dict[str, Any]]]

    def entry(self, kind: str, name: str) -> dict[str, Any]:
        """The body of a cluster, context or user (`kind` in the plural).

        Raises:
            ConfigurationError: there is none of that name.
        """
        found = self.entries[kind].get(name)
        if found is None:
            raise ConfigurationError(
                f"{self.paths}: {_LISTS[kind]} {name!r} does not exist; there are {self.names(kind)}"
            )
        return found

    def names(self, kind: str) -> str:
        """The names of all clusters, contexts or users, for a message."""
        return ", ".join(map(repr, self.entries[kind])) or "none"


def may_be_there(path: Path) -> bool:
    """Whether there is a file, or a link; where that cannot be told, whoever reads it says why."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return True


def merged(paths: str) -> Merged:
    """The content of kubeconfig files, whose names are separated as in PATH; those that do not exist are passed over.

    Raises:
        ConfigurationError: none exists, or one is no kubeconfig.
    """
    named = [_expanded(path) for path in paths.split(os.pathsep) if path]
    found = [path for path in named if may_be_there(path)]
    if not found:
        raise ConfigurationError(f"{paths}: no such file")
    current = ""
    entries: dict[str, dict[str, dict[str, Any]]] = {kind: {} for kind in _LISTS}
    configs = [(path, _read(path)) for path in found]
    if not any(config for _, config in configs):
        raise ConfigurationError(f"{paths}: not a kubeconfig: it is empty")
    for path, config in configs:
        current = current or str(config.get("current-context") or "")
        for kind in _LISTS:
            for name, body in _bodies(path, config, kind):
                entries[kind].setdefault(name, _absolute(body, path.parent))
    return Merged(paths, current, entries)


def _expanded(path: str) -> Path:
    """The path with a ~ at its start replaced."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(f"{path}: there is no home folder for this ~; give the whole path") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        config = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - it is a safe loader
    except OSError as error:
        raise ConfigurationError(f"{path}: {why(error)}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 0
        raise ConfigurationError(f"{path}: not YAML: line {line}: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if config is None:
        return {}
    if not isinstance(config, dict):
        raise ConfigurationError(f"{path}: not a kubeconfig: it holds a {type(config).__name__}, not a mapping")
    return config


def _bodies(path: Path, config: dict[str, Any], kind: str) -> list[tuple[str, dict[str, Any]]]:
    """Names and bodies of a file's clusters, contexts or users."""
    listed = config.get(kind) or []
    if not isinstance(listed, list):
        raise ConfigurationError(f"{path}: {kind} is not a list")
    bodies = []
    for entry in listed:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise ConfigurationError(f"{path}: an entry of {kind} has no name")
        body = entry.get(_LISTS[kind]) or {}
        if not isinstance(body, dict):
            raise ConfigurationError(f"{path}: {kind} {entry['name']!r}: {_LISTS[kind]} is not a mapping")
        bodies.append((entry["name"], body))
    return bodies


def _absolute(body: dict[str, Any], folder: Path) -> dict[str, Any]:
    """File names in a kubeconfig are relative to its folder; so is a plug-in, unless it is to be found in PATH."""
    resolved = {
        key: str(folder.absolute() / str(value)) if key in _FILE_KEYS and value else value
        for key, value in body.items()
    }
    plugin = body.get("exec")
    if isinstance(plugin, dict) and os.sep in str(plugin.get("command") or ""):
        resolved["exec"] = {**plugin, "command": str(folder.absolute() / str(plugin["command"]))}
    return resolved
