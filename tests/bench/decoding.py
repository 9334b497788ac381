"""Decoding one object from bytes, against the typed models of kubernetes-asyncio."""

import asyncio
from types import SimpleNamespace

from controller.kube.list_watch import decode_watched_autoscaler
from controller.wire.pods import decode_pod
from tests.bench import objects
from tests.bench.calibration import per_call_us
from tests.bench.measured import Figure

TIMES_FASTER_GOAL = 100.0


def figures() -> list[Figure]:
    """Pods and HPAs."""
    pod, autoscaler = objects.pod("shop", "cart", 1), objects.autoscaler("shop", "cart", 1)
    typed_pod_us, typed_autoscaler_us = asyncio.run(_typed(pod, autoscaler))
    # Pods of one template say the same labels, which are known as long as there is one of them.
    known = decode_pod(pod)
    pod_us = per_call_us(lambda: decode_pod(pod), 2_000)
    assert decode_pod(pod) == known
    autoscaler_us = per_call_us(lambda: decode_watched_autoscaler(autoscaler), 2_000)
    return [
        Figure(
            f"decode a pod of {len(pod)} bytes",
            pod_us,
            "µs",
            f"times faster than the typed model ({typed_pod_us:.0f} µs)",
            typed_pod_us / pod_us,
            TIMES_FASTER_GOAL,
            at_most=False,
        ),
        Figure(
            f"decode an HPA of {len(autoscaler)} bytes",
            autoscaler_us,
            "µs",
            f"times faster than the typed model ({typed_autoscaler_us:.0f} µs)",
            typed_autoscaler_us / autoscaler_us,
        ),
    ]


async def _typed(pod: bytes, autoscaler: bytes) -> tuple[float, float]:
    """Microseconds for the same objects as the library decodes them."""
    from kubernetes_asyncio.client import ApiClient  # noqa: PLC0415 - large, and only measured here

    async with ApiClient() as client:
        pod_answer, autoscaler_answer = SimpleNamespace(data=pod.decode()), SimpleNamespace(data=autoscaler.decode())
        return (
            per_call_us(lambda: client.deserialize(pod_answer, "V1Pod"), 30),
            per_call_us(lambda: client.deserialize(autoscaler_answer, "V2HorizontalPodAutoscaler"), 60),
        )
