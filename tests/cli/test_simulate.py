"""`hpa-controller simulate` as people and scripts use it."""

import html
import io
import json
import re
from pathlib import Path

import pytest

from tests.cli.said import Said

HPA = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 20
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]
"""
QUEUE = "{type: External, external: {metric: {name: queue}, target: {type: AverageValue, averageValue: 30}}}"
BACKLOG = "{type: External, external: {metric: {name: backlog}, target: {type: Value, value: 30}}}"
JUMP = "--load=4@0s,4@5m,12@5m,12@20m,3@20m"


@pytest.fixture
def web(tmp_path: Path) -> Path:
    """A manifest with one HPA."""
    path = tmp_path / "web.yaml"
    path.write_text(HPA)
    return path


def test_a_timeline_tells_of_every_change_and_what_it_comes_to(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "simulate", "-f", web, JUMP)
    assert (said.code, said.errors) == (0, "")
    assert said.lines[0] == (
        "default/web: 35m0s under a load of 4@0s,4@5m,12@5m,12@20m,3@20m replicas' worth, a sync every 15s; "
        "pods are ready after 30s, metrics are measured every 15s"
    )
    wants = "metrics want {} (cpu resource utilization (percentage of request))".format
    assert said.lines[1:-2] == [
        "     TIME    LOAD  READY  OF TARGET  REPLICAS      WHY",
        f"       0s     4.0      4       100%  4             {wants(4)}",
        "           … 20 syncs without a change",
        f"    5m15s    12.0      4       300%  4 → 8         {wants(12)}; ScaleUpLimit at 8",
        f"    5m30s    12.0      4       300%  8 → 12        {wants(12)}",
        "           … 58 syncs without a change",
        f"   20m15s     3.0     12        25%  12            {wants(3)}; ScaleDownStabilized at 12",
        "           … 19 syncs without a change",
        f"   25m15s     3.0     12        25%  12 → 3        {wants(3)}",
        "           … 38 syncs without a change",
    ]
    assert said.lines[-2] == (
        "3 to 12 replicas, 8.3 on average, 4.8 pod-hours; scaled up 2 times and down 1 time, with 1 reversal"
    )
    assert said.lines[-1] == (
        "too few pods were ready for 1m0s of 35m0s; at worst a ready pod had 300% of its target; "
        "0.0% of the load was more than they could carry"
    )


def test_variants_have_pods_of_their_own(web: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(HPA.replace("maxReplicas: 20", "maxReplicas: 6"))
    said = Said(
        capsys,
        "simulate",
        "-f",
        web,
        JUMP,
        "--variant",
        "downscaleStabilization=1m",
        "--variant",
        f"tolerance=0.2, hpa={other}",
    )
    assert (said.code, said.errors) == (0, "")
    assert said.lines[1:] == [
        "  A: as given",
        "  B: downscaleStabilization=1m",
        f"  C: tolerance=0.2, hpa={other}",
        "     TIME    LOAD  A          B          C",
        "           … 21 syncs without a change",
        "    5m15s    12.0  4 → 8      4 → 8      4 → 6",
        "    5m30s    12.0  8 → 12     8 → 12     6",
        "           … 62 syncs without a change",
        "   21m15s     3.0  12         12 → 3     6",
        "           … 15 syncs without a change",
        "   25m15s     3.0  12 → 3     3          6 → 3",
        "           … 38 syncs without a change",
        "    REPLICAS  MEAN  POD-HOURS  UP  DOWN  REVERSALS  TOO FEW FOR  WORST  LOST",
        "A:   3 to 12   8.3        4.8   2     1          1         1m0s   300%  0.0%",
        "B:   3 to 12   7.2        4.2   2     1          1         1m0s   300%  0.0%",
        "C:    3 to 6   4.9        2.8   1     1          1        15m0s   300%  0.0%",
    ]


def test_a_variant_has_what_is_set_and_its_label_names_all_of_it(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*flags: str) -> dict[str, list[str]]:
        said = Said(capsys, "simulate", "-f", web, "--load=2~10/20m", "-o=json", *flags)
        assert (said.code, said.errors) == (0, "")
        lines = [json.loads(line) for line in said.lines]
        named: dict[str, list[str]] = {line["variant"]: [] for line in lines}
        for line in lines:
            named[line.pop("variant")].append(json.dumps(line))
        return named

    minute, narrow = "downscaleStabilization=1m", "tolerance=0.05"
    beside = told(
        f"--set={narrow}", f"--variant={minute}", "--variant=tolerance=0.3", f"--variant=tolerance=0.3,{minute}"
    )
    assert [*beside] == [narrow, f"{narrow}, {minute}", "tolerance=0.3", f"tolerance=0.3, {minute}"]
    alone = told(f"--variant={minute},{narrow}", f"--variant={minute}", "--variant=tolerance=0.3")
    assert beside[f"{narrow}, {minute}"] == alone[f"{minute}, {narrow}"] != alone[minute]
    assert beside["tolerance=0.3"] == alone["tolerance=0.3"]
    assert [*told("--set=tolerance=0.1", f"--set={narrow}", f"--variant={minute}")] == [narrow, f"{narrow}, {minute}"]


def test_json_has_every_sync_and_a_summary(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "simulate", "-f", web, "--load", "8", "--replicas", "4", "--duration", "1m", "-o", "json")
    *syncs, last = map(json.loads, said.lines)
    assert [(sync["t"], sync["load"], sync["ready"], sync["replicas"], sync["desired"]) for sync in syncs] == [
        (0, 8, 4, 4, 8),
        (15, 8, 4, 8, 8),
        (30, 8, 8, 8, 8),
        (45, 8, 8, 8, 8),
    ]
    assert syncs[0]["outcome"]["scaledTo"] == 8
    assert syncs[0]["outcome"]["status"]["desiredReplicas"] == 8
    assert {line["simulation"] for line in (*syncs, last)} == {"default/web"}
    assert last["summary"]["replicasMost"] == 8
    assert last["summary"]["shortS"] == 30
    assert "variant" not in last
    several = Said(capsys, "simulate", "-f", web, "--duration", "15s", "-o", "json", "--variant", "tolerance=0.3")
    assert [json.loads(line)["variant"] for line in several.lines] == ["as given", "tolerance=0.3"] * 2


def test_without_a_load_a_wave_takes_it_through_its_replicas(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "simulate", "-f", web)
    assert said.code == 0
    assert "1h0m0s under a load of 2~18/30m replicas' worth" in said.lines[0]
    assert said.lines[-2].startswith("2 to 17 replicas")


def test_a_load_as_it_was_comes_from_a_file(web: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = tmp_path / "history.csv"
    history.write_text("time,load\n0,4\n300,4\n300,12\n")
    said = Said(capsys, "simulate", "-f", web, "--load", f"@{history}", "--duration", "6m")
    assert said.code == 0
    assert f"under a load of @{history} replicas' worth" in said.lines[0]
    assert [line.split()[4:7] for line in said.lines if "→" in line] == [["4", "→", "8"], ["8", "→", "12"]]
    history.write_text("0,4\n1\n")
    assert (
        f"--load @{history}: line 2: a time (seconds, or RFC 3339) and"
        in Said(capsys, "simulate", "-f", web, "--load", f"@{history}").errors
    )
    missing = Said(capsys, "simulate", "-f", web, "--load", f"cpu=@{tmp_path}/none")
    assert (missing.code, missing.errors) == (
        2,
        f"hpa-controller: --load cpu=@{tmp_path}/none: no such file or directory\n",
    )


def test_one_of_several_is_chosen_and_stdin_is_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    both = HPA.replace("{name: web}", "{name: web, namespace: shop}", 1) + "---" + HPA.replace("name: web", "name: api")

    def asked(*arguments: str) -> Said:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(both.encode())))
        return Said(capsys, "simulate", "-f", "-", "--duration", "15s", *arguments)

    assert asked("--name", "shop/web").lines[0].startswith("shop/web: 15s")
    once = "standard input can be read once only; one of the manifests has to be a file"
    assert once in asked("--variant", "hpa=-").errors
    assert asked("--name", "default/api").lines[0].startswith("default/api: 15s")
    assert asked().errors == (
        "hpa-controller: there are several HorizontalPodAutoscalers; choose one with --name: api, shop/web\n"
    )
    assert (
        "--name: no HorizontalPodAutoscaler in it is shop/wep, only api, shop/web" in asked("--name", "shop/wep").errors
    )


def test_beside_what_cannot_be_read_the_one_that_can_is_meant(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web.write_text(f"{HPA}---\nkind: [\n")
    for name in ((), ("--name=web",)):
        said = Said(capsys, "simulate", "-f", web, "--duration=15s", *name)
        assert (said.code, said.errors, said.lines[0][:17]) == (0, "", "default/web: 15s ")
    for text in ("kind: [\n---\na: {\n", "a: 1\n---\nkind: [\n"):
        web.write_text(text)
        said = Said(capsys, "simulate", "-f", web)
        assert (said.code, said.output) == (2, "")
        assert said.errors.startswith(f"hpa-controller: {web}:1: ")


def test_flags_reach_the_load_the_pods_and_the_metrics(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web.write_text(HPA.replace("name: cpu", "name: memory"))

    def lines(*flags: str) -> list[str]:
        jump = ("--load=4@0s,4@20s,8@20s", "--duration=3m")
        return Said(capsys, "simulate", "-f", web, "-o", "json", *jump, *flags).lines

    plain = json.loads(lines()[-1])["summary"]
    assert lines("--noise=0.4") == lines("--noise=0.4") != lines("--noise=0.4", "--seed=2")
    assert lines("--noise=0.4") != lines()
    assert json.loads(lines("--start-up-usage=5")[-1])["summary"]["replicasMost"] > plain["replicasMost"]
    assert json.loads(lines("--capacity=1.5")[-1])["summary"]["lost"] > plain["lost"] == 0
    assert json.loads(lines("--start-up=2m")[-1])["summary"]["shortS"] > plain["shortS"]
    assert [json.loads(line)["t"] for line in lines("--metric-resolution=1m") if '"scaledTo":8' in line] == [60]
    assert len(lines("--horizontal-pod-autoscaler-sync-period=1m")) == 4


@pytest.mark.parametrize(("load", "replicas"), [("100", 20), ("0", 2), ("7.2", 8)])
def test_pods_at_first_are_those_that_the_load_needs(
    web: Path, load: str, replicas: int, capsys: pytest.CaptureFixture[str]
) -> None:
    said = Said(capsys, "simulate", "-f", web, "--load", load, "--duration", "15s", "-o", "json")
    assert json.loads(said.lines[0])["replicas"] == replicas


def test_what_may_scale_to_zero_is_paused_only_where_zero_is_asked_for(
    web: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    web.write_text(HPA.replace("minReplicas: 2", "minReplicas: 0").replace("metrics: [", f"metrics: [{QUEUE}]\n#"))
    idle = ("simulate", "-f", web, "--set=HPAScaleToZero=true", "--load=0@0s,0@10m,5@10m")
    said = Said(capsys, *idle)
    changes = [line.split()[4:7] for line in said.lines if "→" in line]
    assert changes == [["1", "→", "0"], ["0", "→", "4"], ["4", "→", "5"]]
    assert "zero replicas, taken for a pause" not in said.output
    paused = Said(capsys, *idle, "--replicas=0")
    assert "zero replicas, taken for a pause" in paused.lines[2]
    assert "→" not in paused.output


def test_the_metric_that_is_furthest_from_its_target_is_shown(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory = "{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 50}}}"
    web.write_text(HPA.replace("metrics: [", f"metrics: [{memory}, "))
    said = Said(capsys, "simulate", "-f", web, "--load", "4", "--load", "memory=8", "--replicas", "4")
    assert said.lines[2].split()[:5] == ["0s", "8.0", "4", "200%", "4"]


def test_the_same_metric_has_the_same_noise_beside_others(
    web: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = "{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 50}}}"
    both = tmp_path / "both.yaml"
    both.write_text(HPA.replace("metrics: [", f"metrics: [{memory}, "))
    said = Said(
        capsys,
        "simulate",
        "-f",
        web,
        "--load=8",
        "--noise=0.1",
        "--duration=15s",
        "-o=json",
        "--variant",
        f"hpa={both}",
    )
    first, second = (json.loads(line)["outcome"]["status"]["currentMetrics"] for line in said.lines[:2])
    assert first[0] == second[1]


def test_names_are_shown_as_they_can_be(web: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = tmp_path / "<b>\x1b[31m\udcff.yaml"
    odd.write_text(HPA)
    page = tmp_path / "page.html"
    said = Said(capsys, "simulate", "-f", web, "--duration=15s", "--report", page, "--variant", f"hpa={odd}")
    assert (said.code, said.errors) == (0, "")
    assert "\x1b" not in said.output
    assert "&lt;b&gt;" in page.read_text()
    assert "<b>" not in page.read_text().split("</script>")[-2]


def test_where_no_pod_is_ready_the_worst_says_so(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "simulate", "-f", web, "--replicas=0", "--duration=1m", "--variant", "tolerance=0.2")
    assert [line.split()[-3:-1] for line in said.lines[-2:]] == [["none", "ready"]] * 2
    assert "at worst none was ready" in Said(capsys, "simulate", "-f", web, "--replicas=0", "--duration=1m").lines[-1]


def lines_of(page: str) -> dict[str, dict[float, float | None]]:
    """What is drawn: by the name of a line, its value at each time."""
    [charts] = re.findall(r"^const charts = (.+);$", page, re.MULTILINE)
    return {
        line["name"]: dict(zip(line["x"], line["y"], strict=True)) for line in json.loads(charts)["simulation"]["data"]
    }


@pytest.mark.parametrize(
    ("metrics", "shown", "drawn"),
    [((QUEUE, BACKLOG), "100%", (0, 1)), ((BACKLOG, QUEUE), "100%", (0, 1)), ((QUEUE,), "?", (None, None))],
    ids=["none first", "none last", "none at all"],
)
def test_of_no_replicas_the_metric_that_has_a_ratio_is_shown(
    web: Path,
    tmp_path: Path,
    metrics: tuple[str, ...],
    shown: str,
    drawn: tuple[float | None, float | None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An average of none is NaN without a load and infinite under one."""
    idle = HPA.replace("minReplicas: 2", "minReplicas: 0")
    web.write_text(idle.replace("metrics: [", f"metrics: [{', '.join(metrics)}]\n#"))
    page = tmp_path / "page.html"
    load = ("--set=HPAScaleToZero=true", "--load=1@0s,1@1m,0@1m,0@10m,1@10m")
    said = Said(capsys, "simulate", "-f", web, *load, "--report", page)
    [of_target] = [line.split()[3] for line in said.lines if "  0 → 1  " in line]
    found = lines_of(page.read_text())["A: usage / target"]
    assert (of_target, (found[585], found[600])) == (shown, drawn)


def test_a_report_needs_no_network(web: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.html"
    said = Said(capsys, "simulate", "-f", web, JUMP, "--report", path, "--variant", "tolerance=0.2")
    assert (said.code, said.errors) == (0, "")
    page = path.read_text()
    assert "<title>Simulation of default/web</title>" in page
    assert f"<p>{html.escape(said.lines[0])}</p>" in page
    assert "<td>as given</td>" in page
    drawn = lines_of(page)
    assert drawn["load, in replicas' worth"][315] == 12
    assert (drawn["B: replicas"][315], drawn["B: ready"][330], drawn["B: usage / target"][315]) == (8, 4, 3)
    assert "default-src 'none'" in page
    for name, error in (
        (tmp_path, "is a folder"),
        (tmp_path / "none" / "x", "no such folder"),
        ("", "it is empty"),
        ("-", "name a file"),
    ):
        refused = Said(capsys, "simulate", "-f", web, "--report", name)
        assert (refused.code, refused.output) == (2, "")
        assert error in refused.errors
    twice = Said(capsys, "simulate", "-f", "/nowhere", "-f", web)
    assert (twice.code, twice.output) == (2, "")
    assert "-f/--filename: takes one value, and was given twice" in twice.errors
    full = Said(capsys, "simulate", "-f", web, "--report", "/dev/full")
    assert (full.code, full.errors) == (2, "hpa-controller: --report: /dev/full: no space left on device\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--load", "rps=3"], "--load rps=3: the HPA has no metric rps, only cpu"),
        (["--load", "3@5m,2@1m"], "--load 3@5m,2@1m: its points must be in the order of their times"),
        (["--load", "cpu=x"], "--load cpu=x: 'x' is no load from 0 to 10000"),
        (["--load", "1", "--load", "2"], "--load 2: the load of all metrics is given twice"),
        (["--load", "cpu=1", "--load", "cpu=2"], "--load cpu=2: the load of cpu is given twice"),
        (
            ["--duration", "100000h"],
            "100000h0m0s is too long to be simulated; with these periods 277h46m40s is the most",
        ),
        (["--variant", "foo=1"], "'foo=1' is not NAME=VALUE with one of tolerance,"),
        (["--variant", "hpa="], "'hpa=': name one manifest, as in hpa=FILE"),
        (["--set", "tolerance=x"], "'tolerance=x': 'x' is not a finite number"),
        (["--name", "a/b"], "--name: no HorizontalPodAutoscaler in it is a/b, only web"),
        (["--noise", "1"], "argument --noise: '1' is not a share from 0 to below 1, such as 0.05"),
        (["--capacity", "0"], "argument --capacity: '0' is not above 0"),
        (["--start-up-usage", "1e308"], "argument --start-up-usage: '1e308' is more than 10,000"),
        (
            ["--metric-resolution", "1ms", "--duration", "20m"],
            "20m0s is too long to be simulated; with these periods 16m40s",
        ),
        (["--load", "=3"], "--load =3: name a metric before the =, or leave it away"),
        (["--load", "4", "--load", "cpu=2"], "--load 4: the HPA has no other metric than cpu"),
        (["--load", "@/dev/zero"], "--load @/dev/zero: it is larger than 16 MiB"),
        (["--variant=tolerance=0.2", "--variant=tolerance=0.2"], "--variant tolerance=0.2: it is given twice"),
        (["--set=tolerance=0.2", "--variant=tolerance=0.2"], "--variant tolerance=0.2: it is given twice"),
        (["--replicas", "10001"], "argument --replicas: '10001' is more than 10,000"),
        (
            [f"--variant=tolerance=0.{number}" for number in range(1, 27)],
            "27 ways are too many; 26 can be held against each other",
        ),
    ],
)
def test_what_cannot_be_simulated_says_why(
    web: Path, arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = Said(capsys, "simulate", "-f", web, *arguments)
    assert (said.code, said.output) == (2, "")
    assert error in said.errors


def test_what_no_server_takes_is_not_simulated(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(manifest: str) -> str:
        web.write_text(manifest)
        said = Said(capsys, "simulate", "-f", web)
        assert (said.code, said.output) == (2, "")
        return said.errors

    assert "web.yaml:8: spec.maxReplicas: " in refused(HPA.replace("maxReplicas: 20", "maxReplicas: 1"))
    assert "20000 is more than the 10,000 that are simulated" in refused(HPA.replace(": 20", ": 20000"))
    assert "web.yaml: it holds no HorizontalPodAutoscaler" in refused("apiVersion: v1\nkind: ConfigMap\n")
    idle = HPA.replace("minReplicas: 2", "minReplicas: 0").replace("metrics: [", f"metrics: [{QUEUE}, ")
    assert "HPAScaleToZero is on, in the API server too; gates are given with --set" in refused(idle)
    assert Said(capsys, "simulate", "-f", web, "--set", "HPAScaleToZero=true", "--duration", "15s").code == 0


def test_what_a_manifest_holds_does_not_steer_a_terminal(web: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web.write_text(HPA.replace("maxReplicas: 20", r'maxReplicas: "\e[2J\e]0;owned\a"'))
    said = Said(capsys, "simulate", "-f", web)
    assert (said.code, said.output) == (2, "")
    assert r'found the text "\x1b[2J\x1b]0;owned\x07"' in said.errors
    assert said.errors.removesuffix("\n").isprintable()


def test_a_file_is_named_as_it_is_given(
    web: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(web.parent)
    empty = Said(capsys, "simulate", "-f", "")
    assert (empty.code, empty.output) == (2, "")
    assert "argument -f/--filename: it is empty; name a file" in empty.errors
    url = Said(capsys, "simulate", "-f", "https://127.0.0.1:1/x.yaml")
    assert url.code == 2
    assert url.errors.startswith("hpa-controller: https://127.0.0.1:1/x.yaml: URLs are not read; ")
    once = "standard input can be read once only; one of the manifests has to be a file"
    assert once in Said(capsys, "simulate", "-f", web, "--variant=hpa=-", "--variant=tolerance=0.2, hpa=-").errors
    web.rename("-")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    assert Said(capsys, "simulate", "-f", "./-", "--duration=15s", "--variant=hpa=./-").code == 0
