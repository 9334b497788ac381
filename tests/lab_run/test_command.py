"""`hpa-controller lab` as people and scripts use it."""

import json
import os
import signal
import socket
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(sysconfig.get_path("scripts")) / "hpa-controller"
BROKEN = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
"""
MINE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: mine}
spec:
  selector: {matchLabels: {app: mine}}
  template: {metadata: {labels: {app: mine}}, spec: {containers: [{name: app, image: "mine:1"}]}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: mine}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: mine}
  maxReplicas: 9
  metrics: [{type: External, external: {metric: {name: backlog}, target: {type: AverageValue, averageValue: "5"}}}]
"""


def lab(*arguments: str, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own program
        [PROGRAM, "lab", *arguments], capture_output=True, text=True, timeout=timeout_s, check=False
    )


def begun(folder: Path, *before: str, speed: str = "1") -> subprocess.Popen[str]:
    """A lab, begun by the words before it, that has told of its first two lines.

    By default SIGHUP ends it, also where these tests run under nohup.
    """
    process = subprocess.Popen(  # noqa: S603 - our own program
        ["/usr/bin/env", "--default-signal=HUP", *before, PROGRAM, "lab", "--output", "json", "--speed", speed],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    assert process.stdout is not None
    start = json.loads(process.stdout.readline())
    assert Path(start["kubeconfig"]).exists()
    process.stdout.readline()
    return process


@pytest.fixture(scope="module")
def two_minutes() -> list[dict[str, Any]]:
    """Everything that the built-in scenario tells in two minutes of its time."""
    ended = lab("--duration", "2m", "--speed", "10", "--output", "json")
    assert (ended.returncode, ended.stderr) == (0, "")
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_every_line_has_a_type_and_a_time(two_minutes: list[dict[str, Any]]) -> None:
    assert [line["type"] for line in (two_minutes[0], two_minutes[-1])] == ["start", "summary"]
    assert {line["type"] for line in two_minutes} == {"start", "sync", "event", "timeline", "summary"}
    times = [line["t"] for line in two_minutes]
    assert times == sorted(times)
    assert all(line["reason"] and line["message"] for line in two_minutes if line["type"] == "event")


@pytest.mark.parametrize("name", ["web", "worker", "api"])
def test_both_directions_are_seen_within_two_minutes(two_minutes: list[dict[str, Any]], name: str) -> None:
    rescales = [
        (line["replicas"], line["scaledTo"])
        for line in two_minutes
        if line["type"] == "sync" and line["hpa"] == f"shop/{name}" and line["scaledTo"] is not None
    ]
    assert any(after > before for before, after in rescales), rescales
    assert any(after < before for before, after in rescales), rescales


def test_the_worker_goes_to_zero_and_comes_back(two_minutes: list[dict[str, Any]]) -> None:
    counts = [line["replicas"] for line in two_minutes if line["type"] == "sync" and line["hpa"] == "shop/worker"]
    assert 0 in counts
    assert any(counts[counts.index(0) :])


def test_the_broken_hpa_says_why(two_minutes: list[dict[str, Any]]) -> None:
    last = [line for line in two_minutes if line["type"] == "sync" and line["hpa"] == "shop/legacy"][-1]
    assert last["conditions"]["ScalingActive"] == {"status": "False", "reason": "FailedGetResourceMetric"}
    assert "missing request for cpu in container app" in last["why"]


def test_the_api_is_scaled_by_promql(two_minutes: list[dict[str, Any]]) -> None:
    start = two_minutes[0]
    assert start["sources"] == f"custom metrics from Prometheus at {start['prometheus']}"
    syncs = [line for line in two_minutes if line["type"] == "sync" and line["hpa"] == "shop/api"]
    assert any(line["scaledTo"] and "pods metric http_requests_per_second" in line["why"] for line in syncs)


def test_behavior_limits_the_api(two_minutes: list[dict[str, Any]]) -> None:
    """By two up and one down in six seconds; what was taken away in that time may come back besides, and vice versa.

    Two seconds are for what lies between a sync and its line.
    """
    syncs = [line for line in two_minutes if line["type"] == "sync" and line["hpa"] == "shop/api"]
    steps = [(line["t"], line["scaledTo"] - line["replicas"]) for line in syncs if line["scaledTo"] is not None]
    for at_s, step in steps:
        surely = [before for before_s, before in steps if at_s - 4 <= before_s < at_s]
        perhaps = [before for before_s, before in steps if at_s - 8 <= before_s < at_s]
        assert step != 0, steps
        assert step <= 2 - sum(max(before, 0) for before in surely) - sum(min(before, 0) for before in perhaps), steps
        assert step >= -1 - sum(min(before, 0) for before in surely) - sum(max(before, 0) for before in perhaps), steps
    assert any("ScaleUpLimit" in line["why"] for line in syncs)


def test_the_summary_agrees_with_what_was_told(two_minutes: list[dict[str, Any]]) -> None:
    summary = two_minutes[-1]
    assert 120 <= summary["durationSeconds"] < 240
    for key, numbers in summary["hpas"].items():
        syncs = [line for line in two_minutes if line["type"] == "sync" and line["hpa"] == key]
        assert numbers["syncs"] == len(syncs)
        assert numbers["replicas"]["min"] <= numbers["replicas"]["average"] <= numbers["replicas"]["max"]
    assert any(line["type"] == "timeline" and "image" in line["message"] for line in two_minutes)


def test_a_users_own_file_moves_as_lines_of_text(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(MINE)
    ended = lab("-f", str(tmp_path / "mine.yaml"), "--duration", "6m", "--speed", "60")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("kubectl --kubeconfig ")
    assert "hpa-controller explain default/mine --introspection-address 127.0.0.1:" in ended.stdout
    assert "default/mine: 1 → " in ended.stdout
    assert "SuccessfulRescale" in ended.stdout
    assert "of the lab's time" in ended.stdout


def test_faults_are_told_and_flags_reach_the_controller() -> None:
    flags = ("--fault", "api-restart", "--", "--horizontal-pod-autoscaler-sync-period=7s")
    ended = lab("--duration", "50s", "--speed", "20", "--output", "json", *flags)
    assert ended.returncode == 0, ended.stderr
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [line["reason"] for line in lines if line["type"] == "fault"][:2] == ["begins", "ends"]
    assert lines[-1]["hpas"]["shop/api"]["syncs"] <= 7


def test_the_summary_comes_last_though_the_end_ends_a_fault() -> None:
    ended = lab("--duration", "40s", "--speed", "20", "--output", "json", "--fault", "watch-drop")
    assert ended.returncode == 0, ended.stderr
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [line["reason"] for line in lines if line["type"] == "fault"][-1] == "ends"
    assert lines[-1]["type"] == "summary"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_a_summary_and_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    process = begun(tmp_path)
    try:
        process.send_signal(number)
        rest, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert json.loads(rest.splitlines()[-1])["type"] == "summary"
    assert list(tmp_path.iterdir()) == []


def test_under_nohup_the_end_of_the_terminal_is_not_its_end(tmp_path: Path) -> None:
    process = begun(tmp_path, "nohup", speed="20")
    try:
        process.send_signal(signal.SIGHUP)
        assert process.stdout is not None
        told = (json.loads(line) for line in process.stdout)
        after_a_minute = next(line for line in told if line["t"] > 60 or line["type"] == "summary")
        assert after_a_minute["type"] != "summary"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-f", "gone.yaml"), "hpa-controller: gone.yaml: no such file or directory\n"),
        (("-f", ""), "hpa-controller lab: argument -f/--filename: it is empty; name a file\n"),
        (("--log-file", ""), "hpa-controller lab: argument --log-file: it is empty; name a file\n"),
        (("-f", "broken.yaml"), "hpa-controller: broken.yaml:2: {invalid}spec.maxReplicas: {required}"),
        (("--speed", "0"), "hpa-controller lab: argument --speed: 0 is not above 0 and at most 100\n"),
        (("--duration", "soon"), "hpa-controller lab: argument --duration: 'soon': a duration is "),
        (("--fault", "gremlins"), "hpa-controller lab: argument --fault: invalid choice: 'gremlins'"),
        (("--port", "99999"), "hpa-controller lab: argument --port: '99999' is not a port\n"),
        (("--", "--horizontal-pod-autoscaler-tolerance=x"), "hpa-controller run: argument --horizontal-pod"),
        (
            ("--horizontal-pod-autoscaler-tolerance=0.2",),
            "unknown flag --horizontal-pod-autoscaler-tolerance; flags of `hpa-controller run` go after --\n",
        ),
        (
            ("--", "--prometheus-rules=broken.yaml"),
            "hpa-controller: broken.yaml:2: a Kubernetes object; what is needed is the text in its data, under ",
        ),
        (("--", "--metrics-source=resource=prometheus", "--prometheus-rules=gone.yaml"), "gone.yaml: the rules cannot"),
        (("--", "--master=https://127.0.0.1:1"), "hpa-controller: --master: the controller of a lab controls the lab"),
        (("--", "--record=broken.yaml"), "hpa-controller: --record: cannot write to broken.yaml: not a folder\n"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "broken.yaml").write_text(BROKEN)
    ended = subprocess.run(  # noqa: S603 - our own program
        [PROGRAM, "lab", *arguments], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
    )
    assert ended.returncode == 2, ended.stderr
    for part in said.replace("{required}", "Required value|").replace("{invalid}", "|").split("|"):
        assert part in ended.stderr
    assert len(ended.stderr.splitlines()) <= 2
    assert "Traceback" not in ended.stderr


def test_a_log_file_that_cannot_be_stored_is_not_taken_for_the_output() -> None:
    ended = lab("--log-file", "/dev/full", "--output", "json", "--duration", "5s", "--speed", "5")
    assert (ended.returncode, ended.stderr) == (2, "hpa-controller: /dev/full: no space left on device\n")


def test_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = str(holder.getsockname()[1])
        ended = lab("--port", port)
    assert ended.returncode == 2
    assert ended.stderr == f"hpa-controller: 127.0.0.1:{port}: address already in use\n"


def test_a_lab_whose_output_cannot_be_stored_ends_and_says_so() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(  # noqa: S603 - our own program
            [PROGRAM, "lab", "--output", "json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (2, "hpa-controller: standard output: no space left on device\n")
