"""Sources that other packages bring, found by entry point and made with the options of the command line."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Protocol

from controller.kube.kubeconfig_files import ConfigurationError
from controller.sources.answering import MetricsSource
from controller.sources.contained import ContainedSource

GROUP: Final = "hpa_controller.metrics_sources"


class PluginError(ConfigurationError):
    """A source that was asked for cannot be had; the message says which and why."""


class SourceFactory(Protocol):
    """What an entry point names. Called in the thread and the running event loop that the source is then asked in."""

    def __call__(self, options: Mapping[str, str]) -> MetricsSource:
        """The source for the options `--metrics-source-option NAME.key=value`. Raises ValueError for bad ones."""
        ...


def plugin_names() -> list[str]:
    """The names of all installed sources, sorted."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def load_plugin(name: str, options: Mapping[str, str]) -> ContainedSource:
    """The source of this name, not yet made: that happens when it is first asked.

    Raises:
        PluginError: there is none, or two, or it cannot be imported.
    """
    found: list[EntryPoint] = list(entry_points(group=GROUP, name=name))
    if len(found) != 1:
        have = ", ".join(plugin_names()) or "none"
        problem = f"there is no source {name!r}" if not found else f"{len(found)} packages bring a source {name!r}"
        raise PluginError(f"--metrics-source: {problem}; built in are api, prometheus and http-json, installed: {have}")
    try:
        factory: SourceFactory = found[0].load()
    except Exception as error:
        raise PluginError(
            f"--metrics-source: the source {name!r} ({found[0].value}) cannot be imported: {error!r}"
        ) from error
    if not callable(factory):
        raise PluginError(f"--metrics-source: the source {name!r} ({found[0].value}) is nothing that can be called")
    return ContainedSource(name, lambda: factory(options))
