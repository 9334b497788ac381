"""The settings of the controller in a lab: the scenario's, the lab's own Prometheus, and the flags after `--`."""

import argparse
from typing import Final

import msgspec

from controller import settings
from controller.lab.scenario import Scenario
from controller.run_flags import add_flags
from controller.settings import RunSettings
from controller.sources.flags import FAMILIES, PROMETHEUS

_FLAGS: Final = {
    "sync_period": "--horizontal-pod-autoscaler-sync-period",
    "downscale_stabilization": "--horizontal-pod-autoscaler-downscale-stabilization",
    "cpu_initialization_period": "--horizontal-pod-autoscaler-cpu-initialization-period",
    "initial_readiness_delay": "--horizontal-pod-autoscaler-initial-readiness-delay",
}
_OF_THE_LAB: Final = "http://prometheus.lab.invalid"
"""Stands for the address of the lab's Prometheus until it listens."""

_ELSEWHERE: Final = ("kubeconfig", "context", "master")


def settings_for(scenario: Scenario, run_flags: tuple[str, ...]) -> RunSettings:
    """The controller's settings: the scenario's, unless a flag says otherwise; then see `pointed`.

    Raises:
        SettingsError: the flags contradict each other, or name another cluster.
    """
    from controller.cli.main import Parser  # noqa: PLC0415 - main imports the commands

    parser = Parser(prog="hpa-controller run", allow_abbrev=False)
    add_flags(parser)
    chosen = [f"{flag}={value}" for field, flag in _FLAGS.items() if (value := getattr(scenario.settings, field))]
    if scenario.settings.scale_to_zero:
        chosen.append("--feature-gates=HPAScaleToZero=true")
    fixed = [
        "--leader-elect=false",
        *(f"--{name}-bind-address=0" for name in ("metrics", "health-probe")),
        "--introspection-bind-address=127.0.0.1:0",
    ]
    given = parser.parse_args(list(run_flags))
    for name in _ELSEWHERE:
        if getattr(given, name):
            raise settings.SettingsError(f"--{name}: the controller of a lab controls the lab, and nothing else")
    sources = _of_prometheus(scenario, given)
    parsed: argparse.Namespace = parser.parse_args([*fixed, *chosen, *sources, *run_flags])
    return settings.from_arguments(parsed)


def pointed(run_settings: RunSettings, prometheus_url: str) -> RunSettings:
    """The settings with the address of the lab's Prometheus, where that is the one to ask."""
    server = run_settings.sources.prometheus
    if server is None or server.url != _OF_THE_LAB:
        return run_settings
    sources = msgspec.structs.replace(
        run_settings.sources, prometheus=msgspec.structs.replace(server, url=prometheus_url)
    )
    return msgspec.structs.replace(run_settings, sources=sources)


def asked_prometheus(run_settings: RunSettings) -> str:
    """Which families of metrics come from which Prometheus, in words; empty if none does."""
    sources = run_settings.sources
    families = [family for family in FAMILIES if PROMETHEUS in sources.chain(family)]
    if sources.prometheus is None or not families:
        return ""
    return f"{' and '.join(families)} metrics from Prometheus at {sources.prometheus.url}"


def _of_prometheus(scenario: Scenario, given: argparse.Namespace) -> list[str]:
    """The flags that make the controller ask the lab's Prometheus, as far as those that were given do not say it."""
    own = scenario.settings.prometheus
    found: list[str] = []
    families = own.families if own is not None and not given.metrics_source else ()
    found += [f"--metrics-source={family}={PROMETHEUS}" for family in families]
    by_rules = bool(families) or any(name == PROMETHEUS for _, name in given.metrics_source)
    if not by_rules and not given.allow_query_annotations:
        return []
    if not given.prometheus_url:
        found.append(f"--prometheus-url={_OF_THE_LAB}")
    if by_rules and own is not None and not given.prometheus_rules:
        found.append(f"--prometheus-rules={own.rules}")
    # A new series is known after a scrape; and time may run faster here, which requests do not.
    return [*found, f"--metrics-relist-interval={scenario.settings.scrape_interval}", "--prometheus-timeout=30s"]
