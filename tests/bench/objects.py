"""Realistic objects, as JSON, for the benchmarks: a pod of about 9 kB, an HPA of about 3 kB."""

import json
from typing import Any


def pod(namespace: str, application: str, number: int) -> bytes:
    """A pod as a cluster with a service mesh stores it; pods of one application differ in name, times and addresses."""
    name = f"{application}-6f9d8c7b5-{number:05d}"
    token = f"kube-api-access-{number:05d}"
    volumes: list[dict[str, Any]] = [
        {"name": "config", "configMap": {"name": application, "defaultMode": 420}},
        {"name": "secrets", "secret": {"secretName": application, "defaultMode": 420}},
        {"name": "scratch", "emptyDir": {}},
        {
            "name": token,
            "projected": {
                "defaultMode": 420,
                "sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    {
                        "downwardAPI": {
                            "items": [
                                {
                                    "path": "namespace",
                                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                                }
                            ]
                        }
                    },
                ],
            },
        },
    ]
    mounts: list[dict[str, Any]] = [
        {"name": "config", "mountPath": f"/etc/{application}", "readOnly": True},
        {"name": "secrets", "mountPath": "/etc/secrets", "readOnly": True},
        {"name": "scratch", "mountPath": "/var/scratch"},
        {"name": token, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True},
    ]
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
            "annotations": {"prometheus.io/scrape": "true", "sidecar.istio.io/status": "x" * 200},
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
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {"fsGroup": 1337, "seccompProfile": {"type": "RuntimeDefault"}},
            "affinity": {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 100,
                            "podAffinityTerm": {
                                "labelSelector": {"matchLabels": {"app": application}},
                                "topologyKey": "kubernetes.io/hostname",
                            },
                        }
                    ]
                }
            },
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"app": application}},
                }
            ],
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


def _container(name: str, cpu: str, memory: str, mounts: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": name,
        "image": f"registry.example.com/shop/{name}:1.2.3",
        "args": [f"--flag-{index}=value" for index in range(8)],
        "env": [
            *({"name": f"VARIABLE_{index}", "value": "some value"} for index in range(6)),
            *(
                {"name": key.upper(), "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.{key}"}}}
                for key in ("name", "namespace", "uid")
            ),
            {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": name, "key": "password", "optional": False}}},
        ],
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "resources": {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}},
        "livenessProbe": {"httpGet": {"path": "/live", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 5},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsUser": 1337},
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": mounts,
    }
