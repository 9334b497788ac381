"""The rows of `top` as lines of a given width: quick enough for ten thousand of them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rich.text import Text

from controller.explain.rows import Row
from controller.wire.errors import printable

WIDE: Final = 120
_COLUMNS_LEAST: Final = 5
"""The first ones, up to the limit: without them a row says nothing."""

_WORRYING: Final = frozenset(("max", "failed", "error"))
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR

SORTS: Final[dict[str, Callable[[Row], tuple[float | str, ...]]]] = {
    "name": lambda row: (row.namespace, row.name),
    "ratio": lambda row: (-(row.ratio if row.ratio is not None else -1.0), row.namespace, row.name),
    "replicas": lambda row: (-(row.replicas or 0), row.namespace, row.name),
    "change": lambda row: (-_change(row), row.namespace, row.name),
    "scaled": lambda row: (_last(row.last_scale_s), row.namespace, row.name),
    "data": lambda row: (-(row.data_age_s or 0.0), row.namespace, row.name),
    "lag": lambda row: (-(row.lag_s or 0.0), row.namespace, row.name),
    "limit": lambda row: (not row.limited_by, row.limited_by, row.namespace, row.name),
}
"""By name, or with what deserves attention first."""


def table(rows: Sequence[Row], width: int, *, namespaced: bool) -> Iterator[Text]:
    """A head and a line per row; narrow ones do without notes, then without some columns."""
    cells = [_cells(row, namespaced=namespaced) for row in rows]
    titles = (
        "NAMESPACE/NAME" if namespaced else "NAME",
        "REPLICAS",
        "VALUE/TARGET",
        "METRIC",
        "LIMIT",
        "SCALED",
        "DATA",
        "LAG",
    )
    widths = [max(len(title), *(len(one[column]) for one in cells), 0) for column, title in enumerate(titles)]
    room = width - sum(widths) - 2 * (len(titles) - 1)
    if room < 0:
        # Names and metrics give way, names last: they are what one looks for.
        for column, least in ((3, 12), (0, 16), (3, 6)):
            cut = min(-room, max(0, widths[column] - least))
            widths[column] -= cut
            room += cut
    shown = list(range(len(titles)))
    while room < 0 and len(shown) > _COLUMNS_LEAST:
        room += widths[shown.pop()] + 2
    notes = width >= WIDE and any(map(_note, rows))
    head = "  ".join(_fitted(titles[column], widths[column]) for column in shown)
    yield Text(f"{head}  NOTE" if notes else head.rstrip(), style="bold")
    for row, one in zip(rows, cells, strict=True):
        line = "  ".join(_fitted(one[column], widths[column]) for column in shown)
        note = _note(row) if notes else ""
        left = width - len(line) - 2
        if note and left >= 20:  # noqa: PLR2004 - less says nothing
            line += "  " + (note if len(note) <= left else note[: left - 1] + "…")
        yield Text(line.rstrip(), style=_style(row))


def order(rows: Sequence[Row], by: str) -> list[Row]:
    """The rows sorted by one of SORTS."""
    return sorted(rows, key=SORTS[by])


def _cells(row: Row, *, namespaced: bool) -> tuple[str, ...]:
    name = f"{row.namespace}/{row.name}" if namespaced else row.name
    if row.synced_s is None:
        return (name, "?", "", "error" if row.error else "not synced yet", row.limited_by, "", "", "")
    replicas = "?" if row.replicas is None else str(row.replicas)
    if row.desired is not None and row.desired != row.replicas:
        replicas += f" → {row.desired}"
    return (
        name,
        replicas,
        f"{row.current}/{row.target}" if row.metric else "",
        printable(row.metric) or ("error" if row.error else "–"),
        row.limited_by + ("*" if row.not_written else ""),
        age(row.last_scale_s),
        age(row.data_age_s),
        age(row.lag_s),
    )


def age(seconds: float | None) -> str:
    """Seconds in one unit: `0.4s`, `45s`, `12m`, `3h`, `8d`; nothing for None.

    Where hosts' clocks differ, what has just happened would be in the future: it is of now.
    """
    if seconds is None:
        return ""
    seconds = max(seconds, 0.0)
    if seconds < 10 and seconds != int(seconds):  # noqa: PLR2004 - digits after the point matter below
        return f"{seconds:.1f}s"
    for unit, size in (("d", _DAY), ("h", _HOUR), ("m", _MINUTE)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds)}s"


def _note(row: Row) -> str:
    notes = [row.error] if row.error else []
    if row.twin:
        notes.insert(0, "another hpa-controller scales it, too")
    if row.not_written:
        notes.insert(0, f"not written: {row.not_written}")
    return printable("; ".join(notes))


def _style(row: Row) -> str:
    if row.limited_by in ("failed", "error"):
        return "red"
    if row.limited_by in _WORRYING or row.not_written or row.twin:
        return "yellow"
    return "green" if row.desired is not None and row.desired != row.replicas else ""


def _change(row: Row) -> int:
    return 0 if row.desired is None or row.replicas is None else abs(row.desired - row.replicas)


def _last(seconds: float | None) -> float:
    return float("inf") if seconds is None else seconds


def _fitted(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else text[: max(width - 1, 0)] + "…"
