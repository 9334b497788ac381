"""Pods reduced to what decisions need (§8, §9)."""

import weakref

import msgspec
import pytest

from controller.decide.instants import ZERO_TIME_NS, parse_rfc3339
from controller.decide.observed import Container, Pod, PodRequests, Readiness
from controller.wire.errors import WireError
from controller.wire.pods import decode_pod
from controller.wire.shapes import labels_from

AT = "2026-01-31T12:00:00Z"
AT_NS = parse_rfc3339(AT)
METADATA = {"name": "web-0", "namespace": "shop", "resourceVersion": "17"}


def encoded(*, metadata: dict[str, object] | None = None, **fields: object) -> bytes:
    return msgspec.json.encode({"metadata": METADATA | (metadata or {})} | fields)


def pod(requests: PodRequests | None = None, **fields: object) -> Pod:
    plain = {"name": "web-0", "labels": {}, "phase": "", "requests": requests or PodRequests(())}
    return Pod(**(plain | fields))  # type: ignore[arg-type]


def container(name: str, restart_policy: str | None = None, **requests: object) -> dict[str, object]:
    return {"name": name, "restartPolicy": restart_policy, "resources": {"requests": requests, "limits": {"cpu": "9"}}}


READY = {"type": "Ready", "status": "True", "lastTransitionTime": AT}
OTHER = {"type": "PodScheduled", "status": "False", "lastTransitionTime": AT}

PODS: dict[str, tuple[bytes, Pod]] = {
    "the least": (encoded(), pod()),
    "null parts": (encoded(spec=None, status=None, metadata={"labels": None}), pod()),
    "labels": (encoded(metadata={"labels": {"app": "web"}}), pod(labels={"app": "web"})),
    "being deleted": (encoded(metadata={"deletionTimestamp": AT}), pod(deleted=True)),
    "phase": (encoded(status={"phase": "Running"}), pod(phase="Running")),
    "start time": (encoded(status={"startTime": AT}), pod(started_ns=AT_NS)),
    "ready": (encoded(status={"conditions": [OTHER, READY]}), pod(ready=Readiness("True", AT_NS))),
    "the first Ready condition": (
        encoded(status={"conditions": [READY | {"status": "Unknown"}, READY]}),
        pod(ready=Readiness("Unknown", AT_NS)),
    ),
    "no transition time": (
        encoded(status={"conditions": [READY | {"lastTransitionTime": None}]}),
        pod(ready=Readiness("True", ZERO_TIME_NS)),
    ),
    "not ready condition": (encoded(status={"conditions": [OTHER]}), pod()),
    "requests": (
        encoded(
            spec={
                "containers": [container("app", cpu="250m", memory="1Ki"), {"name": "bare"}],
                "initContainers": [container("side", "Always", cpu=1), container("init", cpu="1n")],
                "overhead": {"cpu": "10m"},
                "resources": {"requests": {"cpu": "2"}},
            }
        ),
        pod(
            PodRequests(
                (Container("app", {"cpu": 250_000_000, "memory": 1024 * 10**9}), Container("bare", {})),
                (Container("side", {"cpu": 10**9}, restartable=True), Container("init", {"cpu": 1})),
                {"cpu": 2 * 10**9},
                {"cpu": 10_000_000},
            )
        ),
    ),
    "other restart policies": (
        encoded(spec={"initContainers": [container("init", "OnFailure")]}),
        pod(PodRequests((), (Container("init", {}),))),
    ),
}


@pytest.mark.parametrize(("body", "expected"), PODS.values(), ids=PODS)
def test_pod(body: bytes, expected: Pod) -> None:
    assert decode_pod(body) == ("shop", expected, "17")


def test_pods_of_one_template_share_their_requests() -> None:
    """§9: so that they are computed once."""
    spec = {"containers": [container("app", cpu="250m")]}
    first, second = (decode_pod(encoded(metadata={"name": name}, spec=spec))[1] for name in ("web-0", "web-1"))
    assert first.requests is second.requests


REFUSED: dict[str, tuple[bytes, str]] = {
    "no metadata": (b"{}", "Object missing required field `metadata`"),
    "no name": (b'{"metadata":{}}', "Object missing required field `name` - at `$.metadata`"),
    "phase": (encoded(status={"phase": 5}), "Expected `str`, got `int` - at `$.status.phase`"),
    "start time": (
        encoded(status={"startTime": "noon"}),
        "'noon' is not an RFC 3339 time such as 2026-01-31T12:00:00Z - at `$.status.startTime`",
    ),
    "request": (
        encoded(spec={"containers": [container("app", cpu="lots")]}),
        "'lots' is not a quantity such as 500m, 2 or 1.5Gi - at `$.spec.containers[0].resources.requests.cpu`",
    ),
    "ready since": (
        encoded(status={"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "noon"}]}),
        "'noon' is not an RFC 3339 time such as 2026-01-31T12:00:00Z - at `$.status.conditions[0].lastTransitionTime`",
    ),
    "overhead": (
        encoded(spec={"overhead": {"cpu": "lots"}}),
        "'lots' is not a quantity such as 500m, 2 or 1.5Gi - at `$.spec.overhead.cpu`",
    ),
    "no JSON": (b"{", "Input data was truncated"),
}


@pytest.mark.parametrize(("body", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(body: bytes, message: str) -> None:
    with pytest.raises(WireError) as raised:
        decode_pod(body)
    assert str(raised.value) == message


def test_labels_are_held_once_and_no_longer_than_by_somebody() -> None:
    """Names that never come again would otherwise pile up."""
    encoded = b'{"app":"only-in-this-test"}'
    labels = labels_from(encoded)
    assert labels == {"app": "only-in-this-test"}
    assert labels_from(bytes(bytearray(encoded))) is labels
    held = weakref.ref(labels)
    del labels
    assert held() is None
