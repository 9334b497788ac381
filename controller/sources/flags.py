"""The flags that say where metrics come from, and what they stand for."""

import argparse
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from controller.decide.instants import NANOSECONDS
from controller.flag_values import add_flag, add_switch, duration, seconds
from controller.manifest.query_annotation import ANNOTATION
from controller.sources.prometheus.server_settings import ServerSettings, check_settings

Family = Literal["resource", "custom", "external"]
FAMILIES: Final[tuple[Family, ...]] = ("resource", "custom", "external")
API: Final = "api"
PROMETHEUS: Final = "prometheus"
HTTP_JSON: Final = "http-json"
BUILT_IN: Final = (API, PROMETHEUS, HTTP_JSON)
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_OPTION: Final = re.compile(r"([A-Za-z0-9_-]+)\.([^=\s]+)=(.*)", re.DOTALL)
_HEADER: Final = re.compile(r"([^=\s]+)=(.*)")
_DEFAULTS: Final = {"prometheus_timeout": 10.0, "prometheus_concurrency": 20, "prometheus_sample_times": True}
"""Of the flags about Prometheus, where it is not empty."""


class SourceSettings(msgspec.Struct, frozen=True):
    """Which sources each family asks, in order, and how they are reached. `rules_file` is empty where none is given.

    `options` are those of sources that are not built in, by name. `query_annotations`: whether HPAs may name queries.
    `sample_times`: whether Prometheus is asked how old samples are. `sample_age_max_s` 0: no sample is too old.
    """

    chains: Mapping[str, tuple[str, ...]] = {}
    prometheus: ServerSettings | None = None
    rules_file: str = ""
    relist_s: float = 60.0
    series_age_max_s: float = 600.0
    options: Mapping[str, Mapping[str, str]] = {}
    query_annotations: bool = False
    sample_times: bool = True
    sample_age_max_s: float = 0.0

    def chain(self, family: Family) -> tuple[str, ...]:
        """The names of a family's sources; the API where nothing was said."""
        return self.chains.get(family, (API,))

    @property
    def from_apis(self) -> tuple[Family, ...]:
        """The families that are read from their APIs, be it among other sources."""
        return tuple(family for family in FAMILIES if API in self.chain(family))

    @property
    def uses_prometheus(self) -> bool:
        """Whether any family asks Prometheus."""
        return any(PROMETHEUS in self.chain(family) for family in FAMILIES)


def add_source_flags(parser: argparse.ArgumentParser) -> None:
    """The flags, in a group of their own; those of prometheus-adapter have its names."""
    group = parser.add_argument_group("where metrics come from (docs/prometheus.md)")
    group.add_argument(
        "--metrics-source",
        type=_choice,
        action="append",
        default=[],
        metavar="FAMILY=NAME",
        help=f"where a family of metrics ({', '.join(FAMILIES)}) comes from: {', '.join(BUILT_IN)} or an "
        "installed source (docs/writing-a-source.md); repeated for one "
        "family, the next source is asked about metrics that the one before does not know (default api for each)",
    )
    group.add_argument(
        "--metrics-source-option",
        type=_option,
        action="append",
        default=[],
        metavar="NAME.KEY=VALUE",
        help="an option of http-json or of an installed source; may be repeated",
    )
    for name, default, text in (
        (
            "--allow-query-annotations",
            False,
            f"let HPAs name PromQL for their metrics in the annotation {ANNOTATION}, confined to the HPA's namespace",
        ),
        ("--prometheus-sample-times", True, "ask Prometheus how old the samples behind each value are, too"),
    ):
        add_switch(group, name, text, default=default)
    add_flag(
        group,
        "--max-sample-age",
        duration,
        "0s",
        "samples older than this, or of unknown age, count as missing; 0: none is too old",
    )
    _add_server_flags(group)
    add_flag(group, "--metrics-relist-interval", seconds, "1m0s", "how often the series of Prometheus are listed anew")
    add_flag(
        group,
        "--metrics-max-age",
        seconds,
        "10m0s",
        "how long a series without new samples still makes a metric known",
    )


def _add_server_flags(group: argparse._ArgumentGroup) -> None:
    for name, metavar, text in (
        ("--prometheus-url", "URL", "address of Prometheus, or of what answers like it"),
        ("--prometheus-rules", "FILE", "rules in the format of prometheus-adapter's configuration"),
        ("--prometheus-token-file", "FILE", "file with the bearer token for Prometheus"),
        ("--prometheus-username", "NAME", "user for basic authentication"),
        ("--prometheus-password-file", "FILE", "file with that user's password"),
        ("--prometheus-ca-file", "FILE", "certificate authority of Prometheus; else the system's"),
        ("--prometheus-client-tls-cert-file", "FILE", "client certificate for Prometheus"),
        ("--prometheus-client-tls-key-file", "FILE", "key of that certificate"),
    ):
        add_flag(group, name, str, "", text, metavar)
    for name, metavar, text in (
        (
            "--prometheus-header",
            "NAME=VALUE",
            "a header for every request, such as X-Scope-OrgID=team-a; may be repeated",
        ),
        ("--prometheus-header-file", "NAME=FILE", "the same with the value in a file; may be repeated"),
    ):
        group.add_argument(name, type=_header, action="append", default=[], metavar=metavar, help=text)
    add_flag(
        group,
        "--prometheus-timeout",
        seconds,
        "10s",
        "how long a query may take, waiting for a place included",
    )
    add_flag(
        group,
        "--prometheus-concurrency",
        _count,
        "20",
        "how many requests to Prometheus may be under way at once",
        "NUMBER",
    )


def source_settings(given: Mapping[str, Any]) -> SourceSettings:
    """The settings for parsed flags. Raises ValueError, which names the flag."""
    chains: dict[str, tuple[str, ...]] = {}
    for family, name in given["metrics_source"]:
        if name in chains.get(family, ()):
            raise ValueError(f"--metrics-source: {family}={name} is there twice")
        chains[family] = (*chains.get(family, ()), name)
    asked = {name for names in chains.values() for name in names} - {API, PROMETHEUS}
    options: dict[str, dict[str, str]] = {}
    for name, key, value in given["metrics_source_option"]:
        if name not in asked:
            raise ValueError(f"--metrics-source-option: no --metrics-source names {name!r}, or it takes no options")
        if key in options.setdefault(name, {}):
            raise ValueError(f"--metrics-source-option: {name}.{key} is there twice")
        options[name][key] = value
    settings = SourceSettings(
        chains,
        _prometheus(given),
        given["prometheus_rules"],
        given["metrics_relist_interval"],
        given["metrics_max_age"],
        options,
        given["allow_query_annotations"],
        given["prometheus_sample_times"],
        given["max_sample_age"] / NANOSECONDS,
    )
    _check_prometheus(settings)
    if settings.prometheus is None:
        _check_not_given(given)
    if settings.series_age_max_s < settings.relist_s:
        raise ValueError("--metrics-max-age must not be shorter than --metrics-relist-interval")
    return settings


def _check_prometheus(settings: SourceSettings) -> None:
    annotated = settings.query_annotations
    if settings.uses_prometheus:
        if settings.prometheus is None:
            raise ValueError("--prometheus-url is needed where --metrics-source names prometheus")
        if not settings.rules_file:
            raise ValueError("--prometheus-rules is needed where --metrics-source names prometheus")
    elif settings.rules_file:
        raise ValueError("--prometheus-rules needs a --metrics-source such as custom=prometheus")
    elif settings.prometheus is not None and not annotated:
        raise ValueError(
            "--prometheus-url needs a --metrics-source such as custom=prometheus, or --allow-query-annotations"
        )
    if annotated and settings.prometheus is None:
        raise ValueError("--allow-query-annotations needs --prometheus-url")
    if settings.sample_age_max_s and settings.prometheus is not None and not settings.sample_times:
        raise ValueError(
            "--max-sample-age needs --prometheus-sample-times, or every sample of Prometheus counts as old"
        )


def _check_not_given(given: Mapping[str, Any]) -> None:
    """Refuse what is said about a Prometheus that is not named."""
    for name, value in given.items():
        is_given = value != _DEFAULTS[name] if name in _DEFAULTS else bool(value)
        if name.startswith("prometheus_") and is_given:
            raise ValueError(f"--{name.replace('_', '-')} needs --prometheus-url")


def _prometheus(given: Mapping[str, Any]) -> ServerSettings | None:
    if not given["prometheus_url"]:
        return None
    server = ServerSettings(
        url=given["prometheus_url"],
        token_file=given["prometheus_token_file"],
        username=given["prometheus_username"],
        password_file=given["prometheus_password_file"],
        ca_file=given["prometheus_ca_file"],
        certificate_file=given["prometheus_client_tls_cert_file"],
        key_file=given["prometheus_client_tls_key_file"],
        headers=tuple(given["prometheus_header"]),
        header_files=tuple(given["prometheus_header_file"]),
        timeout_s=given["prometheus_timeout"],
        concurrent_max=given["prometheus_concurrency"],
    )
    check_settings(server)
    return server


def _choice(text: str) -> tuple[str, str]:
    family, separator, name = text.partition("=")
    if not separator or family not in FAMILIES:
        raise argparse.ArgumentTypeError(f"{text!r} does not begin with one of {', '.join(FAMILIES)} and =")
    if not _NAME.fullmatch(name):
        raise argparse.ArgumentTypeError(f"{name!r} is no name of a source")
    return family, name


def _option(text: str) -> tuple[str, str, str]:
    matched = _OPTION.fullmatch(text)
    if matched is None:
        raise argparse.ArgumentTypeError("an option is written NAME.KEY=VALUE")
    return matched[1], matched[2], matched[3]


def _header(text: str) -> tuple[str, str]:
    matched = _HEADER.fullmatch(text)
    if matched is None or not matched[2].isprintable():
        raise argparse.ArgumentTypeError("a header is written NAME=VALUE, or NAME=FILE where a file holds its value")
    return matched[1], matched[2]


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= 10_000:  # noqa: PLR2004 - see the message
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 10000")
    return int(text)
