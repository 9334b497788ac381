"""HPAs by queries of the lab's Prometheus: CPU by resourceRules, and what the lab's subset refuses."""

from pathlib import Path
from typing import Final

from controller.lab.metrics_feed import RESOURCE_METRICS
from tests.lab_run.runs import in_fast_time, running
from tests.lab_run.scaled_by import BEGIN, cpu, external, scenario

SPEED: Final = 20.0
RULES: Final = """\
externalRules:
- seriesQuery: '{__name__=~"container_.*"}'
  resources: {namespaced: false}
  name: {matches: ^container_cpu_usage_seconds_total$, as: cores_p90}
  metricsQuery: quantile(0.9, rate(<<.Series>>[20s]))
resourceRules:
  cpu:
    containerQuery: sum(rate(container_cpu_usage_seconds_total{<<.LabelMatchers>>}[20s])) by (<<.GroupBy>>)
    resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
    containerLabel: container
  memory:
    containerQuery: sum(container_memory_working_set_bytes{<<.LabelMatchers>>}) by (<<.GroupBy>>)
    resources: {overrides: {namespace: {resource: namespace}, pod: {resource: pod}}}
    containerLabel: container
  window: 20s
"""


def test_a_deployment_is_scaled_by_cpu_from_prometheus_without_a_metrics_api(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)
    load = {
        "target": {"kind": "Deployment", "name": "web"},
        "equivalent": {"pods": {"points": [{"at": "0s", "value": BEGIN}]}},
    }
    about = scenario(tmp_path, {"web": cpu(), "refused": external("cores_p90")}, [load])
    flags = (
        "--metrics-source=resource=prometheus",
        "--metrics-source=external=prometheus",
        f"--prometheus-rules={rules}",
    )

    async def story() -> None:
        async with running(about, flags=flags, speed=SPEED) as run:
            run.lab.cluster.metrics.absent.add(RESOURCE_METRICS)
            for height in (6, 2):
                run.lab.hold("default", "load-0", height - 0.3)
                await run.until(lambda height=height: run.desired()["web"] == height, f"{height} replicas")  # type: ignore[misc]
            views = {view.name: view for view in run.lab.look()}
            assert views["web"].conditions["ScalingActive"].status == "True"
            refused = views["refused"].conditions["ScalingActive"]
            assert (refused.status, refused.reason) == ("False", "FailedGetExternalMetric")
            assert "the rule in line 2: Prometheus refused the query (bad_data): 1:1: parse error: " in refused.message
            assert "quantile() is not known here" in refused.message
            assert run.desired()["refused"] == BEGIN

    in_fast_time(story, SPEED)
