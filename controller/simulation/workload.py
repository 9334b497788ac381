"""The pods of a simulated target: they come, get ready after a while, and go."""

from collections.abc import Iterator
from typing import Final

import msgspec

from controller.decide.instants import NANOSECONDS
from controller.decide.observed import Container, Pod, PodRequests, Readiness

SELECTOR: Final = "app=simulated"
_LABELS: Final = {"app": "simulated"}
_BEFORE_S: Final = 3600.0
"""For how long those that are there at the beginning have been ready."""


class Alive(msgspec.Struct, frozen=True, gc=False):
    """A pod; times in seconds of the simulation."""

    name: str
    created_s: float
    ready_s: float


class Workload:
    """A Deployment at rest but for its number of replicas.

    A pod runs from the moment of the scale write, is ready after its start-up, and leaves at once. Those that are not
    ready leave first, then the youngest, as a ReplicaSet has it.
    """

    def __init__(self, requests: PodRequests, replicas: int, start_up_s: float) -> None:
        self._requests = requests
        self._start_up_s = start_up_s
        self._created = 0
        self._pods: list[Alive] = []
        """The oldest first, which is the order of their names, too."""
        self._add(replicas, -_BEFORE_S - start_up_s)

    @property
    def replicas(self) -> int:
        """How many pods there are."""
        return len(self._pods)

    def scale(self, replicas: int, t_s: float) -> None:
        """Have so many pods from that time on."""
        # Younger pods are ready later, so the last ones are those that are not ready, then the youngest.
        del self._pods[replicas:]
        self._add(replicas - len(self._pods), t_s)

    def ready(self, t_s: float) -> int:
        """How many are ready at that time."""
        return sum(pod.ready_s <= t_s for pod in self._pods)

    def alive(self, t_s: float) -> Iterator[tuple[str, bool]]:
        """Name of each pod, and whether it is ready at that time."""
        for pod in self._pods:
            yield pod.name, pod.ready_s <= t_s

    def pods(self, t_s: float, start_ns: int) -> tuple[Pod, ...]:
        """All pods as the API shows them, in name order; `start_ns` is the wall time at 0 s."""
        return tuple(self._shown(pod, t_s, start_ns) for pod in self._pods)

    def _shown(self, pod: Alive, t_s: float, start_ns: int) -> Pod:
        is_ready = pod.ready_s <= t_s
        created_ns = instant_ns(start_ns, pod.created_s)
        since_ns = instant_ns(start_ns, pod.ready_s) if is_ready else created_ns
        return Pod(
            name=pod.name,
            labels=_LABELS,
            phase="Running",
            requests=self._requests,
            started_ns=created_ns,
            ready=Readiness(str(is_ready), since_ns),
        )

    def _add(self, count: int, created_s: float) -> None:
        for _ in range(count):
            self._created += 1
            self._pods.append(Alive(f"pod-{self._created:07}", created_s, created_s + self._start_up_s))


def instant_ns(start_ns: int, t_s: float) -> int:
    """Wall time so many seconds after the start."""
    return start_ns + round(t_s * NANOSECONDS)


def requests_of(containers: tuple[str, ...], amounts_milli: dict[str, int]) -> PodRequests:
    """Pods of these containers, each of which requests all of that."""
    amounts_nano = {resource: amount * 1_000_000 for resource, amount in amounts_milli.items()}
    return PodRequests(tuple(Container(name, amounts_nano) for name in containers))
