"""An explanation as lines for people: the sentence first, then what would change it, then the numbers."""

import textwrap
from collections.abc import Iterator
from typing import Final

from rich.text import Text

from controller.explain.answer import Answer, SyncTold
from controller.explain.findings import plural
from controller.explain.sections import Explained, MetricTold, PodTold, Requests
from controller.wire.errors import printable

PODS_SHOWN: Final = 12
WIDTH_MIN: Final = 60
WIDTH_MAX: Final = 200
_TEXT_MAX: Final = 4000
_OLD: Final = "the controller is older than this program and gives no explanation in words: only its reasons are shown"


def page(answer: Answer, width: int) -> Iterator[Text]:
    """All lines: earlier syncs in one each, the newest in full."""
    width = max(WIDTH_MIN, min(width, WIDTH_MAX))
    if answer.partial:
        yield from _wrapped(f"partial: {answer.partial}", width, style="yellow")
    for sync in answer.syncs[:-1]:
        yield from _wrapped(f"{_time(sync)}  {_summary(sync)}", width, indent=len(_time(sync)) + 2)
    if len(answer.syncs) > 1:
        yield Text("")
    yield from _newest(answer, answer.syncs[-1], width)


def line(sync: SyncTold, width: int) -> Iterator[Text]:
    """One sync in short."""
    yield from _wrapped(f"{_time(sync)}  {_summary(sync)}", width, indent=len(_time(sync)) + 2)


def _newest(answer: Answer, sync: SyncTold, width: int) -> Iterator[Text]:
    yield Text.assemble((answer.hpa, "bold"), f"  {sync.time}")
    explained = sync.explained
    yield from _wrapped(_summary(sync), width, style=_colour(sync))
    if explained is None:
        yield from _wrapped(_OLD, width, style="yellow")
        return
    if explained.not_written:
        yield from _wrapped(f"not written: {explained.not_written}", width, style="yellow")
    yield from _section("what would change it", _alternatives(explained), width)
    for number, metric in enumerate(explained.metrics, 1):
        mark = ", which binds" if metric.binds and len(explained.metrics) > 1 else ""
        title = f"metric {number} of {len(explained.metrics)}: {metric.name} ({metric.type}){mark}"
        yield from _section(title, _metric(metric), width)
    yield from _section("windows, policies, bounds", explained.windows, width)
    yield from _section("cost and age of data", (*_cost(explained.requests), *_ages(explained.metrics)), width)
    for note in explained.notes:
        yield from _wrapped(f"note: {note}", width, style="yellow")


def _alternatives(explained: Explained) -> tuple[str, ...]:
    said = tuple(f"{one.says}" for one in explained.alternatives)
    if said:
        return said
    if not explained.alternatives_complete:
        return ("nothing of what was tried",)
    if any(metric.error for metric in explained.metrics):
        return ("nothing, before the metrics that failed can be read again: see below",)
    return ("no change of a single metric, of time or of the bounds",) if explained.metrics else ()


def _metric(metric: MetricTold) -> Iterator[str]:
    if metric.error:
        yield f"failed: {metric.error}"
    if metric.remedy:
        yield f"what helps: {metric.remedy}"
    yield from metric.arithmetic
    if metric.pods_used is None or (metric.error and not metric.pods):
        return
    groups: dict[str, list[PodTold]] = {}
    for pod in metric.pods:
        groups.setdefault(pod.group, []).append(pod)
    counts = ", ".join(f"{len(pods)} {group}" for group, pods in groups.items())
    yield f"pods: {metric.pods_used} used" + (f", {counts}" if counts else "")
    for group, pods in groups.items():
        for pod in pods[:PODS_SHOWN]:
            yield f"  {pod.name} is {group}: {pod.why}" + (f"; {pod.assumed}" if pod.assumed else "")
        if len(pods) > PODS_SHOWN:
            yield f"  … and {len(pods) - PODS_SHOWN} more {group}"


def _cost(requests: Requests) -> Iterator[str]:
    shared = " (shared with HPAs that ask the same)" if requests.metrics else ""
    parts = [f"{requests.metrics} metrics {plural('question', requests.metrics)}{shared}"]
    if requests.scale_writes:
        parts.append("1 write of the scale")
    if requests.status_writes:
        parts.append("1 status write")
    if requests.events:
        parts.append(f"{requests.events} {plural('event', requests.events)}")
    yield ", ".join(parts)


def _ages(metrics: tuple[MetricTold, ...]) -> Iterator[str]:
    for metric in metrics:
        if metric.ages_s is None:
            if not metric.error:
                yield f"{metric.name}: the answer does not say how old it was{_given(metric)}"
            continue
        youngest, oldest = metric.ages_s
        age = f"{youngest:g} s" if youngest == oldest else f"{youngest:g} to {oldest:g} s"
        yield f"{metric.name}: {age} old when decided on{_given(metric)}"


def _given(metric: MetricTold) -> str:
    match metric.origin:
        case "":
            return ""
        case "annotation":
            return ", by the query in the HPA's annotation"
        case origin:
            return f", from {origin}"


def _section(title: str, lines: tuple[str, ...] | Iterator[str], width: int) -> Iterator[Text]:
    found = tuple(lines)
    if not found:
        return
    yield Text("")
    yield Text(printable(title, _TEXT_MAX), style="bold")
    for text in found:
        lead = 4 if text.startswith("  ") else 2
        yield from _wrapped(" " * lead + text.strip(), width, indent=lead + 2)


def _wrapped(text: str, width: int, *, indent: int = 2, style: str = "") -> Iterator[Text]:
    """The text in lines of that width, further ones indented; long words stay whole so that they can be copied."""
    # What API servers and adapters say must not steer a terminal.
    plain = printable(" ".join(text.splitlines()), _TEXT_MAX)
    lead = len(plain) - len(plain.lstrip())
    for part in textwrap.wrap(
        plain.strip(),
        width,
        initial_indent=" " * lead,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        yield Text(part, style=style)


def _summary(sync: SyncTold) -> str:
    if sync.explained is not None:
        return sync.explained.summary
    change = f"{sync.replicas}" if sync.scaled_to is None else f"{sync.replicas} → {sync.scaled_to}"
    return f"{change}: {sync.why}"


def _colour(sync: SyncTold) -> str:
    if sync.desired is None:
        return "red"
    return "green" if sync.scaled_to is not None else ""


def _time(sync: SyncTold) -> str:
    return sync.time[11:19] + "Z"
