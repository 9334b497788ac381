"""The whole controller against the lab while damage pours in, and one good HPA that must not notice."""

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, Final

import msgspec

from controller.app import App
from controller.kube.kubeconfig import load
from controller.kube.list_watch import decode_watched_autoscaler
from controller.lab.cluster import Cluster
from controller.lab.kubeconfig import write_kubeconfig
from controller.lab.objects.errors import ApiError
from controller.lab.server import LabServer
from controller.parts import Parts
from controller.ports import Sync
from controller.run_flags import add_flags
from controller.settings import from_arguments
from tests.sweep import bad_answers, corpus
from tests.sweep.damage import encoded, spoiled
from tests.sweep.log_ledger import LogLedger
from tests.sweep.proxy import Proxy

PERIOD_S: Final = 1.0
ROUND_S: Final = 0.25
LIFE_ROUNDS: Final = 16
"""How long a damaged HPA is there: four periods, so that a sync sees it even if a watch is lost for more than one."""

_IN_BETWEEN: Final = {"namespace": "bad", "resourceVersion": ""}
"""For objects that are slipped into a watch: any version could be one that comes in the wrong order."""

GAP_PERIODS_MAX: Final = 5
_BEAT_S: Final = 0.1
HPAS: Final = "/apis/autoscaling/v2/horizontalpodautoscalers"
PODS: Final = "/api/v1/pods"
_BREAK_ROUNDS: Final = 560
"""Longer apart than two minutes, after which a watch's backoff begins anew (§20.5); sooner, and all HPAs wait."""

_BREAK_AT: Final = 20
_GOOD: Final = "good"
_SPECS: Final = (4, 1)


class Figures(msgspec.Struct):
    """What a run saw. `gap_periods` is the longest time between decisions of the good HPA, in sync periods."""

    autoscalers: int = 0
    objects: int = 0
    stored: int = 0
    refused: int = 0
    answers: int = 0
    broken_watches: int = 0
    decisions: int = 0
    gap_periods: float = 0.0
    turns: int = 0
    log_lines: int = 0
    rss_half_mb: float = 0.0
    rss_end_mb: float = 0.0
    problems: list[str] = msgspec.field(default_factory=list)


class Run:
    """One run: `figures` are complete when `run` returns."""

    def __init__(self, seed: int, rounds: int, per_round: int, folder: Path) -> None:
        self._random = Random(seed)  # noqa: S311 - repeatable on purpose
        self._rounds = rounds
        self._per_round = per_round
        self._folder = folder
        self._log = LogLedger()
        self._decided_s: list[float] = []
        self._wanted: set[int] = set()
        self._living: dict[int, list[tuple[str, bool]]] = {}
        self._stalled_s = 0.0
        self.figures = Figures()

    async def run(self) -> Figures:
        """Pour for so many rounds, then take everything away and look at what is left."""
        before = asyncio.all_tasks()
        with self._log.kept():
            async with LabServer() as lab, Proxy(lab.url) as proxy:
                _furnish(lab.cluster, self.figures, self._random)
                _spoil(proxy, self._random)
                watching = asyncio.create_task(self._watch_the_machine())
                async with self._controller(proxy.url) as app:
                    await self._pour(lab.cluster, proxy)
                    await self._settled(app)
                    self._judge_stored(lab.cluster)
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
                self.figures.answers = sum(proxy.asked.values())
        left = [task for task in asyncio.all_tasks() - before if not task.done()]
        if left:
            self._problem(f"{len(left)} tasks are left: {left[0]!r:.200}")
        self._judge()
        return self.figures

    async def _watch_the_machine(self) -> None:
        """Notes the longest time that the machine gave to others: what passed, less what this process has worked."""
        loop = asyncio.get_running_loop()
        while True:
            began_s, worked_s = loop.time(), process_time()
            await asyncio.sleep(_BEAT_S)
            lost_s = loop.time() - began_s - _BEAT_S - (process_time() - worked_s)
            self._stalled_s = max(self._stalled_s, lost_s)

    @asynccontextmanager
    async def _controller(self, url: str) -> AsyncIterator[App]:
        kubeconfig = self._folder / "kubeconfig"
        write_kubeconfig(kubeconfig, url=url, namespace="default", authority=None, token=None)
        parser = argparse.ArgumentParser()
        add_flags(parser)
        flags = [
            "--leader-elect=false",
            "--metrics-bind-address=0",
            "--health-probe-bind-address=0",
            "--introspection-bind-address=0",
        ]
        flags += [f"--horizontal-pod-autoscaler-sync-period={PERIOD_S}s"]
        flags += ["--horizontal-pod-autoscaler-downscale-stabilization=0s"]
        access = load(str(kubeconfig), environment={})
        app = App(Parts(from_arguments(parser.parse_args(flags)), access, observers=(self._synced,)))
        stop = asyncio.Event()
        running = asyncio.create_task(app.run(stop))
        try:
            yield app
        finally:
            stop.set()
            await asyncio.wait_for(running, 60)

    def _synced(self, sync: Sync) -> None:
        if sync.autoscaler.name == _GOOD:
            self._decided_s.append(asyncio.get_running_loop().time())
            if sync.conclusion.scaled_to is not None:
                self._wanted.add(sync.conclusion.scaled_to)
                self.figures.turns += 1

    async def _pour(self, cluster: Cluster, proxy: Proxy) -> None:
        for _ in range(100):
            if self._decided_s:
                break
            await asyncio.sleep(ROUND_S)
        for number in range(self._rounds):
            # Long enough for a period to see either usage.
            cluster.metrics.set_pod(_GOOD, "good-0", {"app": {"cpu": ("400m", "10m")[number // 12 % 2]}})
            self._living[number] = [self._autoscaler(proxy, number, index) for index in range(self._per_round)]
            for index in range(self._per_round):
                self._pod(proxy, f"bad-{number % LIFE_ROUNDS}-{index}")
            self._bury(proxy, self._living.pop(number - LIFE_ROUNDS, []))
            if number % _BREAK_ROUNDS == _BREAK_AT:
                # No event at all: the watch is lost, and everything listed anew.
                self.figures.broken_watches += proxy.say(PODS, b'{"type":"ADDED","object":{\xff')
            if number == self._rounds // 2:
                self.figures.rss_half_mb = _rss_mb()
            await asyncio.sleep(ROUND_S)
        self.figures.rss_end_mb = _rss_mb()
        await asyncio.sleep(3 * PERIOD_S)
        for living in self._living.values():
            self._bury(proxy, living)
        for number in range(LIFE_ROUNDS):
            for index in range(self._per_round):
                proxy.say(PODS, encoded({"type": "DELETED", "object": _pod(f"bad-{number}-{index}")}))

    def _autoscaler(self, proxy: Proxy, number: int, index: int) -> tuple[str, bool]:
        """A damaged HPA, and whether it cannot be understood."""
        name = f"bad-{number}-{index}"
        sound = corpus.autoscaler(name)
        part = self._random.choice(("spec", "spec", "status"))
        damaged = spoiled(self._random, encoded(sound[part]), self._random.choice((1, 2, 5)))
        body = encoded({"metadata": sound["metadata"] | _IN_BETWEEN, "spec": sound["spec"], part: msgspec.Raw(damaged)})
        line = b'{"type":"ADDED","object":' + body + b"}"
        try:
            msgspec.json.decode(line, type=dict[str, msgspec.Raw])
            watched, _ = decode_watched_autoscaler(body)
        except ValueError:
            # A line that is no JSON would end the watch; the decoders' sweep has those.
            return name, False
        self.figures.autoscalers += proxy.say(HPAS, line)
        return name, watched.problem is not None

    def _pod(self, proxy: Proxy, name: str) -> None:
        sound = _pod(name)
        part = self._random.choice(("spec", "status"))
        damaged = spoiled(self._random, encoded(sound[part]), self._random.choice((1, 3)))
        body = encoded({"metadata": sound["metadata"], part: msgspec.Raw(damaged)})
        with suppress(msgspec.MsgspecError, ValueError):
            msgspec.json.decode(body)
            self.figures.objects += proxy.say(PODS, b'{"type":"ADDED","object":' + body + b"}")

    def _bury(self, proxy: Proxy, living: list[tuple[str, bool]]) -> None:
        for name, malformed in living:
            key = f"bad/{name}"
            if malformed and key not in self._log.errors:
                self._problem(f"nothing was said about {key}")
            self._log.errors.pop(key, None)
            gone = corpus.autoscaler(name) | {"metadata": corpus.metadata(name, **_IN_BETWEEN)}
            proxy.say(HPAS, encoded({"type": "DELETED", "object": gone}))

    async def _settled(self, app: App) -> None:
        """Everything that was only said in watches is forgotten, after a few periods at most."""
        stored = self.figures.stored + 1
        workers: Any = app.parts.workers
        reconciler = workers._reconcile.__self__
        sizes: tuple[int, ...] = ()
        for _ in range(40):
            sizes = (len(app.parts.autoscalers), len(reconciler._memories), len(app.parts.pods))
            if sizes[0] == stored and sizes[1] <= stored and sizes[2] == 1:
                return
            await asyncio.sleep(ROUND_S)
        self._problem(f"HPAs, memories and pods left: {sizes}, where there are {stored}, {stored} and 1")

    def _judge_stored(self, cluster: Cluster) -> None:
        for autoscaler in cluster.list("horizontalpodautoscalers.autoscaling", "stored"):
            name = autoscaler["metadata"]["name"]
            if not autoscaler.get("status", {}).get("conditions") and f"stored/{name}" not in self._log.errors:
                self._problem(f"stored/{name} has neither a condition nor a line in the log")

    def _judge(self) -> None:
        figures = self.figures
        figures.decisions = len(self._decided_s)
        pairs = zip(self._decided_s, self._decided_s[1:], strict=False)
        figures.gap_periods = max((later - earlier for earlier, later in pairs), default=0.0) / PERIOD_S
        # What the machine did not give us is not the controller's fault.
        if figures.gap_periods > GAP_PERIODS_MAX + self._stalled_s / PERIOD_S:
            self._problem(f"the good HPA was not decided for {figures.gap_periods:.1f} periods")
        if not self._wanted.issuperset(_SPECS):
            self._problem(f"the good HPA was scaled to {sorted(self._wanted)}, not to each of {_SPECS}")
        figures.log_lines = sum(self._log.lines.values())
        periods = self._rounds * ROUND_S / PERIOD_S + 20
        for (message, reason, about), count in self._log.lines.items():
            if about and count > periods:
                self._problem(f"{message!r} {reason} about {about} was logged {count} times in {periods:.0f} periods")
        for unexpected in self._log.unexpected:
            self._problem(f"unexpected: {unexpected:.600}")

    def _problem(self, text: str) -> None:
        if len(self.figures.problems) < 20:
            self.figures.problems.append(text)


def _furnish(cluster: Cluster, figures: Figures, random: Random) -> None:
    """The good HPA with its target, and HPAs that a server stores although nothing about them is right."""
    for namespace in (_GOOD, "stored"):
        cluster.create("namespaces", {"metadata": {"name": namespace}})
    labels = {"app": _GOOD}
    containers = [{"name": "app", "image": "app:1", "resources": {"requests": {"cpu": "100m"}}}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    metadata = {"name": _GOOD, "namespace": _GOOD}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    cluster.create("deployments.apps", {"metadata": metadata, "spec": spec})
    pod = {"metadata": {"name": "good-0", "namespace": _GOOD, "labels": labels}, "spec": {"containers": containers}}
    since = "2020-01-01T00:00:00Z"
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": since}
    pod["status"] = {"phase": "Running", "startTime": since, "conditions": [ready]}
    cluster.create("pods", pod, with_status=True)
    cluster.metrics.set_pod(_GOOD, "good-0", {"app": {"cpu": "400m"}})
    target = {"type": "AverageValue", "averageValue": "100m"}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": _GOOD}
    wanted = {"scaleTargetRef": reference, "maxReplicas": 10, "metrics": [metric]}
    cluster.create("horizontalpodautoscalers.autoscaling", {"metadata": metadata, "spec": wanted})
    for number in range(300):
        sound = corpus.autoscaler(f"stored-{number}")
        part = spoiled(random, encoded(sound["spec"]), 1)
        try:
            candidate = {
                "metadata": {"name": f"stored-{number}", "namespace": "stored"},
                "spec": msgspec.json.decode(part),
            }
            cluster.create("horizontalpodautoscalers.autoscaling", candidate)
            figures.stored += 1
        except (ApiError, ValueError):
            figures.refused += 1


def _spoil(proxy: Proxy, random: Random) -> None:
    """Scales and metrics of everything but the good HPA are damaged."""
    scales = (encoded(corpus.scale()), encoded(corpus.failure()))
    for namespace in ("bad", "stored"):
        proxy.answers[f"/apis/apps/v1/namespaces/{namespace}/"] = bad_answers.garbage(random, scales)
        proxy.answers[f"/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/"] = bad_answers.garbage(
            random, bad_answers.samples()
        )
    for group in ("custom.metrics.k8s.io/v1beta2/", "external.metrics.k8s.io/v1beta1/"):
        proxy.answers[f"/apis/{group}"] = bad_answers.garbage(random, bad_answers.samples())


def _pod(name: str) -> dict[str, Any]:
    return corpus.pod(name) | {"metadata": corpus.metadata(name, **_IN_BETWEEN, labels={"app": "web"})}


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6
