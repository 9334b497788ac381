"""`replay --report`: one page that holds everything it needs, whatever names and texts it is given."""

import html.parser
import json
import re
from pathlib import Path
from typing import Any

import pytest

from controller.cli.main import main
from controller.decide.observed import ReadFailure
from controller.recording.course import grouped
from controller.recording.report import CHARTS_MAX, ROWS_MAX, Report
from controller.recording.variants import AS_RECORDED, Variant
from tests.builders import (
    container,
    container_metric,
    cpu,
    external_metric,
    hpa,
    label_selector,
    object_metric,
    observation,
    pods,
    pods_metric,
    requests,
    samples,
    scale,
    series,
    usage,
    value,
)
from tests.manifest.manifests import v2
from tests.recording.lived import CPU, header, rising_and_falling, ticks

NASTY = "we</script><script>alert(1)//b"
_LOADS = ("src", "href", "srcset", "data", "action", "poster", "background", "xlink:href")


class Page(html.parser.HTMLParser):
    """Tags with their attributes, and the texts of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data


def report(folder: Path, *flags: str, name: str = "web") -> Page:
    asked = hpa(cpu(50), name=name, settings=CPU.settings)
    recording, page = folder / "live.jsonl", folder / "report.html"
    recording.write_bytes(b"".join((header(asked), *rising_and_falling(asked))))
    assert main(["replay", str(recording), "--report", str(page), *flags]) == 0
    return Page(page.read_text(encoding="utf-8"))


def drawings(page: Page) -> list[list[dict[str, Any]]]:
    """The lines of every chart."""
    found = re.search(r"^const charts = (.*);$", page.scripts[-1], re.MULTILINE)
    assert found is not None
    return [chart["data"] for chart in json.loads(found[1]).values()]


def charts(page: Page) -> list[dict[str, list[int | None]]]:
    """The values of every chart's lines by name."""
    return [{line["name"]: line["y"] for line in lines} for lines in drawings(page)]


def test_it_shows_what_was_desired_under_every_variant(tmp_path: Path) -> None:
    page = report(tmp_path, "--set=downscaleStabilization=0s", "--variant=tolerance=0.5")
    [lines] = charts(page)
    assert lines["replicas there"] == [2, 2, 2, 4, 4, 4, 4, 2]
    assert lines["desired, as recorded"] == [2, 3, 4, 4, 4, 4, 4, 2]
    assert lines["desired, downscaleStabilization=0s"] == [2, 3, 4, 4, 2, 1, 1, 1]
    assert lines["desired, tolerance=0.5"][1] == 2
    assert len(lines["cpu resource utilization (percentage of request)"]) == 8
    assert "Recorded replicas, pods and load do not react to changed decisions" in page.text
    assert "differs in 4 of 8 syncs, first at 61 s; by -3 to -1 replicas" in page.text


def test_without_variants_it_is_a_timeline(tmp_path: Path) -> None:
    page = report(tmp_path)
    [lines] = charts(page)
    assert "desired, as recorded" in lines
    assert "Recorded replicas" not in page.text


def test_it_needs_nothing_from_anywhere(tmp_path: Path) -> None:
    page = report(tmp_path, "--set=tolerance=0.5")
    assert [(tag, found) for tag, found in page.tags for name in _LOADS if name in found] == []
    assert "link" not in {tag for tag, _ in page.tags}
    [policy] = [found["content"] for _, found in page.tags if found.get("http-equiv") == "Content-Security-Policy"]
    # Whatever the drawing library may think of loading, the browser will not.
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert not re.search("https?:|\\*", policy)
    plotly, ours = page.scripts
    assert len(plotly) > 1_000_000
    assert "http" not in ours


def test_names_cannot_become_parts_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = report(tmp_path, "--set=tolerance=0.5", name=NASTY)
    capsys.readouterr()
    assert len(page.scripts) == 2
    assert f"default/{NASTY}" in page.text
    assert "alert" not in page.scripts[0][:100] + page.scripts[1]


def test_neither_errors_nor_names_of_files_become_parts_of_the_page(tmp_path: Path) -> None:
    asked = hpa(cpu(50), external_metric(average_milli=1000))
    recording, page, manifest = tmp_path / "live.jsonl", tmp_path / "report.html", tmp_path / "<u>web.json"
    failing = observation(scale(2), usage(900, 900), ReadFailure("<s>it is down"))
    recording.write_bytes(b"".join((header(asked), *ticks(asked, [failing]))))
    manifest.write_text(json.dumps(v2({"metadata": {"name": "web", "namespace": "default"}, "spec.maxReplicas": 9})))
    flags = ("--set=tolerance=5", f"--variant=hpa={manifest}", "--name=default/web")
    assert main(["replay", str(recording), "--report", str(page), *flags]) == 0
    found = Page(page.read_text(encoding="utf-8"))
    assert "<s>it is down" in found.text
    assert found.text.count("<u>web.json") >= 2, "in the heading of its column, too"
    assert not {"s", "u"} & {tag for tag, _ in found.tags}


def test_each_chart_names_its_recording(tmp_path: Path) -> None:
    of_runs = {"c0ffee00": "web", "deadbeef": "api"}
    for run, name in of_runs.items():
        asked = hpa(cpu(50), name=name, settings=CPU.settings)
        (tmp_path / f"{run}.jsonl").write_bytes(b"".join((header(asked, run=run), *rising_and_falling(asked))))
    page = tmp_path / "report.html"
    assert main(["replay", str(tmp_path), "--report", str(page)]) == 0
    text = Page(page.read_text(encoding="utf-8")).text
    assert re.findall(r"default/(\w+)recording (\w+), 8 syncs", text) == [("web", "c0ffee00"), ("api", "deadbeef")]


def test_lines_of_one_kind_have_colours_of_their_own(tmp_path: Path) -> None:
    both = hpa(cpu(50), external_metric(average_milli=1000))
    recording = tmp_path / "live.jsonl"
    lines = ticks(both, [observation(scale(2), usage(500, 500), series(2000))])
    recording.write_bytes(b"".join((header(both), *lines)))
    page = Page(drawn_with(recording, *(Variant(f"tolerance={ratio}", (f"tolerance={ratio}",)) for ratio in (5, 6))))
    [drawn] = drawings(page)
    assert len(drawn) == len({line["line"]["color"] for line in drawn}) == 6


def test_loads_stand_at_the_times_at_which_they_were_known(tmp_path: Path) -> None:
    recording, page = tmp_path / "live.jsonl", tmp_path / "report.html"
    down, known = ReadFailure("it is down"), usage(400, 400)
    seen = [observation(scale(2), reading) for reading in (down, known, down, known, down)]
    recording.write_bytes(b"".join((header(CPU), *ticks(CPU, seen))))
    assert main(["replay", str(recording), "--report", str(page)]) == 0
    [lines] = charts(Page(page.read_text(encoding="utf-8")))
    assert lines["cpu resource utilization (percentage of request)"] == [None, 0.8, None, 0.8, None]


def test_what_is_missing_of_the_recording_is_said_on_the_page(tmp_path: Path) -> None:
    recording, page = tmp_path / "cut.jsonl", tmp_path / "report.html"
    recording.write_bytes(b"".join((header(CPU), *rising_and_falling()))[:-100])
    assert main(["replay", str(recording), "--report", str(page)]) == 0
    assert "partial: the 7 syncs before are used" in Page(page.read_text(encoding="utf-8")).text


def test_two_recordings_of_one_hpa_are_two_charts(tmp_path: Path) -> None:
    """Streamed from one controller both are of the same run."""
    paths = [tmp_path / "first.jsonl", tmp_path / "second.jsonl"]
    for path in paths:
        path.write_bytes(b"".join((header(CPU, only="default/web"), *rising_and_falling())))
    page = tmp_path / "report.html"
    assert main(["replay", *map(str, paths), "--report", str(page)]) == 0
    found = Page(page.read_text(encoding="utf-8"))
    assert len(charts(found)) == 2
    assert found.text.count("8 syncs") == 2


def test_what_is_not_drawn_is_told_on_the_page_and_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    syncs = b"".join(rising_and_falling(CPU))
    for number in range(CHARTS_MAX + 2):
        (tmp_path / f"live-{number}.jsonl").write_bytes(header(CPU, run=f"{number:08x}") + syncs)
    page = tmp_path / "report.html"
    assert main(["replay", str(tmp_path), "--report", str(page)]) == 0
    told = "partial: 2 more HPAs are not drawn; choose one with --name"
    assert capsys.readouterr().err == f"hpa-controller: --report: {page}: {told}\n"
    drawn = Page(page.read_text(encoding="utf-8"))
    assert told in drawn.text
    assert len(charts(drawn)) == CHARTS_MAX


def test_metrics_that_are_reported_as_the_same_have_lines_of_their_own(tmp_path: Path) -> None:
    asked = hpa(
        container_metric("app", 50),
        container_metric("proxy", 50),
        object_metric(value_milli=1000, described=("Service", "front")),
        object_metric(value_milli=1000, described=("Service", "back")),
        pods_metric(1000, selector=label_selector({"queue": "a"})),
        pods_metric(1000, selector=label_selector({"queue": "b"})),
        external_metric(average_milli=1000, selector=label_selector({"queue": "a"})),
    )
    used = usage(300, 300, containers=("app", "proxy"))
    listed = pods(2, requests=requests(container(), container("proxy")))
    seen = observation(
        scale(2), used, used, value(900), value(1100), samples(900, 900), samples(1100, 1100), series(900), pods=listed
    )
    recording, page = tmp_path / "live.jsonl", tmp_path / "report.html"
    recording.write_bytes(b"".join((header(asked), *ticks(asked, [seen]))))
    assert main(["replay", str(recording), "--report", str(page)]) == 0
    [lines] = charts(Page(page.read_text(encoding="utf-8")))
    loads = [name for name in lines if name not in ("replicas there", "desired, as recorded")]
    assert len(loads) == 7
    assert "cpu container resource utilization (percentage of request) of container proxy" in loads
    assert "Service metric hits of back" in loads
    assert [name.count("queue") for name in loads] == [0, 0, 0, 0, 1, 1, 1], "nothing is told twice"


def drawn_with(recording: Path, *ways: Variant) -> str:
    """The page of a recording under these variants."""
    [opening] = grouped([recording])
    drawn = Report(ways)
    drawn.begin("live")
    for frame in opening().frames((AS_RECORDED, *ways)):
        drawn.take(frame)
    return drawn.page("all")


def by_external(name: str) -> Variant:
    """A variant whose only metric is an external one."""
    target = {"type": "AverageValue", "averageValue": "1"}
    metric = {"type": "External", "external": {"metric": {"name": name}, "target": target}}
    return Variant(name, spec=v2({"spec.metrics": [metric]})["spec"])


def test_a_table_has_the_syncs_in_which_a_variant_differs_and_why(tmp_path: Path) -> None:
    both = hpa(cpu(50), external_metric(average_milli=1000), settings=CPU.settings)
    seen = [
        observation(scale(2), usage(500, 500), series(2000)),
        observation(scale(2), usage(800, 800), series(2000)),
        observation(scale(2), ReadFailure("it is down"), series(0)),
    ]
    recording = tmp_path / "live.jsonl"
    recording.write_bytes(b"".join((header(both), *ticks(both, seen))))
    alike = Variant("alike", ("tolerance=0.1",))
    page = drawn_with(recording, Variant("wide", ("tolerance=5",)), alike, by_external("backlog"))
    rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(<td.*?)</tr>", page)]
    cells, whys = [row[:-1] for row in rows], [row[-1].split("<br>") for row in rows]
    assert cells == [["15.2 s", "2", "4", "2 (-2)", "4", "2 (-2)"], ["30.5 s", "2", "?", "2", "?", "2"]]
    wanted = [[reason.partition(" (")[0] for reason in reasons] for reasons in whys]
    assert wanted == [["metrics want 2", "metrics want 2"], ["metrics want 2", "metrics want 0"]], (
        "of those that differ"
    )
    assert "was not recorded" not in page
    assert "wide</b>: differs in 2 of 3 syncs" in page
    assert "where they differ" not in drawn_with(recording, alike)
    unasked = drawn_with(recording, by_external("other"))
    assert "partial: in 3 of them it asks for a metric that was not recorded" in unasked


def test_that_differences_are_left_out_is_said_only_where_some_are(tmp_path: Path) -> None:
    recording = tmp_path / "live.jsonl"
    recording.write_bytes(b"".join((header(CPU), *ticks(CPU, [observation(scale(2), usage(900, 900))] * ROWS_MAX))))
    ways = tuple(Variant(f"tolerance={tolerance}", (f"tolerance={tolerance}",)) for tolerance in (5, 6))
    [opening] = grouped([recording])
    course, drawn = opening(), Report(ways)
    drawn.begin(course.name)
    for frame in course.frames((AS_RECORDED, *ways)):
        drawn.take(frame)
    assert "are listed" not in Page(drawn.page("all")).text
    for frame in opening().frames((AS_RECORDED, *ways)):
        drawn.take(frame)
    assert f"only the first {ROWS_MAX} differing syncs are listed" in Page(drawn.page("more")).text


def test_of_a_very_long_recording_the_end_is_not_drawn(tmp_path: Path) -> None:
    recording = tmp_path / "live.jsonl"
    recording.write_bytes(b"".join((header(CPU), *rising_and_falling(CPU))))
    [opening] = grouped([recording])
    course, drawn = opening(), Report((), syncs_max=5)
    drawn.begin(course.name)
    for frame in course.frames((AS_RECORDED,)):
        drawn.take(frame)
    assert drawn.partial() == ["partial: the last 3 syncs of default/web are not drawn"]
    [lines] = charts(Page(drawn.page("long")))
    assert lines["replicas there"] == [2, 2, 2, 4, 4]
