"""A scale that the controller derives from an object is the one that the API server would answer."""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any, Literal

import pytest

from controller.wire.scales import decode_scale, decode_workload
from tests.e2e.api_client import ApiError
from tests.e2e.workload_kinds import (
    DEPLOYMENT,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    WorkloadKind,
)

if TYPE_CHECKING:
    from tests.e2e.api_client import ApiClient
    from tests.e2e.control_plane import ControlPlane

KINDS = (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, REPLICATION_CONTROLLER)
PER_KIND = 20
KEYS = [
    "app",
    "z",
    "Upper.Case_and-more",
    "0",
    "app.kubernetes.io/name",
    "app.kubernetes.io/part-of",
    "a" * 63,
    f"{'.'.join(['long-prefix'] * 20)}/{'n' * 63}",
]
VALUES = ["", "web", "Web", "1", "01", "v1.2.3", "x_y", "l" * 63]
REPLICAS = [None, 0, 1, 7, 2**31 - 1]


def labels(dice: random.Random) -> dict[str, str]:
    """One to six labels, in any order."""
    return {key: dice.choice(VALUES) for key in dice.sample(KEYS[:6], dice.randint(1, 6))}


def label_selector(dice: random.Random, own: dict[str, str]) -> dict[str, Any]:
    """A selector of every shape that matches the labels."""
    chosen = dice.sample(sorted(own), dice.randint(0, len(own)))
    expressions = [expression(dice, own) for _ in range(dice.randint(0 if chosen else 1, 5))]
    selector: dict[str, Any] = {"matchLabels": {key: own[key] for key in chosen}} if chosen else {}
    return selector | ({"matchExpressions": expressions} if expressions else {})


def expression(dice: random.Random, own: dict[str, str]) -> dict[str, Any]:
    """A requirement that the labels fulfil; values come in any order and more than once."""
    absent = dice.choice([key for key in KEYS if key not in own])
    present = dice.choice(sorted(own))
    others = dice.choices([value for value in VALUES if value != own[present]], k=dice.randint(1, 4))
    match dice.choice(("In", "NotIn", "Exists", "DoesNotExist")):
        case "In":
            values = [own[present], *others] if dice.random() < 0.7 else [own[present]]
            return {"key": present, "operator": "In", "values": dice.sample(values, len(values))}
        case "NotIn":
            return {"key": dice.choice((present, absent)), "operator": "NotIn", "values": others}
        case "Exists":
            return {"key": present, "operator": "Exists"}
        case _:
            return {"key": absent, "operator": "DoesNotExist"}


def generated(dice: random.Random, kind: WorkloadKind, name: str) -> dict[str, Any]:
    """An object as no person would write it, but as the API server takes it."""
    own = labels(dice)
    manifest = kind.manifest(name, 1, labels=own)
    replicas = dice.choice(REPLICAS)
    if replicas is None:
        del manifest["spec"]["replicas"]
    else:
        manifest["spec"]["replicas"] = replicas
    if kind == REPLICATION_CONTROLLER:
        chosen = dice.sample(sorted(own), dice.randint(0, len(own)))
        manifest["spec"]["selector"] = {key: own[key] for key in chosen}
        if not chosen and dice.random() < 0.5:
            del manifest["spec"]["selector"]
    else:
        manifest["spec"]["selector"] = label_selector(dice, own)
    return manifest


async def compare(admin: ApiClient, kind: WorkloadKind, namespace: str, name: str) -> str:
    """Asserts that both ways give the same, and returns the selector."""
    stored = await admin.get(kind.path(namespace, name))
    scale = await admin.get(kind.path(namespace, name, "scale"))
    shape: Literal["ReplicationController", "Deployment"] = (
        "ReplicationController" if kind == REPLICATION_CONTROLLER else "Deployment"
    )
    derived = decode_workload(json.dumps(stored).encode(), shape)
    assert (derived.namespace, derived.name) == (namespace, name)
    selector = scale["status"].get("selector", "")
    assert derived.scale.selector.encode() == selector.encode(), stored["spec"]["selector"]
    assert derived.scale == decode_scale(json.dumps(scale).encode())
    assert derived.scale.replicas == scale["spec"].get("replicas", 0)
    assert derived.scale.status_replicas == scale["status"]["replicas"]
    assert (derived.scale.uid, derived.scale.version) == (
        scale["metadata"]["uid"],
        scale["metadata"]["resourceVersion"],
    )
    return str(selector)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
async def test_derived_scales_equal_read_ones(control_plane: ControlPlane, namespace: str, kind: WorkloadKind) -> None:
    admin = control_plane.admin
    dice = random.Random(f"{kind.kind} 36")  # noqa: S311  # the same objects in each run

    async def one(index: int) -> str:
        name = f"case-{index}"
        manifest = generated(dice, kind, name)
        pods = dice.choice((0, 3, 7))
        await admin.create(kind.path(namespace), manifest)
        first = await compare(admin, kind, namespace, name)
        await admin.patch(kind.path(namespace, name, "status"), {"status": {"replicas": pods}})
        assert await compare(admin, kind, namespace, name) == first
        return first

    selectors = await asyncio.gather(*(one(index) for index in range(PER_KIND)))
    assert len(set(selectors)) > PER_KIND / 2
    if kind != REPLICATION_CONTROLLER:
        text = "\n".join(selectors)
        for operator in (" in (", " notin (", "=", "!"):
            assert operator in text


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
async def test_empty_selectors(control_plane: ControlPlane, namespace: str, kind: WorkloadKind) -> None:
    """Only of ReplicationControllers the API server takes them, and then it puts the template's labels there."""
    manifest = kind.manifest("empty", 1, labels={"b": "2", "a": "1"})
    manifest["spec"]["selector"] = {}
    create = control_plane.admin.create(kind.path(namespace), manifest)
    if kind == REPLICATION_CONTROLLER:
        await create
        assert await compare(control_plane.admin, kind, namespace, "empty") == "a=1,b=2"
        return
    with pytest.raises(ApiError, match="empty selector is invalid") as refused:
        await create
    assert refused.value.status == 422
