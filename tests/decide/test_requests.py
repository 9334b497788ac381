"""§9 and §25.4: what pods request."""

import pytest

from controller.decide.observed import Container, PodRequests
from controller.decide.requests import requests_milli
from tests.builders import container, pod, pods, requests

CPU_100, CPU_50 = container("a", {"cpu": 100}), container("b", {"cpu": 50})
BARE, BARE_SIDECAR = container("bare", {}), container("bare", {}, restartable=True)


def requested(asked: PodRequests, resource: str = "cpu", named: str = "", *, gate: bool = True) -> int | str:
    """Milli-units of one pod, or the error."""
    found = requests_milli((pod(requests=asked),), resource, named, pod_level=gate)
    return found if isinstance(found, str) else found["web-0"]


def _nano_container() -> Container:
    return Container("tiny", {"cpu": 1})


POD_LEVEL = requests(CPU_100, CPU_50, pod_level_milli={"cpu": 800})

CASES: dict[str, tuple[PodRequests, str, str, bool, int | str]] = {
    "25.4.2 pod level, gate on": (POD_LEVEL, "cpu", "", True, 800),
    "25.4.2 pod level, gate off": (POD_LEVEL, "cpu", "", False, 150),
    "25.4.2 pod level, container named": (POD_LEVEL, "cpu", "b", True, 50),
    "25.4.3 no request, pod level": (requests(BARE, pod_level_milli={"cpu": 800}), "cpu", "", True, 800),
    "25.4.3 no request, gate off": (
        requests(BARE, pod_level_milli={"cpu": 800}),
        "cpu",
        "",
        False,
        "missing request for cpu in container bare of Pod web-0",
    ),
    "25.4.3 no request": (
        requests(CPU_100, BARE),
        "cpu",
        "",
        True,
        "missing request for cpu in container bare of Pod web-0",
    ),
    "25.4.4 init and sidecar": (
        requests(CPU_100, init=(container("i", {"cpu": 20}), container("s", {"cpu": 50}, restartable=True))),
        "cpu",
        "",
        True,
        150,
    ),
    "25.4.5 unknown container": (requests(), "cpu", "ghost", True, "container ghost not found in Pod web-0"),
    # §9.3 without pod-level requests.
    "explicit 0 is a request": (requests(container("z", {"cpu": 0})), "cpu", "", True, 0),
    "ordinary init never counts": (requests(CPU_100, init=(container("i", {"cpu": 9000}),)), "cpu", "", True, 100),
    "ordinary init needs no request": (requests(CPU_100, init=(BARE,)), "cpu", "", True, 100),
    "sidecar needs a request": (
        requests(CPU_100, init=(container("s", {}, restartable=True),)),
        "cpu",
        "",
        True,
        "missing request for cpu in container s of Pod web-0",
    ),
    "regular containers are named first": (
        requests(BARE, init=(container("s", {}, restartable=True),)),
        "cpu",
        "",
        True,
        "missing request for cpu in container bare of Pod web-0",
    ),
    "overhead needs pod-level requests": (requests(CPU_100, overhead_milli={"cpu": 7}), "cpu", "", True, 100),
    "another resource": (
        requests(CPU_100),
        "memory",
        "",
        True,
        "missing request for memory in container a of Pod web-0",
    ),
    # A named container.
    "named sidecar": (
        requests(CPU_100, init=(container("s", {"cpu": 5}, restartable=True),)),
        "cpu",
        "s",
        True,
        5,
    ),
    "named ordinary init is not found": (
        requests(CPU_100, init=(container("i", {"cpu": 5}),)),
        "cpu",
        "i",
        True,
        "container i not found in Pod web-0",
    ),
    "named without request": (
        requests(CPU_100, BARE),
        "cpu",
        "bare",
        True,
        "missing request for cpu in container bare of Pod web-0",
    ),
    "named beside one without request": (requests(CPU_100, BARE), "cpu", "a", True, 100),
    # §9.2: pod-level requests.
    "pod level and overhead": (
        requests(CPU_100, pod_level_milli={"cpu": 800}, overhead_milli={"cpu": 7}),
        "cpu",
        "",
        True,
        807,
    ),
    "pod level of another resource: containers": (
        requests(CPU_100, CPU_50, pod_level_milli={"memory": 800}),
        "cpu",
        "",
        True,
        150,
    ),
    "pod level of another resource: one container without": (
        requests(CPU_100, BARE, pod_level_milli={"memory": 800}),
        "cpu",
        "",
        True,
        100,
    ),
    "pod level of another resource: nobody names it": (
        requests(BARE, pod_level_milli={"memory": 800}),
        "cpu",
        "",
        True,
        "missing pod-level request for cpu in Pod web-0",
    ),
    "pod level of another resource: overhead names it": (
        requests(BARE, pod_level_milli={"memory": 800}, overhead_milli={"cpu": 7}),
        "cpu",
        "",
        True,
        7,
    ),
    "pod level of another resource: sidecars": (
        requests(
            CPU_100,
            init=(container("s", {"cpu": 50}, restartable=True),),
            pod_level_milli={"memory": 800},
            overhead_milli={"cpu": 7},
        ),
        "cpu",
        "",
        True,
        157,
    ),
    "pod level of another resource: peak of an ordinary init": (
        requests(CPU_100, init=(container("i", {"cpu": 300}),), pod_level_milli={"memory": 800}),
        "cpu",
        "",
        True,
        300,
    ),
    "peak counts the sidecars started before": (
        requests(
            CPU_100,
            init=(
                container("s1", {"cpu": 40}, restartable=True),
                container("i", {"cpu": 100}),
                container("s2", {"cpu": 10}, restartable=True),
            ),
            pod_level_milli={"memory": 800},
        ),
        "cpu",
        "",
        True,
        150,
    ),
    "peak beats the sum": (
        requests(
            CPU_100,
            init=(
                container("s1", {"cpu": 40}, restartable=True),
                container("i", {"cpu": 120}),
                container("s2", {"cpu": 10}, restartable=True),
            ),
            pod_level_milli={"memory": 800},
        ),
        "cpu",
        "",
        True,
        160,
    ),
    "only an ordinary init names it": (
        requests(BARE, init=(container("i", {"cpu": 30}),), pod_level_milli={"memory": 800}),
        "cpu",
        "",
        True,
        30,
    ),
    "huge pages are supported": (
        requests(container("a", {"hugepages-2Mi": 5}), pod_level_milli={"hugepages-2Mi": 9}),
        "hugepages-2Mi",
        "",
        True,
        9,
    ),
    "unsupported pod-level resource alone is none": (
        requests(CPU_100, BARE, pod_level_milli={"ephemeral-storage": 800}),
        "cpu",
        "",
        True,
        "missing request for cpu in container bare of Pod web-0",
    ),
    "unsupported pod-level resource is not used": (
        requests(container("a", {"ephemeral-storage": 3}), pod_level_milli={"cpu": 1, "ephemeral-storage": 800}),
        "ephemeral-storage",
        "",
        True,
        3,
    ),
}


@pytest.mark.parametrize(("asked", "resource", "named", "gate", "expected"), CASES.values(), ids=CASES)
def test_requests(asked: PodRequests, resource: str, named: str, gate: bool, expected: int | str) -> None:  # noqa: FBT001 - a table's column
    assert requested(asked, resource, named, gate=gate) == expected


def test_no_pods_request_nothing() -> None:
    """25.4.1."""
    assert requests_milli((), "cpu", "", pod_level=True) == {}


def test_every_pod_counts_and_the_first_error_is_told() -> None:
    """§9.1: also failed, pending and deleted pods; in the order of the pods."""
    bare = requests(BARE)
    listed = (
        *pods(1),
        *pods(1, first=1, phase="Failed", requests=bare),
        *pods(1, first=2, deleted=True, requests=bare),
    )
    expected = "missing request for cpu in container bare of Pod web-1"
    assert requests_milli(listed, "cpu", "", pod_level=True) == expected
    assert requests_milli(listed[::2], "cpu", "", pod_level=True) == expected.replace("web-1", "web-2")
    assert requests_milli(listed[:1], "cpu", "", pod_level=True) == {"web-0": 1000}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        # Each container's request is rounded up on its own (§18.6) …
        (PodRequests((_nano_container(), _nano_container())), 2),
        # … pod-level totals are summed first (§9.2).
        (PodRequests((_nano_container(), _nano_container()), pod_level_nano={"memory": 1}), 1),
        (PodRequests((), pod_level_nano={"cpu": 1_000_001}, overhead_nano={"cpu": 999_999}), 2),
        (PodRequests((), pod_level_nano={"cpu": 1_000_001}), 2),
        # What a container does not name counts nothing at all, also while the pod starts.
        (PodRequests((Container("a", {"cpu": 1_000_000}), BARE), pod_level_nano={"memory": 1}), 1),
        (PodRequests((Container("a", {"cpu": 1_000_001}), BARE), pod_level_nano={"memory": 1}), 2),
        (PodRequests((), (BARE_SIDECAR, Container("i", {"cpu": 1_000_000})), pod_level_nano={"memory": 1}), 1),
        (PodRequests((), (BARE_SIDECAR, Container("i", {"cpu": 1_000_001})), pod_level_nano={"memory": 1}), 2),
    ],
)
def test_rounding(asked: PodRequests, expected: int) -> None:
    assert requested(asked) == expected
