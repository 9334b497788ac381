"""Objects for the tests of the lab."""

from typing import Any

HPAS = "horizontalpodautoscalers.autoscaling"
DEPLOYMENTS = "deployments.apps"

HPA_PATH = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
POD_PATH = "/api/v1/namespaces/default/pods"
CONFIG_MAP_PATH = "/api/v1/namespaces/default/configmaps"
DEPLOYMENT_PATH = "/apis/apps/v1/namespaces/default/deployments"

TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"}


def hpa(name: str = "web", **spec: Any) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {"metadata": {"name": name}, "spec": {"maxReplicas": 5, "scaleTargetRef": target, **spec}}


def template(**labels: str) -> dict[str, Any]:
    return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}


def deployment(name: str = "web", **spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": name}}
    return {
        "metadata": {"name": name},
        "spec": {"selector": selector, "template": template(app=name), **spec},
    }


def pod(name: str, namespace: str = "default", **labels: str) -> dict[str, Any]:
    containers = [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "100m"}}}]
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"containers": containers},
    }


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "data": {"key": "value"}}


def owned(name: str, owner: dict[str, Any], **reference: Any) -> dict[str, Any]:
    """A ConfigMap that belongs to another object."""
    entry = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        **reference,
    }
    return config_map(name, ownerReferences=[entry])


def rollout_definition(**scale: str) -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", **scale}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
        "subresources": {"status": {}, "scale": paths},
    }
    names = {"plural": "rollouts", "kind": "Rollout", "shortNames": ["ro"]}
    return {
        "metadata": {"name": "rollouts.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]},
    }
