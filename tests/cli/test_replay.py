"""`hpa-controller replay` as people and scripts use it."""

import io
import json
import re
import shutil
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from controller.decide.observed import ReadFailure
from controller.decide.spec import Gates
from tests.builders import cpu, hpa, observation, scale
from tests.cli.said import Said
from tests.recording.lived import CPU, header, rising_and_falling, ticks
from tests.recording.recorded import HEADER, encoded, paths, tick

LINES = rising_and_falling()
MANIFEST = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
"""


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """Eight syncs of one HPA."""
    path = tmp_path / "live.jsonl"
    path.write_bytes(b"".join((header(CPU, only="default/web"), *LINES)))
    return path


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """Two HPAs in one file."""
    api = rising_and_falling(hpa(cpu(50), name="api", settings=CPU.settings))
    mixed = [line for pair in zip(LINES, api, strict=True) for line in pair]
    path = tmp_path / "both.jsonl"
    path.write_bytes(b"".join((header(CPU), *mixed)))
    return path


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Version 1."""
    path = tmp_path / "written.jsonl"
    path.write_bytes(encoded(HEADER, tick(15), tick(30, wanted=4)))
    return path


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """Version 1 with outcomes: the real controller's."""
    [first, *_] = paths()
    return Path(shutil.copy(first, tmp_path))


def test_a_timeline_of_either_version(live: Path, written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "replay", live, written)
    assert (said.code, said.errors) == (0, "")
    assert said.lines[0] == "c0ffee00: default/web, hpa-controller test since 2026-01-31T12:00:00.000Z"
    assert said.lines[1] == "      0 s  2             metrics want 2 (cpu resource utilization (percentage of request))"
    assert said.lines[3].startswith("   30.5 s  2 → 4         metrics want 4 ")
    assert said.lines[9:11] == [
        "made: default/web",
        "     15 s  1 → 2         metrics want 2 (external metric backlog(nil))",
    ]


def test_an_hpa_is_in_the_default_namespace_unless_the_recording_says_another_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bare.jsonl"
    path.write_bytes(encoded(HEADER | {"hpa": HEADER["hpa"] | {"metadata": {"name": "web"}}}, tick(15)))
    assert Said(capsys, "replay", path, "--name=default/web").lines[0] == "made: default/web"


def test_a_timeline_of_several_names_them(both: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "replay", both)
    assert said.lines[1].startswith("      0 s  default/web              2             metrics")
    assert said.lines[2].startswith("      0 s  default/api              2             metrics")
    only = Said(capsys, "replay", both, "--name", "default/api")
    assert only.code == 0
    assert len(only.lines) == 9
    assert said.lines[0].startswith("c0ffee00: hpa-controller test since ")
    assert only.lines[0].startswith("c0ffee00: default/api, hpa-controller test since ")
    assert only.lines[1].startswith("      0 s  2             metrics")
    nobody = Said(capsys, "replay", both, "--name", "default/gone")
    assert nobody.code == 2
    assert nobody.errors == (
        "hpa-controller: --name: no sync of default/gone is in these recordings, only of default/api, default/web\n"
    )


def test_of_many_names_those_most_like_the_one_that_is_wanted_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"other-{number:02}" for number in range(40)] + [f"checkout-{number}" for number in range(10)]
    lines = [rising_and_falling(hpa(cpu(50), name=name, settings=CPU.settings))[0] for name in names]
    path = tmp_path / "many.jsonl"
    path.write_bytes(b"".join((header(CPU), *lines)))
    said = Said(capsys, "replay", path, "--name", "shop/checkout")
    assert said.code == 2
    assert said.errors.endswith(
        f", only of {', '.join(f'default/checkout-{number}' for number in range(10))} and 40 more\n"
    )


def test_variants_side_by_side(live: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(
        capsys,
        "replay",
        live,
        "--set",
        "downscaleStabilization=0s",
        "--variant",
        "tolerance=0.5,downscaleStabilization=1h",
    )
    assert (said.code, said.errors) == (0, "")
    text = said.output
    assert text.startswith("c0ffee00: default/web, hpa-controller test since ")
    assert "Recorded replicas, pods and load do not react to changed decisions" in text
    assert "  A: downscaleStabilization=0s\n  B: tolerance=0.5, downscaleStabilization=1h\n" in text
    assert re.search(r"^     TIME  REPLICAS  RECORDED  A +B *$", text, re.MULTILINE)
    # At first all agree; the load falls at the fifth sync.
    rows = [line.split() for line in said.lines if re.match(r" +[0-9.]+ s ", line)]
    assert rows[0] == ["15.2", "s", "2", "3", "3", "2", "(-1)"]
    assert ["61", "s", "4", "4", "2", "(-2)", "4"] in rows
    assert "… 1 sync alike" in text
    [first] = [line for line in said.lines if line.startswith("A: ")]
    assert first.startswith(
        "A: downscaleStabilization=0s: differs in 4 of 8 syncs, first at 61 s: 2 instead of 4 (metrics"
    )
    assert "by -3 to -1 replicas" in first


def test_a_variant_stands_by_itself_beside_what_is_set(live: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*flags: str) -> list[object]:
        lines = map(json.loads, Said(capsys, "replay", live, "-o=json", *flags).lines)
        return [line["outcome"] for line in lines if line.get("variant") in (None, "downscaleStabilization=0s")]

    alone = told("--variant=downscaleStabilization=0s")
    assert told("--set=tolerance=0.9", "--variant=downscaleStabilization=0s") == alone
    assert told("--variant=tolerance=0.9,downscaleStabilization=0s") != alone


def test_a_manifest_instead_of_the_recorded_hpa(live: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yaml").write_text(MANIFEST)
    said = Said(capsys, "replay", live, "--hpa", tmp_path / "mine.yaml")
    assert said.code == 0
    rows = [line for line in said.lines if re.match(r" +[0-9.]+ s ", line)]
    assert rows[0].split()[:6] == ["30.5", "s", "2", "4", "3", "(-1)"]
    assert rows[0].endswith("TooManyReplicas at 3")


def to_zero() -> str:
    """A manifest that only gates let be."""
    external = "{type: External, external: {metric: {name: queue}, target: {type: Value, value: 1}}}"
    spec = f"spec:\n  minReplicas: 0\n  metrics: [{external}]\n"
    return re.sub(r"  metrics: .*\n", "", MANIFEST).replace("spec:\n", spec, 1)


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize(
    ("flags", "switched"),
    [
        (("--hpa", "FILE"), None),
        (("--hpa", "FILE", "--set", "HPAScaleToZero=true"), True),
        (("--hpa", "FILE", "--set", "HPAScaleToZero=false"), False),
        (("--variant", "HPAScaleToZero=true,hpa=FILE"), True),
    ],
)
def test_a_manifest_is_held_against_the_gates_that_it_is_decided_under(
    tmp_path: Path,
    recorded: bool,  # noqa: FBT001 - a case
    flags: tuple[str, ...],
    switched: bool | None,  # noqa: FBT001 - a case
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, live = tmp_path / "mine.yaml", tmp_path / "live.jsonl"
    path.write_text(to_zero())
    autoscaler = replace(CPU, settings=replace(CPU.settings, gates=Gates(scale_to_zero=recorded)))
    live.write_bytes(b"".join((header(autoscaler, only="default/web"), *LINES)))
    said = Said(capsys, "replay", live, *(flag.replace("FILE", str(path)) for flag in flags))
    if recorded if switched is None else switched:
        assert (said.code, said.errors) == (0, "")
    else:
        assert said.code == 2
        assert said.errors.startswith(f"hpa-controller: {path}:6: spec.minReplicas: 0 is too small; write 1 or more; ")
        assert said.errors.endswith(
            "HPAScaleToZero is on, in the API server too; here the recorded gates count, or those of --set\n"
        )


def listing(*items: str) -> str:
    """As `kubectl get hpa -A -o yaml` has them."""
    indented = "".join("- " + item.strip().replace("\n", "\n  ") + "\n" for item in items)
    return f"apiVersion: v1\nkind: List\nitems:\n{indented}"


def of_name(name: str, manifest: str = MANIFEST) -> str:
    return manifest.replace("{name: web}\n", f"{{{name}}}\n", 1)


BROKEN = of_name("namespace: shop, name: api", MANIFEST.replace("maxReplicas", "maximum"))


@pytest.mark.parametrize("mine", ["namespace: default, name: web", "name: web"])
@pytest.mark.parametrize("flags", [(), ("--name=default/web",)])
def test_of_several_manifests_the_namesake_is_meant_and_others_are_not_looked_at(
    live: Path, tmp_path: Path, mine: str, flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    other = of_name("namespace: other, name: web", MANIFEST.replace("maxReplicas: 3", "maxReplicas: 9"))
    (tmp_path / "all.yaml").write_text(listing(BROKEN, other, of_name(mine)))
    said = Said(capsys, "replay", live, "--hpa", tmp_path / "all.yaml", *flags)
    assert (said.code, said.errors) == (0, "")
    (tmp_path / "mine.yaml").write_text(MANIFEST)
    alone = Said(capsys, "replay", live, "--hpa", tmp_path / "mine.yaml", *flags)
    assert said.lines[4:-1] == alone.lines[4:-1]


def test_every_recording_has_its_namesake(live: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    api = tmp_path / "api.jsonl"
    lines = rising_and_falling(hpa(cpu(50), name="api", settings=CPU.settings))
    api.write_bytes(b"".join((header(CPU, only="default/api"), *lines)))
    least = of_name("namespace: default, name: api", MANIFEST.replace("maxReplicas: 3", "maxReplicas: 1"))
    (tmp_path / "all.yaml").write_text(listing(BROKEN, least, of_name("namespace: default, name: web")))
    flags = ("--hpa", tmp_path / "all.yaml")
    said = Said(capsys, "replay", api, live, *flags)
    assert (said.code, said.errors) == (0, "")
    of_api, of_web = (line for line in said.lines if line.startswith("A: "))
    assert "first at 0 s: 1 instead of 2 (more replicas than the maximum)" in of_api
    assert "TooManyReplicas at 3" in of_web
    said = Said(capsys, "replay", "--check", tmp_path, *flags)
    assert (said.code, said.lines[-1], said.errors) == (1, "0 passed, 2 failed", "")


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (
            (BROKEN, of_name("namespace: shop, name: web")),
            "{path}: none of its HorizontalPodAutoscalers is default/web; it holds shop/api, shop/web",
        ),
        ((MANIFEST, MANIFEST), "{path}: it holds web 2 times, at {path}:4 and {path}:11; keep one"),
        ((MANIFEST.replace("maxReplicas: 3", "maxReplicas: 0"), BROKEN), "{path}:9: spec.maxReplicas: "),
        (("{kind: ConfigMap, apiVersion: v1}",), "{path}: it holds no HorizontalPodAutoscaler, one is needed"),
        ((BROKEN,), "{path}:"),
    ],
)
def test_manifests_that_cannot_be_used(
    live: Path, tmp_path: Path, items: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(listing(*items))
    for check in ((), ("--check",)):
        found = Said(capsys, "replay", live, "--hpa", path, *check)
        assert found.code == 2
        assert found.errors.startswith(f"hpa-controller: {said.format(path=path)}")
        assert found.errors.count("\n") == 1


def test_what_cannot_be_read_may_be_the_one_that_is_meant(
    live: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "all.yaml"
    path.write_text(f"{of_name('name: api')}---\nkind: [\n---\n{of_name('name: web')}")
    assert Said(capsys, "replay", live, "--hpa", path).code == 0
    path.write_text(f"{of_name('name: api')}---\nkind: [\n")
    said = Said(capsys, "replay", live, "--hpa", path)
    assert said.code == 2
    assert said.errors.startswith(f"hpa-controller: {path}:")
    assert ": not YAML: " in said.errors
    assert ": : " not in said.errors


def test_a_manifest_is_for_one_hpa(both: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yaml").write_text(MANIFEST)
    flags = ("--hpa", tmp_path / "mine.yaml")
    said = Said(capsys, "replay", both, *flags)
    assert said.code == 2
    assert said.errors.endswith("is for one HPA, here may be several; choose it with --name NAMESPACE/NAME\n")
    assert Said(capsys, "replay", "--check", both, *flags).code == 2
    said = Said(capsys, "replay", both, *flags, "--name=default/web")
    assert (said.code, said.errors) == (0, "")


def test_what_was_not_recorded_is_said(live: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    external = "{type: External, external: {metric: {name: backlog}, target: {type: AverageValue, averageValue: 1}}}"
    resource = re.search(r"\{type: Resource.*\}\}\}", MANIFEST)
    assert resource is not None
    (tmp_path / "other.yaml").write_text(MANIFEST.replace(resource[0], external))
    said = Said(capsys, "replay", live, "--variant", f"hpa={tmp_path / 'other.yaml'}")
    # With more replicas than its maximum it needs no metric.
    assert said.lines[-1] == "   partial: in 4 of them it asks for a metric that was not recorded"


def test_a_metric_that_had_failed_was_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failing = ticks(CPU, [observation(scale(2), ReadFailure("no answer"))] * 2)
    path = tmp_path / "failing.jsonl"
    path.write_bytes(b"".join((header(CPU), *failing)))
    said = Said(capsys, "replay", path, "--set=tolerance=0.5")
    assert (said.code, "that was not recorded" in said.output) == (0, False)


def test_json_lines(live: Path, both: Path, written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [first, *_] = map(json.loads, Said(capsys, "replay", written, "--output", "json").lines)
    assert first.keys() == {"recording", "t", "outcome"}
    [first, *rest] = map(json.loads, Said(capsys, "replay", live, "--output", "json").lines)
    assert (first["recording"], first["t"], len(rest)) == ("c0ffee00", 0.0, 7)
    assert first["outcome"] == msgspec.json.decode(LINES[0])["outcome"]
    told = [
        json.loads(line)
        for line in Said(
            capsys, "replay", both, "--output", "json", "--variant=tolerance=0.2", "--variant=tolerance=0.3"
        ).lines
    ]
    assert [(line["hpa"], line["variant"]) for line in told[:3]] == [
        ("default/web", "tolerance=0.2"),
        ("default/web", "tolerance=0.3"),
        ("default/api", "tolerance=0.2"),
    ]


def test_json_lines_are_the_same_with_a_report(live: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("replay", live, "--output", "json", "--set", "tolerance=0.9")
    plain = Said(capsys, *flags)
    assert Said(capsys, *flags, "--report", tmp_path / "report.html").output == plain.output


@pytest.mark.usefixtures("both", "real")
def test_check(live: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "replay", "--check", tmp_path)
    assert (said.code, said.output, said.errors) == (0, "3 passed, 0 failed\n", "")
    said = Said(capsys, "replay", "--check", live, "--set", "tolerance=0.9")
    assert said.code == 1
    assert said.lines[-1] == "0 passed, 1 failed"
    said = Said(capsys, "replay", "--check", live, "--variant=tolerance=0.9", "--variant=tolerance=0.8")
    assert said.code == 2
    assert said.errors == "hpa-controller: --check compares with what was recorded: give one variant at most\n"


def test_damage_is_said_and_the_rest_is_used(
    live: Path, real: Path, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live.write_bytes(live.read_bytes()[:-200])
    cut = f"hpa-controller: {live}:9: Input data was truncated; the line is cut off, the lines before it are fine; "
    for check in ((), ("--check",)):
        said = Said(capsys, "replay", live, real, *check)
        assert said.code == 0
        assert said.errors == f"{cut}partial: the 7 syncs before are used\n"
    live.write_bytes(live.read_bytes().replace(b"hpa-recording/2", b"hpa-recording/7"))
    said = Said(capsys, "replay", live, written)
    assert said.code == 2
    assert said.errors.count("\n") == 1
    assert said.lines[0] == "made: default/web", "the other one is shown"


def test_nothing_that_can_be_compared_is_no_success(live: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All lines in a form that nobody knows would else be green."""
    first, *rest = live.read_bytes().splitlines(keepends=True)
    live.write_bytes(first + b'{"another":"form"}\n' * len(rest))
    said = Said(capsys, "replay", "--check", live)
    assert (said.code, said.lines) == (2, ["0 passed, 1 failed"])
    assert said.errors.endswith(f"{live}: none of its syncs can be compared\n")
    live.write_bytes(first)
    assert Said(capsys, "replay", "--check", live).code == 0, "nothing was decided, and nothing is damaged"
    live.write_bytes(first + b"".join(map(without_outcome, rest)))
    said = Said(capsys, "replay", "--check", live)
    assert (said.code, said.lines) == (2, ["0 passed, 1 failed"])
    assert said.errors == f"hpa-controller: {live}: only inputs: none of its syncs has an outcome to compare with\n"
    live.write_bytes(first + without_outcome(rest[0]) + b"".join(rest[1:]))
    assert Said(capsys, "replay", "--check", live).code == 0, "the others are compared"


def without_outcome(line: bytes) -> bytes:
    """A tick that only carries inputs."""
    fields: dict[str, object] = msgspec.json.decode(line)
    del fields["outcome"]
    return msgspec.json.encode(fields) + b"\n"


def test_the_summary_comes_also_where_a_file_is_damaged(live: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = live.read_bytes().splitlines(keepends=True)
    live.write_bytes(b"".join((*lines[:7], lines[1], *lines[7:])))
    said = Said(capsys, "replay", live, "--set", "downscaleStabilization=0s")
    assert (said.code, "ticks must be in order" in said.errors) == (2, True)
    assert said.lines[-1].startswith("A: downscaleStabilization=0s: differs in 2 of 6 syncs")


def test_a_path_that_cannot_be_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "replay", "x" * 300)
    assert (said.code, said.errors) == (2, f"hpa-controller: {'x' * 300}: file name too long\n")


def test_of_a_recording_of_another_hpa_nothing_is_shown(live: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "replay", live, "--name", "shop/web")
    assert (said.code, said.output) == (2, "")
    assert said.errors.endswith("no sync of shop/web is in these recordings, only of default/web\n")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--set", "speed=1"), "'speed=1' is not NAME=VALUE with one of tolerance, "),
        (("--variant", "tolerance=0.1,nonsense"), "'nonsense' is not NAME=VALUE with one of tolerance, "),
        (("--variant", "hpa=gone.yaml"), "gone.yaml: "),
        (("--variant", "hpa="), "'hpa=' names no file"),
        (("--variant", "hpa=a.yaml,hpa=b.yaml"), "a.yaml, b.yaml: one manifest at a time; use --variant for each"),
        (("--report", "/dev/full"), "--report: /dev/full: no space left on device"),
        (("--check", "--name=default/web"), "--check compares every sync: it takes neither --name nor --report nor"),
        (("--check", "--report=report.html"), "--check compares every sync"),
        (("--check", "--output=json"), "--check compares every sync"),
        (("--variant=tolerance=1",) * 27, "27 variants are too many; 26 can be held against each other"),
    ],
)
def test_what_cannot_be_asked(
    live: Path, flags: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Said(capsys, "replay", live, *flags)
    assert found.code == 2
    assert found.errors.startswith(f"hpa-controller: {said}")
    assert found.errors.count("\n") == 1


def test_a_page_without_a_folder_is_refused_before_all(live: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 300
    for folder, error in (("/nowhere", "no such folder: /nowhere"), (long, f"{long}: file name too long")):
        said = Said(capsys, "replay", live, "--report", f"{folder}/report.html")
        assert (said.code, said.output) == (2, "")
        assert f"argument --report: {error}\n" in said.errors


@pytest.mark.parametrize("empty", [("",), ("here", "--hpa", ""), ("here", "--report", "")])
def test_what_is_empty_is_not_the_folder_that_one_is_in(
    live: Path, empty: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(live.parent)
    said = Said(capsys, "replay", *empty)
    assert (said.code, said.output) == (2, "")
    assert "it is empty; name a file" in said.errors


@pytest.mark.parametrize(
    "flags", [("--hpa", "-", "--variant", "hpa=-"), ("--variant", "hpa=-", "--variant", "tolerance=0.2,hpa=-")]
)
def test_standard_input_is_read_once(live: Path, flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, "replay", live, *flags)
    assert (said.code, said.output) == (2, "")
    assert "standard input can be read once only; one of the manifests has to be a file" in said.errors


def test_only_a_dash_is_standard_input(
    live: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(live.parent)
    Path("-").write_text(MANIFEST)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    said = Said(capsys, "replay", live, "--hpa", "./-", "--variant", "hpa=./-")
    assert (said.code, said.errors) == (0, "")
    url = Said(capsys, "replay", live, "--hpa", "https://127.0.0.1:1/x.yaml")
    assert url.errors.startswith("hpa-controller: https://127.0.0.1:1/x.yaml: URLs are not read; ")


@pytest.mark.parametrize("flags", [(), ("--set=tolerance=0.5",), ("--check",)])
def test_what_adapters_said_does_not_steer_a_terminal(
    tmp_path: Path, flags: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    seen = [observation(scale(2), ReadFailure("\x1b[2J gone\nfor good"))] * 2
    path, odd = tmp_path / "odd.jsonl", {"outcome": {"scaledTo": 9, "status": {}, "statusWrites": 0, "events": []}}
    lines = [msgspec.json.encode(msgspec.json.decode(line) | odd) + b"\n" for line in ticks(CPU, seen)]
    path.write_bytes(b"".join((header(CPU), *lines)))
    said = Said(capsys, "replay", path, *flags)
    assert "\x1b" not in said.output
    assert ("gone\\nfor good" in said.output) is ("--set=tolerance=0.5" not in flags)
