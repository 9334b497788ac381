"""The pods of a simulated target: they come, get ready after a while, and go."""

import bisect
from collections.abc import Iterator
from typing import Final

import msgspec

from controller.decide.instants import NANOSECONDS
from controller.decide.observed import Container, Pod, PodRequests, Readiness

SELECTOR: Final = "app=simulated"
_LABELS: Final = {"app": "simulated"}
_BEFORE_NS: Final = 3_600 * NANOSECONDS
"""For how long those that are there at the beginning have been ready."""


class Alive(msgspec.Struct, frozen=True, gc=False):
    """A pod; times in nanoseconds of the simulation."""

    name: str
    created_ns: int
    ready_ns: int


class Workload:
    """A Deployment at rest but for its number of replicas.

    A pod runs from the moment of the scale write, is ready after its start-up, and leaves at once. Those that are not
    ready leave first, then the youngest, as a ReplicaSet has it.
    """

    def __init__(self, requests: PodRequests, replicas: int, start_up_ns: int) -> None:
        self._requests = requests
        self._start_up_ns = start_up_ns
        self._created = 0
        self._pods: list[Alive] = []
        """The oldest first, which is the order of their names and of their readiness, too."""
        self._add(replicas, -_BEFORE_NS - start_up_ns)

    @property
    def replicas(self) -> int:
        """How many pods there are."""
        return len(self._pods)

    def scale(self, replicas: int, t_ns: int) -> None:
        """Have so many pods from that time on."""
        # Younger pods are ready later, so the last ones are those that are not ready, then the youngest.
        del self._pods[replicas:]
        self._add(replicas - len(self._pods), t_ns)

    def ready(self, t_ns: int) -> int:
        """How many are ready at that time."""
        return bisect.bisect_right(self._pods, t_ns, key=_ready_ns)

    def alive(self, t_ns: int) -> Iterator[tuple[str, bool]]:
        """Name of each pod, and whether it is ready at that time."""
        ready = self.ready(t_ns)
        for index, pod in enumerate(self._pods):
            yield pod.name, index < ready

    def names(self) -> frozenset[str]:
        """Of all pods."""
        return frozenset(pod.name for pod in self._pods)

    def pods(self, t_ns: int, start_ns: int) -> tuple[Pod, ...]:
        """All pods as the API shows them, in name order; `start_ns` is the wall time at 0 s."""
        return tuple(self._shown(pod, t_ns, start_ns) for pod in self._pods)

    def _shown(self, pod: Alive, t_ns: int, start_ns: int) -> Pod:
        is_ready = pod.ready_ns <= t_ns
        return Pod(
            name=pod.name,
            labels=_LABELS,
            phase="Running",
            requests=self._requests,
            started_ns=start_ns + pod.created_ns,
            ready=Readiness(str(is_ready), start_ns + (pod.ready_ns if is_ready else pod.created_ns)),
        )

    def _add(self, count: int, created_ns: int) -> None:
        for _ in range(count):
            self._created += 1
            self._pods.append(Alive(f"pod-{self._created:07}", created_ns, created_ns + self._start_up_ns))


def _ready_ns(pod: Alive) -> int:
    return pod.ready_ns


def requests_of(containers: tuple[str, ...], amounts_milli: dict[str, int]) -> PodRequests:
    """Pods of these containers, each of which requests all of that."""
    amounts_nano = {resource: amount * 1_000_000 for resource, amount in amounts_milli.items()}
    return PodRequests(tuple(Container(name, amounts_nano) for name in containers))
