"""The kubelet of all nodes: pods are placed, start, get ready, crash, end, as their `habits` say."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from controller.lab.behaviour.alarms import Alarms
from controller.lab.behaviour.habits import TROUBLE, Habits, habits, without_habits
from controller.lab.behaviour.pod_status import Life, is_leaving, pod_status
from controller.lab.behaviour.scheduler import Refusal, Scheduler
from controller.lab.clock import parse_timestamp
from controller.lab.operations.deletion import DeleteOptions

if TYPE_CHECKING:
    from controller.lab.behaviour.recorder import Recorder
    from controller.lab.cluster import Cluster
    from controller.lab.objects.resources import Object

_CRASH_AFTER_S = 3.0
_FIRST_RESTART_S = 1.0
_BACKOFF_S = 10.0
_BACKOFF_MAX_S = 300.0
_BACKOFF_DOUBLINGS = 10
_PLACE_AGAIN_S = 5.0

Key = tuple[str, str]
"""Namespace and name of a pod."""


class Kubelet:
    """Runs the pods of a cluster, on all of its nodes; `step` brings them up to the present time.

    Args:
        cluster: Where the pods and nodes are.
        recorder: Writes Events.
        seed: Determines how start-up times differ.

    """

    def __init__(self, cluster: Cluster, recorder: Recorder, seed: int = 1) -> None:
        self._cluster = cluster
        self._recorder = recorder
        self._seed = seed
        self._scheduler = Scheduler(cluster)
        self._lives: dict[Key, Life] = {}
        self._attention: dict[Key, None] = {}
        self._alarms: Alarms[Key] = Alarms()
        self._addresses = 0
        cluster.subscribe("pods", self._pod_changed)
        cluster.subscribe("nodes", lambda *_: self._place_the_waiting())
        for pod in cluster.view("pods"):
            self._pod_changed("ADDED", pod)

    def step(self) -> bool:
        """Whether there was anything to do."""
        due = set(ordered := self._alarms.due(self._cluster.clock.monotonic_s()))
        keys = dict.fromkeys((*self._attention, *ordered))
        self._attention.clear()
        for key in keys:
            pod = self._cluster.glance("pods", key[1], key[0])
            if pod is not None:
                self._advance(key, pod, timer=key in due)
        return bool(keys)

    def crash(self, namespace: str, name: str) -> bool:
        """Whether the containers of a pod ran, and have now ended with an error; they start again by themselves."""
        life = self._lives.get((namespace, name))
        pod = self._cluster.glance("pods", name, namespace)
        if life is None or pod is None or life.stage != "running":
            return False
        self._crashed((namespace, name), pod, life)
        return True

    def _pod_changed(self, kind: str, pod: Object) -> None:
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        if kind == "DELETED":
            self._lives.pop(key, None)
            self._alarms.drop(key)
            self._scheduler.release(pod["metadata"]["uid"])
            self._place_the_waiting()
        elif kind == "ADDED" or self._concerns(self._lives.get(key), pod):
            self._attention[key] = None

    def _concerns(self, life: Life | None, pod: Object) -> bool:
        """Whether a change is one to act on, rather than our own or one that changes nothing here."""
        if life is None or life.stage == "ended":
            return False
        trouble = (pod["metadata"].get("annotations") or {}).get(TROUBLE, "")
        return is_leaving(pod) or (trouble == "unready") == life.ready or trouble == "crash" or life.stage == "unplaced"

    def _place_the_waiting(self) -> None:
        for key, life in self._lives.items():
            if life.stage == "unplaced":
                self._attention[key] = None

    def _habits(self, pod: Object) -> Habits:
        try:
            return habits(pod, self._seed)
        except ValueError as error:
            self._recorder.record("kubelet", pod, "InvalidAnnotation", f"ignored: {error}", warning=True)
            return habits(without_habits(pod), self._seed)

    def _advance(self, key: Key, pod: Object, *, timer: bool) -> None:
        life = self._lives.setdefault(key, Life())
        found = self._habits(pod)
        if is_leaving(pod):
            self._leave(key, pod, life, found, timer=timer)
            return
        match life.stage:
            case "unplaced":
                self._place(key, pod, life, found)
            case "creating" | "waiting" if timer:
                self._start(key, pod, life, found)
            case "running":
                self._run(key, pod, life, found, timer=timer)
            case _:
                # What starts or has ended waits for its alarm or for nothing.
                pass

    def _place(self, key: Key, pod: Object, life: Life, found: Habits) -> None:
        node_name = pod["spec"].get("nodeName", "")
        chosen = node_name or self._scheduler.choose(pod)
        if found.trouble == "pending":
            chosen = Refusal(f"held back by the annotation {TROUBLE}")
        if isinstance(chosen, Refusal):
            self._alarms.set(key, self._cluster.clock.monotonic_s() + _PLACE_AGAIN_S)
            if life.problem != chosen.message:
                life.problem = chosen.message
                self._write(pod, life)
                self._recorder.record("default-scheduler", pod, "FailedScheduling", chosen.message, warning=True)
            return
        self._scheduler.occupy(pod, chosen)
        if not node_name:
            pod = self._cluster.bind(pod["metadata"]["name"], chosen, pod["metadata"]["namespace"])
        self._addresses += 1
        number = self._addresses
        node = self._cluster.glance("nodes", chosen) or {"status": {}}
        addresses = node["status"].get("addresses") or ()
        life.node_ip = next((item["address"] for item in addresses if item["type"] == "InternalIP"), "127.0.0.1")
        life.pod_ip = f"10.244.{number // 250 % 250}.{number % 250 + 1}"
        life.stage, life.start_time, life.problem = "creating", self._cluster.clock.timestamp(), ""
        self._alarms.set(key, self._cluster.clock.monotonic_s() + found.start_up_s)
        self._write(pod, life)
        self._recorder.record("default-scheduler", pod, "Scheduled", f"goes to {chosen}")

    def _start(self, key: Key, pod: Object, life: Life, found: Habits) -> None:
        if life.stage == "waiting":
            life.restarts += 1
        life.stage, life.started_at = "running", self._cluster.clock.timestamp()
        delay_s = _CRASH_AFTER_S if found.trouble == "crash" else found.ready_after_s
        life.ready = not delay_s and found.trouble != "unready"
        if delay_s:
            self._alarms.set(key, self._cluster.clock.monotonic_s() + delay_s)
        self._write(pod, life)
        for container in pod["spec"]["containers"]:
            self._recorder.record("kubelet", pod, "Started", f"container {container['name']} runs")

    def _run(self, key: Key, pod: Object, life: Life, found: Habits, *, timer: bool) -> None:
        if found.trouble == "crash":
            if timer:
                self._crashed(key, pod, life)
            else:
                self._alarms.set(key, self._cluster.clock.monotonic_s() + _CRASH_AFTER_S)
        elif found.trouble == "unready" and life.ready:
            life.ready = False
            self._write(pod, life)
            self._recorder.record("kubelet", pod, "Unhealthy", "the readiness probe fails", warning=True)
        elif found.trouble != "unready" and not life.ready:
            ready_s = parse_timestamp(life.started_at) + timedelta(seconds=found.ready_after_s)
            wait_s = (ready_s - self._cluster.clock.now()).total_seconds()
            if timer or wait_s <= 0:
                life.ready = True
                self._write(pod, life)
            else:
                self._alarms.set(key, self._cluster.clock.monotonic_s() + wait_s)

    def _crashed(self, key: Key, pod: Object, life: Life) -> None:
        now = self._cluster.clock.timestamp()
        life.last_end = {"exitCode": 1, "reason": "Error", "startedAt": life.started_at, "finishedAt": now}
        life.stage, life.ready = "waiting", False
        backoff_s = min(_BACKOFF_S * 2 ** min(life.restarts - 1, _BACKOFF_DOUBLINGS), _BACKOFF_MAX_S)
        wait_s = backoff_s if life.restarts else _FIRST_RESTART_S
        self._alarms.set(key, self._cluster.clock.monotonic_s() + wait_s)
        self._write(pod, life)
        self._recorder.record("kubelet", pod, "BackOff", "restarting after the containers ended", warning=True)

    def _leave(self, key: Key, pod: Object, life: Life, found: Habits, *, timer: bool) -> None:
        """Tell the containers to end, and let the pod go when they have."""
        namespace, name = key
        grace_s = pod["metadata"].get("deletionGracePeriodSeconds", 0)
        runs = bool(pod["spec"].get("nodeName")) and grace_s > 0
        if runs and not life.stopping:
            life.stopping = True
            self._alarms.set(key, self._cluster.clock.monotonic_s() + min(found.stop_after_s, grace_s))
            self._recorder.record("kubelet", pod, "Killing", "its containers are told to end")
        elif not runs or timer:
            life.stage, life.ready = "ended", False
            if runs:
                self._write(pod, life)
            # Finalizers may keep the pod; an ended life gets no more attention.
            self._cluster.delete("pods", name, namespace, DeleteOptions(grace_period_s=0))

    def _write(self, pod: Object, life: Life) -> None:
        now = self._cluster.clock.timestamp()
        self._cluster.update_status("pods", {**pod, "status": pod_status(pod, life, now)})
