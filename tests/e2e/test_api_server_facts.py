"""Facts about the API server that the controller and its tools rely on."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from controller.decide.conditions import ABLE_TO_SCALE, SCALING_ACTIVE
from controller.decide.instants import NANOSECONDS
from controller.decide.quantity import Format, of_milli, parse, stored_form
from controller.decide.selectors import LabelSelector
from controller.decide.spec import MetricIdentifier, Reference
from controller.decide.status import Condition, MetricStatus, Status
from controller.kube.errors import error_of
from controller.ports import Terminating
from controller.wire.autoscalers import decode_autoscaler
from controller.wire.echoes import Echoes
from controller.wire.status import status_to
from tests.e2e import autoscalers
from tests.e2e.api_client import ApiError
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.api_client import ApiClient
    from tests.e2e.control_plane import ControlPlane

TARGET = autoscalers.reference(DEPLOYMENT, "web")
STATUS: dict[str, Any] = {"currentReplicas": 2, "desiredReplicas": 3, "currentMetrics": None, "conditions": []}
SUFFIXES = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

# As written, and as the API server stores it.
AVERAGE_VALUES = {
    "+5": "+5",
    "007": "007",
    "1.500": "1.500",
    "1.": "1.",
    "1.5": "1500m",
    "0.05": "50m",
    ".5": "500m",
    "+0.5": "500m",
    "1e3": "1e3",
    "1E3": "1E3",
    "1e4": "10e3",
    "12e2": "1200",
    "1.5e3": "1500",
    "99E": "99E",
    # Beyond exa it knows no suffix, and leaves it out.
    "1000E": "1",
    "9223372036854775808": "9223372036854775808",
    "1000": "1k",
    "1000m": "1",
    "0.0000000001": "1n",
    # Kept only as far as it is exact.
    "1.23456789": "1234567890n",
    "1.23456789012": "1234567891n",
    "1024": "1024",
    "1024Ki": "1Mi",
    "1023Ki": "1023Ki",
    "+1Ki": "+1Ki",
    "1.0Ki": "1Ki",
    "1.5Gi": "1536Mi",
    "0.1Ki": "102400m",
    "16Ei": "9223372036854775807",
}
TOLERANCES = {"0": "0", "00": "0", "-0": "0", "0.0": "0", "0e3": "0", "0Ki": "0", "0.10": "100m", "1e-1": "100e-3"}


def generated(dice: random.Random) -> str:
    """A positive quantity of any shape."""
    while True:
        whole = "".join(dice.choices("00001234567890", k=dice.choice((0, 1, 2, 3, 4, 16, 21))))
        fraction = dice.choice(("", "", ".", "." + "".join(dice.choices("0000123456789", k=dice.randint(1, 13)))))
        exponent = f"{dice.choice('eE')}{dice.choice(('', '+', '-'))}{dice.randint(0, 25)}"
        text = dice.choice(("", "", "+")) + whole + fraction + (dice.choice((*SUFFIXES, exponent)))
        if (whole or fraction.strip(".")) and parse(text).sign() > 0:
            return text


async def stored(admin: ApiClient, namespace: str, texts: Sequence[str | float]) -> list[str]:
    """What the API server makes of averageValues."""
    metrics = [autoscalers.external("metric", averageValue=text) for text in texts]
    created = await admin.create(autoscalers.path(namespace), autoscalers.manifest("web", TARGET, metrics))
    await admin.delete(autoscalers.path(namespace, "web"))
    return [metric["external"]["target"]["averageValue"] for metric in created["spec"]["metrics"]]


async def test_quantities_are_stored_as_we_say(control_plane: ControlPlane, namespace: str) -> None:
    admin = control_plane.admin
    found = dict(zip(AVERAGE_VALUES, await stored(admin, namespace, list(AVERAGE_VALUES)), strict=True))
    assert found == AVERAGE_VALUES
    assert {text: stored_form(text) for text in AVERAGE_VALUES} == AVERAGE_VALUES
    # As JSON has them: not in quotation marks.
    assert await stored(admin, namespace, [5, 1.5, 1000, 0.001]) == ["5", "1500m", "1k", "1m"]


async def test_a_namespace_that_is_being_deleted_refuses_new_events_with_a_cause_of_its_own(
    control_plane: ControlPlane, namespace: str
) -> None:
    admin = control_plane.admin
    await admin.delete(f"/api/v1/namespaces/{namespace}")
    event = {"metadata": {"name": "web.1"}, "involvedObject": {"namespace": namespace}}
    with pytest.raises(ApiError) as refusal:
        await admin.create(f"/api/v1/namespaces/{namespace}/events", event)
    assert isinstance(error_of(refusal.value.status, {}, refusal.value.body), Terminating)


async def test_tolerances_are_stored_as_we_say(control_plane: ControlPlane, namespace: str) -> None:
    for number, (text, expected) in enumerate(TOLERANCES.items()):
        manifest = autoscalers.manifest(f"web-{number}", TARGET, behavior={"scaleUp": {"tolerance": text}})
        created = await control_plane.admin.create(autoscalers.path(namespace), manifest)
        assert created["spec"]["behavior"]["scaleUp"]["tolerance"] == expected == stored_form(text)


async def test_generated_quantities_are_stored_as_we_say(control_plane: ControlPlane, namespace: str) -> None:
    dice = random.Random(36)  # noqa: S311  # the same quantities in each run
    for _ in range(6):
        texts = [generated(dice) for _ in range(60)]
        found = await stored(control_plane.admin, namespace, texts)
        assert dict(zip(texts, found, strict=True)) == {text: stored_form(text) for text in texts}


async def created_autoscaler(admin: ApiClient, namespace: str) -> dict[str, Any]:
    manifest = autoscalers.manifest(
        "web",
        TARGET,
        [autoscalers.resource("cpu", averageUtilization=70)],
        behavior={"scaleUp": {"selectPolicy": "Min"}},
    )
    manifest["metadata"]["labels"] = {"app": "web"}
    created: dict[str, Any] = await admin.create(autoscalers.path(namespace), manifest)
    return created


async def test_a_status_write_needs_no_spec_and_no_managed_fields(control_plane: ControlPlane, namespace: str) -> None:
    admin = control_plane.admin
    before = await created_autoscaler(admin, namespace)
    assert "generation" not in before["metadata"], "HPAs have none"
    metadata = {name: value for name, value in before["metadata"].items() if name != "managedFields"}
    body = {"metadata": metadata, "status": STATUS}
    after = await admin.replace(autoscalers.path(namespace, "web", "status"), body)
    assert after["spec"] == before["spec"]
    assert after["status"]["desiredReplicas"] == 3
    assert after["metadata"]["labels"] == {"app": "web"}
    theirs, ours = after["metadata"]["managedFields"]
    assert theirs == before["metadata"]["managedFields"][0]
    assert ours["subresource"] == "status"


async def test_a_status_comes_back_to_the_byte_as_it_was_sent(control_plane: ControlPlane, namespace: str) -> None:
    """So that the controller need not decode what a watch tells of its own writes."""
    identifier = MetricIdentifier("requests", LabelSelector((("app", "web"),)))
    since_ns = 1_767_225_600 * NANOSECONDS
    status = Status(
        replicas_current=2,
        replicas_desired=3,
        last_scale_ns=since_ns,
        metrics=(
            MetricStatus("Resource", "cpu", average_value=of_milli(123), average_utilization=61),
            MetricStatus("ContainerResource", "memory", "app", average_value=of_milli(132_000 << 20, Format.BINARY_SI)),
            MetricStatus("Pods", metric=identifier, average_value=of_milli(1_500)),
            MetricStatus(
                "Object", metric=identifier, described=Reference("Service", "web", "v1"), value=of_milli(2_000)
            ),
            MetricStatus("External", metric=identifier, average_value=of_milli(7)),
        ),
        conditions=(
            Condition(ABLE_TO_SCALE, "True", "ReadyForNewScale", "recommended size matches current size", since_ns),
            Condition(
                SCALING_ACTIVE, "False", "FailedGetResourceMetric", 'of "web": ü & <none>', since_ns + NANOSECONDS
            ),
        ),
    )
    admin = control_plane.admin
    before = await created_autoscaler(admin, namespace)
    for sent in (status, Status(replicas_desired=1)):
        body = {"metadata": {"name": "web", "namespace": namespace}, "status": status_to(sent)}
        after = await admin.replace(autoscalers.path(namespace, "web", "status"), body)
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        echoes = Echoes()
        echoes.expect(msgspec.json.encode(status_to(sent)), sent)
        raw = await control_plane.kubectl("get", "--raw", autoscalers.path(namespace, "web"))
        assert echoes.heard(bytes(decode_autoscaler(raw.encode()).status)) == sent


async def test_a_status_write_replaces_the_metadata(control_plane: ControlPlane, namespace: str) -> None:
    """Which is why the controller sends back all that it has read."""
    admin = control_plane.admin
    before = await created_autoscaler(admin, namespace)
    metadata = {"name": "web", "resourceVersion": before["metadata"]["resourceVersion"], "annotations": {"new": "one"}}
    after = await admin.replace(autoscalers.path(namespace, "web", "status"), {"metadata": metadata, "status": STATUS})
    assert "labels" not in after["metadata"]
    assert after["metadata"]["annotations"] == {"new": "one"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


async def test_a_status_write_that_changes_nothing_makes_no_version(
    control_plane: ControlPlane, namespace: str
) -> None:
    admin = control_plane.admin
    path = autoscalers.path(namespace, "web", "status")
    first = await admin.replace(path, {**await created_autoscaler(admin, namespace), "status": STATUS})
    again = await admin.replace(path, {"metadata": first["metadata"], "status": STATUS})
    assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"resourceVersion": "1"}, "the object has been modified"),
        ({"uid": "another"}, "UID in precondition: another"),
    ],
    ids=["version", "uid"],
)
async def test_a_scale_write_with_another_version_or_uid_conflicts(
    control_plane: ControlPlane, namespace: str, changed: dict[str, str], said: str
) -> None:
    admin = control_plane.admin
    await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("web", 1))
    path = DEPLOYMENT.path(namespace, "web", "scale")
    scale = await admin.get(path)
    body = {**scale, "metadata": {**scale["metadata"], **changed}, "spec": {"replicas": 2}}
    with pytest.raises(ApiError, match=said) as refused:
        await admin.replace(path, body)
    assert (refused.value.status, refused.value.reason) == (409, "Conflict")
    assert (await admin.get(path))["spec"]["replicas"] == 1


async def test_a_scale_write_without_a_version_overwrites(control_plane: ControlPlane, namespace: str) -> None:
    """Nobody would notice, so the controller must never send one."""
    admin = control_plane.admin
    await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("web", 1))
    path = DEPLOYMENT.path(namespace, "web", "scale")
    body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", "namespace": namespace}}
    answer = await admin.replace(path, {**body, "spec": {"replicas": 4}})
    assert answer["spec"]["replicas"] == 4


async def test_no_scale_subresource_is_told_apart_from_no_object(control_plane: ControlPlane, namespace: str) -> None:
    """By nothing but the text, which names no object."""
    admin = control_plane.admin
    with pytest.raises(ApiError, match=r'deployments\.apps "gone" not found'):
        await admin.get(DEPLOYMENT.path(namespace, "gone", "scale"))
    with pytest.raises(ApiError, match="the server could not find the requested resource") as unknown:
        await admin.get(f"/apis/apps/v1/namespaces/{namespace}/daemonsets/agent/scale")
    assert unknown.value.status == 404
