"""Alerts and dashboard: played by promtool, and asked of a real Prometheus that scrapes the real controller."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.e2e import autoscalers
from tests.e2e.chart.releases import CHART
from tests.e2e.metrics_values import Series
from tests.e2e.programs import find_program
from tests.e2e.prometheus.programs import Prometheus
from tests.e2e.waiting import alongside, wait_until
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from tests.e2e.chart.releases import Helm
    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.controller_process import ControllerProcess
    from tests.e2e.metrics_server import MetricsServer

CASES = Path(__file__).with_name("alert_cases.yaml")
ALERTS_FILE = CHART / "files" / "alerts.yaml"
ALERTS = [rule["alert"] for group in yaml.safe_load(ALERTS_FILE.read_text())["groups"] for rule in group["rules"]]
# Panels that may have nothing to show in a cluster where all is well.
MAY_BE_EMPTY = {"Syncs put off"}
LONG_AGO = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
RESTARTS = "hpa_controller_watch_restarts_total"


def promtool(*arguments: str | Path) -> str:
    """What promtool says. Raises AssertionError with it when it fails."""
    command = [find_program("promtool"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - our own
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_alerts_fire_when_they_should_and_only_then() -> None:
    promtool("check", "rules", ALERTS_FILE)
    promtool("test", "rules", CASES)


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not(alert: str) -> None:
    cases = yaml.safe_load(CASES.read_text())["tests"]
    expected = [
        bool(check["exp_alerts"]) for case in cases for check in case["alert_rule_test"] if check["alertname"] == alert
    ]
    assert set(expected) == {True, False}


async def test_installed_alerts_are_those_of_the_file(helm: Helm, tmp_path: Path) -> None:
    options = ("--kube-version", "1.36.3", "--set", "prometheus.prometheusRules.enabled=true")
    text = await helm.run("template", "x", CHART, "--show-only", "templates/prometheusrule.yaml", *options)
    groups = yaml.safe_load(text)["spec"]["groups"]
    rendered = {rule["alert"]: rule for rule in groups[0]["rules"]}
    assert set(rendered) == set(ALERTS) - {"HPAShadowDifference"}
    assert {name: rule["annotations"]["runbook"] for name, rule in rendered.items()} == {
        name: f"docs/runbooks/{name}.md" for name in rendered
    }
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": groups}))
    promtool("check", "rules", path)
    shadow = await helm.run(
        "template", "x", CHART, "--show-only", "templates/prometheusrule.yaml", *options, "--set", "shadow=true"
    )
    names = {rule["alert"] for rule in yaml.safe_load(shadow)["spec"]["groups"][0]["rules"]}
    assert names == set(ALERTS) - {"HPAControllerNoLeader", "HPAForeignWriter"}


def queries() -> list[tuple[str, str]]:
    """Title and expression of every panel, as Grafana would send it with all HPAs chosen."""
    dashboard = json.loads((CHART / "files" / "dashboard.json").read_text())
    found = []
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"].replace("$__rate_interval", "30s")
            found.append((panel["title"], re.sub(r"\$\w+", ".*", expression)))
    assert len(found) > 20
    return found


async def test_every_query_of_the_dashboard_has_an_answer(
    control_plane: ControlPlane,
    metrics_server: MetricsServer,
    controller: ControllerProcess,
    namespace: str,
    tmp_path: Path,
) -> None:
    admin, values = control_plane.admin, metrics_server.values
    values.set_external(namespace, "old", Series("10", timestamp=LONG_AGO))
    values.set_external(namespace, "much", Series("1k"))
    values.set_external(namespace, "swinging", Series("40"))
    for name in ("old", "much", "swinging", "missing"):
        await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest(name, 2))
        metric = autoscalers.resource("cpu", averageUtilization=50) if name == "missing" else None
        chosen = metric or autoscalers.external(name, averageValue="10")
        manifest = autoscalers.manifest(name, autoscalers.reference(DEPLOYMENT, name), [chosen])
        await admin.create(autoscalers.path(namespace), manifest)
    address = next(line["address"] for line in controller.logs("listening") if "/metrics" in line["paths"])
    configuration = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(ALERTS_FILE)],
        "scrape_configs": [
            {"job_name": "hpa-controller", "static_configs": [{"targets": [address]}], "honor_labels": True}
        ],
    }
    log = tmp_path / "prometheus.log"

    async def swing() -> None:
        for turn in range(200):
            values.set_external(namespace, "swinging", Series("80" if turn % 2 else "20"))
            await asyncio.sleep(2.0)

    async with (
        alongside(swing()),
        Prometheus.start(tmp_path, log, json.dumps(configuration)) as prometheus,
    ):
        left = {(title, expression) for title, expression in queries() if title not in MAY_BE_EMPTY}
        left = {one for one in left if RESTARTS not in one[1]}

        async def all_answered() -> bool:
            for one in list(left):
                if await prometheus.query(one[1]):
                    left.discard(one)
            return not left

        try:
            await wait_until(all_answered, "all queries to give something", timeout_s=40.0, poll_s=1.0)
        except TimeoutError:
            pytest.fail(f"these gave nothing: {sorted(left)}")
        for _, expression in queries():
            await prometheus.query(expression)
        await check_states(prometheus, namespace)


async def check_states(prometheus: Prometheus, namespace: str) -> None:
    """Alerts see what is wrong with which HPA."""
    rules = {rule["name"]: rule for rule in await prometheus.rules()}
    assert set(rules) == set(ALERTS)
    assert {name: rule["health"] for name, rule in rules.items() if rule["health"] != "ok"} == {}
    assert rules["HPAControllerDeadMansSwitch"]["state"] == "firing"
    for name in ("HPAControllerDown", "HPAControllerNoLeader", "HPAForeignWriter", "HPAControllerForbidden"):
        assert rules[name]["state"] == "inactive", name

    def hpas(alert: str) -> set[Any]:
        found = (active["labels"] for active in rules[alert]["alerts"])
        return {labels["hpa_name"] for labels in found if labels["namespace"] == namespace}

    assert rules["HPANotActive"]["state"] == "pending"
    assert hpas("HPANotActive") == {"missing"}
    assert hpas("HPAPinnedAtMax") == {"much"}
    assert hpas("HPAMetricsStale") == {"old"}
