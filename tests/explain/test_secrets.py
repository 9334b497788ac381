"""What is planted in annotations, environments and commands is not told."""

import json

import msgspec

from controller.decide.decision import conclude, decide
from controller.decide.history import History
from controller.decide.observed import Observation
from controller.decide.spec import Autoscaler
from controller.explain.answer import Answer
from controller.explain.rows import row
from controller.kube.list_watch import decode_watched_autoscaler, decode_watched_pod
from controller.ports import Sync
from controller.telemetry.explanations import told
from controller.telemetry.top import Top
from controller.traces import Traces
from tests.builders import DEFAULTS, now, scale, usage

SECRET = "s3cr3t-in-plain-sight"  # noqa: S105 - planted, so that it can be looked for
HPA = {
    "metadata": {
        "namespace": "shop",
        "name": "web",
        "uid": "u",
        "resourceVersion": "1",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": SECRET},
        "managedFields": [{"manager": "kubectl", "fieldsV1": {SECRET: {}}}],
    },
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "maxReplicas": 9,
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}},
            }
        ],
    },
}
POD = {
    "metadata": {
        "namespace": "shop",
        "name": "web-0",
        "uid": "p",
        "resourceVersion": "2",
        "labels": {"app": "web"},
        "annotations": {"token": SECRET},
    },
    "spec": {
        "containers": [
            {
                "name": "app",
                "env": [{"name": "PASSWORD", "value": SECRET}],
                "args": [f"--password={SECRET}"],
                "resources": {"requests": {"cpu": "1"}},
            }
        ]
    },
    "status": {
        "phase": "Running",
        "startTime": "2026-01-31T11:00:00Z",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-31T11:00:00Z"}],
    },
}


def test_neither_explanations_nor_rows_nor_traces_tell_a_secret() -> None:
    watched, _ = decode_watched_autoscaler(json.dumps(HPA).encode())
    watched_pod, _ = decode_watched_pod(json.dumps(POD).encode())
    assert SECRET in watched.metadata.decode(), "it is there to be told"
    autoscaler = Autoscaler("shop", "web", watched.spec, DEFAULTS)
    seen = Observation(scale(1), watched.status, (watched_pod.pod,), (usage(900),), ("shop/web",))
    decision = decide(autoscaler, seen, History(), now())
    came = conclude(autoscaler, watched.status, decision, None, now())
    sync = Sync(watched, seen, History(), now(), decision, None, came, now())
    traces, top = Traces(DEFAULTS), Top()
    traces(sync)
    top(sync)
    [packed] = traces.of("shop/web", 1)
    answer = msgspec.json.encode(Answer("shop/web", (told(packed.unpacked(), detailed=True, search=True),)))
    shown = msgspec.json.encode(row("shop", "web", top.of("shop/web"), now().wall_ns, 15.0))
    assert b"web-0" in answer
    assert b"90%" in shown
    assert SECRET.encode() not in answer + shown
    assert msgspec.json.decode(answer, type=Answer).syncs[0].explained is not None
