"""The chart's files agree with each other and with the program; what needs Helm itself is in tests/e2e/chart."""

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller import run_flags
from controller.decide.gates import GATES
from controller.version import __version__

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "hpa-controller"
RUNBOOKS = ROOT / "docs" / "runbooks"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
ALERTS: list[dict[str, Any]] = [
    rule for group in yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"] for rule in group["rules"]
]


DASHBOARD: dict[str, Any] = json.loads((CHART / "files" / "dashboard.json").read_text())


def keys(values: Mapping[str, Any], schema: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Every value that the schema knows by name."""
    for name, known in schema["properties"].items():
        if name in ("global", "enabled") and not prefix:
            continue  # what a chart that depends on this one may set
        yield f"{prefix}{name}"
        if "properties" in known and name in values:
            yield from keys(values[name], known, f"{prefix}{name}.")


def test_the_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__


def test_values_and_schema_name_the_same() -> None:
    def named(values: Mapping[str, Any], schema: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
        for name, value in values.items():
            yield f"{prefix}{name}"
            known = schema["properties"].get(name, {})
            if "properties" in known:
                yield from named(value, known, f"{prefix}{name}.")

    # Empty by default, so that no member is named in values.yaml.
    members = {
        path
        for path in keys(VALUES, SCHEMA)
        if path.startswith(("prometheus.rules.", "metricsSources.", "featureGates."))
    }
    assert set(named(VALUES, SCHEMA)) == set(keys(VALUES, SCHEMA)) - members


def test_gates_are_those_of_the_program() -> None:
    assert set(SCHEMA["properties"]["featureGates"]["properties"]) == {*GATES, "AllAlpha", "AllBeta"}


def test_unknown_values_are_refused_on_every_level() -> None:
    def closed(schema: Mapping[str, Any]) -> None:
        if "properties" in schema:
            assert schema["additionalProperties"] is False
            for known in schema["properties"].values():
                closed(known)

    closed(SCHEMA)


def test_the_readme_lists_every_value() -> None:
    listed = re.findall(r"^\| `([\w.]+)` \|", (CHART / "README.md").read_text(), re.MULTILINE)
    known = list(keys(VALUES, SCHEMA))
    # A group of values is described by its members.
    groups = {path for path in known if any(other.startswith(f"{path}.") for other in known)}
    # These are known by what they are like.
    alike = ("prometheus.rules", "featureGates")
    members = {path for path in known if path.startswith(tuple(f"{group}." for group in alike))}
    assert sorted(listed) == sorted((set(known) - groups - members) | set(alike))


def test_every_flag_that_the_chart_sets_exists() -> None:
    parser = argparse.ArgumentParser()
    run_flags.add_flags(parser)
    known = {option.removeprefix("--") for action in parser._actions for option in action.option_strings}
    template = (CHART / "templates" / "_flags.tpl").read_text()
    plain = re.search(r'plainFlags" -}}\n(.*?)\n{{- end', template, re.DOTALL)
    assert plain is not None
    values: dict[str, str] = yaml.safe_load(plain[1])
    assert all(value in VALUES for value in values)
    for value, flag in values.items():
        camel = re.sub(r"-([a-z])", lambda match: match[1].upper(), flag)
        assert value == camel, "a value is named as its flag is"
    flags = set(values.values()) | set(re.findall(r'"--([a-z-]+)', template))
    assert flags - known == set()


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: str(alert["alert"]))
def test_every_alert_says_what_is_wrong_and_has_a_page(alert: dict[str, Any]) -> None:
    assert set(alert["annotations"]) == {"summary", "description"}
    assert alert["labels"]["severity"] in ("critical", "warning", "none")
    page = (RUNBOOKS / f"{alert['alert']}.md").read_text()
    assert page.startswith(f"# {alert['alert']}\n")
    for part in ("## What it means", "## What to look at", "## What to do"):
        assert f"\n{part}\n" in page, part


def test_there_is_no_page_without_an_alert() -> None:
    pages = {path.stem for path in RUNBOOKS.glob("*.md")} - {"README"}
    assert pages == {alert["alert"] for alert in ALERTS}
    index = (RUNBOOKS / "README.md").read_text()
    assert [name for name in sorted(pages) if f"({name}.md)" not in index] == []


def test_the_dashboard_asks_only_for_what_it_names_itself() -> None:
    panels = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    assert all(panel["targets"] and panel["title"] for panel in panels)
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    asked = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD)))
    assert asked == variables | {"__rate_interval", "__all"}


def test_no_panel_covers_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + right, place["y"] + down) for right in range(place["w"]) for down in range(place["h"])}
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
