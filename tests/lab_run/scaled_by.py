"""Scenarios of Deployments that are scaled by a metric each."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from controller.lab.scenario import Scenario
from controller.lab.scenario_files import load_scenario

BEGIN = 3
"""The replicas of every Deployment at the beginning."""

Object = dict[str, Any]


def scenario(
    folder: Path, metrics: Mapping[str, Object], loads: Sequence[Object] = (), sync_period: str = "10s"
) -> Scenario:
    """A Deployment and an HPA for each name, by its metric; `loads` are specs of Loads."""
    documents = [
        _lab("Lab", "", {"scrapeInterval": "5s", "syncPeriod": sync_period, "downscaleStabilization": "0s"}),
        *(_lab("Load", f"load-{number}", spec) for number, spec in enumerate(loads)),
        *(document for name, metric in metrics.items() for document in _scaled(name, metric)),
    ]
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    return load_scenario(path)


def external(metric: str) -> Object:
    """Ten for each pod."""
    return {
        "type": "External",
        "external": {"metric": {"name": metric}, "target": {"type": "AverageValue", "averageValue": "10"}},
    }


def of_deployment(metric: str, name: str) -> Object:
    """A metric of the Deployment itself; ten for each pod."""
    return {
        "type": "Object",
        "object": {
            "metric": {"name": metric},
            "describedObject": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "target": {"type": "AverageValue", "averageValue": "10"},
        },
    }


def cpu() -> Object:
    """Half of what is requested."""
    return {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    }


def _lab(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": "lab.hpa-controller.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _scaled(name: str, metric: Object) -> tuple[Object, Object]:
    container = {"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "100m"}}}
    return (
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {
                "replicas": BEGIN,
                "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
            },
        },
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": name},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "minReplicas": 1,
                "maxReplicas": 10,
                "metrics": [metric],
            },
        },
    )
