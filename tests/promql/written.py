"""Queries as people write them, and as nobody would: a grammar of PromQL for tests."""

from hypothesis import strategies as st

from controller.promql.literals import quoted

_NAMES = st.sampled_from(["up", "http_requests_total", "job:rate:sum", "by", "offset_total", "_x", "namespace"])
_LABELS = st.sampled_from(["job", "pod", "namespace", "le", "__name", "or"])
_DURATIONS = st.sampled_from(["5m", "1h30m", "90s", "1d", "2w", "1500ms"])
_STRINGS = st.one_of(
    st.text(max_size=12).map(quoted),
    st.text(alphabet="ab\"'}{,=", max_size=8).map(lambda text: f"`{text}`"),
    st.sampled_from(["'x\"y'", r'"\\"', r'"\""', r'"a\\.b"', '"namespace"', '"}"']),
)


@st.composite
def _selector(draw: st.DrawFn) -> str:
    matchers = [
        f"{label}{draw(st.sampled_from(['=', '!=', '=~', '!~']))}{draw(_STRINGS)}"
        for label in draw(st.lists(_LABELS, max_size=3))
    ]
    named: bool = draw(st.booleans())
    name = draw(_NAMES) if named or not matchers else ""
    if not name:
        matchers.append('job="a"')
    return f"{name}{{{','.join(matchers)}}}" if matchers or named else name


@st.composite
def _timed(draw: st.DrawFn, found: str) -> str:
    ats = ["", " @ start()", " @ end()", " @ 1700000000", " @ 12.125"]
    offsets = ["", "", " offset 5m", " offset -1h"]
    return found + draw(st.sampled_from(ats)) + draw(st.sampled_from(offsets))


@st.composite
def _instant(draw: st.DrawFn) -> str:
    return draw(_timed(draw(_selector())))


@st.composite
def _range(draw: st.DrawFn) -> str:
    return draw(_timed(f"{draw(_selector())}[{draw(_DURATIONS)}]"))


def _larger(smaller: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    @st.composite
    def aggregate(draw: st.DrawFn) -> str:
        word = draw(st.sampled_from(["sum", "avg", "max", "count", "topk", "quantile", "count_values"]))
        parameter = {"topk": "3, ", "quantile": "0.9, ", "count_values": f"{draw(_STRINGS)}, "}.get(word, "")
        if word == "topk" and draw(st.booleans()):
            parameter = f"scalar({draw(smaller)}), "
        grouping = draw(st.sampled_from(["", " by (pod)", " without ()", " by (namespace, pod)"]))
        return f"{word}{grouping}({parameter}{draw(smaller)})"

    @st.composite
    def binary(draw: st.DrawFn) -> str:
        modifiers = [
            "+",
            "* on (pod) group_left (x)",
            "/ ignoring (x)",
            "and on ()",
            "or",
            "unless",
            "== bool",
            "^",
            "%",
        ]
        return f"{draw(smaller)} {draw(st.sampled_from(modifiers))} {draw(smaller)}"

    @st.composite
    def call(draw: st.DrawFn) -> str:
        function = draw(st.sampled_from(["absent", "abs", "ceil", "sort", "timestamp", "label_replace", "vector"]))
        inner = draw(smaller)
        if function == "label_replace":
            return f'label_replace({inner}, "namespace", {draw(_STRINGS)}, "pod", "(.*)")'
        return f"vector(scalar({inner}))" if function == "vector" else f"{function}({inner})"

    @st.composite
    def over_time(draw: st.DrawFn) -> str:
        function = draw(st.sampled_from(["rate", "max_over_time", "absent_over_time", "count_over_time"]))
        if draw(st.booleans()):
            return f"{function}({draw(_range())})"
        step = draw(st.sampled_from(["", "30s"]))
        return f"{function}({draw(_timed(f'({draw(smaller)})[{draw(_DURATIONS)}:{step}]'))})"

    return st.one_of(
        aggregate(),
        binary(),
        call(),
        over_time(),
        smaller.map(lambda one: f"-{one}"),
        smaller.map(lambda one: f"({one})"),
    )


def queries() -> st.SearchStrategy[str]:
    """Instant vectors, nested a few levels."""
    return st.recursive(_instant(), _larger, max_leaves=5)
