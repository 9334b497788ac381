"""Realistic objects, as JSON, for the benchmarks: a pod of about 9 kB, an HPA of about 3 kB."""

import json
from typing import Any


def pod(namespace: str, application: str, number: int) -> bytes:
    """A pod as a cluster with a service mesh stores it; pods of one application differ in name, times and addresses."""
    name = f"{application}-6f9d8c7b5-{number:05d}"
    volumes = [{"name": f"volume-{index}", "configMap": {"name": f"{application}-{index}"}} for index in range(6)]
    mounts = [{"name": f"volume-{index}", "mountPath": f"/etc/{application}/{index}"} for index in range(6)]
    mounts.append(
        {"name": f"kube-api-access-{number:05d}", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    )
    containers = [_container("app", "500m", "512Mi", mounts), _container("proxy", "100m", "128Mi", mounts)]
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"7b0f2f3e-8c64-4b0e-9d0a-{number:012d}",
            "resourceVersion": str(1_000_000 + number),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {
                "app": application,
                "app.kubernetes.io/part-of": "shop",
                "pod-template-hash": "6f9d8c7b5",
                "security.istio.io/tlsMode": "istio",
            },
            "annotations": {f"example.com/annotation-{index}": "x" * 120 for index in range(6)},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": application, "uid": "1"}],
            "managedFields": [
                {"manager": "kubelet", "operation": "Update", "fieldsV1": {f"f:field-{i}": {} for i in range(60)}}
            ],
        },
        "spec": {
            "containers": containers,
            "initContainers": [_container("init", "10m", "16Mi", mounts[:1])],
            "volumes": volumes,
            "nodeName": f"node-{number % 300}",
            "serviceAccountName": application,
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{key}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for key in ("not-ready", "unreachable")
            ],
        },
        "status": {
            "phase": "Running",
            "startTime": "2026-01-01T00:00:01Z",
            "podIP": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}",
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "lastProbeTime": None,
                    "lastTransitionTime": f"2026-01-01T00:00:{second:02}Z",
                }
                for kind, second in (
                    ("Initialized", 3),
                    ("Ready", number % 50 + 5),
                    ("ContainersReady", 5),
                    ("PodScheduled", 1),
                )
            ],
            "containerStatuses": [
                {
                    "name": name,
                    "ready": True,
                    "restartCount": 0,
                    "image": f"registry.example.com/shop/{name}:1.2.3",
                    "imageID": f"registry.example.com/shop/{name}@sha256:{'0' * 64}",
                    "containerID": f"containerd://{'0' * 58}{number:06d}",
                    "state": {"running": {"startedAt": "2026-01-01T00:00:04Z"}},
                }
                for name in ("app", "proxy")
            ],
        },
    }
    return json.dumps(body).encode()


def autoscaler(namespace: str, name: str, number: int) -> bytes:
    """An HPA with two metrics, behavior, conditions, and what `kubectl apply` leaves behind."""
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "minReplicas": 2,
        "maxReplicas": 20,
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
            },
            {
                "type": "Pods",
                "pods": {
                    "metric": {"name": "requests_per_second"},
                    "target": {"type": "AverageValue", "averageValue": "100"},
                },
            },
        ],
        "behavior": {
            "scaleUp": {
                "stabilizationWindowSeconds": 0,
                "selectPolicy": "Max",
                "policies": [
                    {"type": "Pods", "value": 4, "periodSeconds": 15},
                    {"type": "Percent", "value": 100, "periodSeconds": 15},
                ],
            },
            "scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
        },
    }
    conditions = [
        {
            "type": kind,
            "status": "True",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "reason": "AReasonOfUsualLength",
            "message": "a message that says in one sentence what the condition means",
        }
        for kind in ("AbleToScale", "ScalingActive", "ScalingLimited")
    ]
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"9d4b1a77-0e63-4f6b-8a35-{number:012d}",
            "resourceVersion": str(2_000_000 + number),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": name, "team": f"team-{number % 50}"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(spec)},
            "managedFields": [
                {"manager": "kubectl", "operation": "Apply", "fieldsV1": {f"f:field-{i}": {} for i in range(30)}}
            ],
        },
        "spec": spec,
        "status": {
            "currentReplicas": 5,
            "desiredReplicas": 5,
            "lastScaleTime": "2026-01-01T00:00:00Z",
            "currentMetrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "current": {"averageUtilization": 65, "averageValue": "390m"}},
                },
                {
                    "type": "Pods",
                    "pods": {"metric": {"name": "requests_per_second"}, "current": {"averageValue": "93"}},
                },
            ],
            "conditions": conditions,
        },
    }
    return json.dumps(body).encode()


def _container(name: str, cpu: str, memory: str, mounts: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "name": name,
        "image": f"registry.example.com/shop/{name}:1.2.3",
        "args": [f"--flag-{index}=value" for index in range(8)],
        "env": [{"name": f"VARIABLE_{index}", "value": "some value"} for index in range(12)],
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "resources": {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}},
        "livenessProbe": {"httpGet": {"path": "/live", "port": 8080}, "periodSeconds": 10, "failureThreshold": 3},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 5, "failureThreshold": 3},
        "volumeMounts": mounts,
    }
