import subprocess
import sys
from pathlib import Path

import pytest

from controller import settings
from controller.cli.main import Parser, main
from controller.recording.flags import RecordSettings
from controller.run_flags import add_flags
from controller.settings import RunSettings


def parsed(*flags: str) -> RunSettings:
    parser = Parser(prog="hpa-controller run", allow_abbrev=False)
    add_flags(parser)
    return settings.from_arguments(parser.parse_args(flags))


def test_defaults_are_those_of_kube_controller_manager() -> None:
    found = parsed()
    assert (found.sync_period_s, found.concurrency, found.decide.tolerance) == (15.0, 5, 0.1)
    assert (found.lease_duration_s, found.renew_deadline_s, found.retry_period_s) == (15.0, 10.0, 2.0)
    assert found.decide.downscale_stabilization_ns == found.decide.cpu_initialization_period_ns == 300 * 10**9
    assert found.decide.initial_readiness_delay_ns == 30 * 10**9
    assert found.leader_elect


def test_lists_that_are_given_again_hold_as_a_whole() -> None:
    """As with kube-controller-manager, whose gates may name their component, too."""
    found = parsed("--feature-gates=HPAConfigurableTolerance=false", "--feature-gates=kube:HPAScaleToZero=true")
    assert (found.decide.gates.configurable_tolerance, found.decide.gates.scale_to_zero) == (False, True)
    again = parsed("--feature-gates=HPAScaleToZero=true", "--feature-gates=HPAScaleToZero=false")
    assert not again.decide.gates.scale_to_zero, "the later one"
    assert parsed("--namespaces=shop,bank", "--namespaces=mail,shop").namespaces == ("shop", "bank", "mail")


@pytest.mark.parametrize(("text", "value"), [("true", True), ("T", True), ("1", True), ("FALSE", False), ("0", False)])
def test_truth_is_written_as_in_go(text: str, value: bool) -> None:  # noqa: FBT001 - the fact under test
    assert parsed(f"--leader-elect={text}").leader_elect is value
    assert parsed("--leader-elect").leader_elect


@pytest.mark.parametrize(("text", "seconds"), [("1m30s", 90.0), ("500ms", 0.5), ("1.5h", 5400.0), ("0h1m", 60.0)])
def test_durations_are_written_as_in_go(text: str, seconds: float) -> None:
    assert parsed(f"--horizontal-pod-autoscaler-sync-period={text}").sync_period_s == seconds


@pytest.mark.parametrize(
    ("flag", "reason"),
    [
        ("--horizontal-pod-autoscaler-sync-period=-1s", "is negative"),
        ("--horizontal-pod-autoscaler-tolerance=nan", "is not a number"),
        ("--horizontal-pod-autoscaler-tolerance=1_0", "is not a number"),
        ("--concurrent-horizontal-pod-autoscaler-syncs=1.5", "is not a whole number from 1 on"),
        ("--leader-elect=yes", "is not true or false"),
        ("--kube-api-qps=-1", "is negative"),
        ("--kube-api-burst=0", "is not a whole number from 1 on"),
        ("--kube-api-content-type=application/vnd.kubernetes.protobuf", "is not known, only 'application/json'"),
        ("--log-level=loud", "invalid choice"),
        ("--leader-elect-renew-deadline=1s", "must be longer than 1.2 × --leader-elect-retry-period"),
        ("--leader-elect-retry-period=9s", "must be longer than 1.2 × --leader-elect-retry-period"),
        ("--leader-elect-resource-name=", "is empty: name a Lease"),
        ("--concurrent-horizontal-pod-autoscaler-syncs=" + "0" * 12 + "5", "is not a whole number from 1 on"),
        ("--leader-elect-renew-deadline=15s", "must be longer than --leader-elect-renew-deadline"),
        ("--leader-elect-lease-duration=10.9s", "must be longer than --leader-elect-renew-deadline, in whole seconds"),
        ("--feature-gates=X", "--feature-gates"),
        ("--record=", "it is empty; name a folder"),
        ("--record-max-bytes=1G1", "'1G1' is no number of bytes such as 500Mi or 2Gi"),
        ("--record-max-bytes=1000k", "'1000k' is too little; give at least 1Mi"),
        ("--namespaces=shop,Bank", "'Bank' is no name of a namespace"),
        ("--namespaces=shop,,bank", "'' is no name of a namespace"),
        ("--foreign-writer-silence-periods=-1", "is not a whole number from 0 on"),
        ("--shadow=perhaps", "is not true or false"),
    ],
)
def test_bad_flags_are_told_in_a_line(flag: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(["run", flag])
    except SystemExit as error:
        status = int(str(error.code))
    said = capsys.readouterr().err
    assert status == 2
    assert reason in said
    assert flag.partition("=")[0] in said
    assert len(said.splitlines()) <= 2


def test_recordings_are_bounded_unless_there_are_none() -> None:
    assert parsed().record is None
    assert parsed("--record=records").record == RecordSettings(Path("records"), 2**30)
    for text, bytes_max in (("5M", 5_000_000), ("1Mi", 2**20)):
        found = parsed("--record=records", f"--record-max-bytes={text}").record
        assert found == RecordSettings(Path("records"), bytes_max)


def test_help_fits_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main(["run", "--help"])
    assert ended.value.code == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_help_of_a_command_is_asked_for_in_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for words in (["help", "explain"], ["explain", "--help"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert "--last" in said[0]


def test_linting_waits_for_no_http_library() -> None:
    code = (
        "import sys\nfrom controller.cli.main import main\nmain(['lint', '--output', 'json', '-f', '/dev/null'])\n"
        "print(sorted({'aiohttp', 'uvloop'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - our own code
    assert ended.stdout.splitlines()[-1:] == ["[]"], ended.stderr


@pytest.mark.parametrize("command", ["promote", "demote", "freeze", "modes"])
@pytest.mark.parametrize("name", ["", "Shop", "a/b", "x" * 64])
def test_modes_are_of_namespaces_that_there_can_be(command: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty one is what a script makes of a variable that is not set."""
    assert main([command, name]) == 2
    assert capsys.readouterr().err == f"hpa-controller: {command}: {name!r} is no name of a namespace\n"


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "::1", "[::1]", "host:1/x", "host", "host:0", "host:65536"])
def test_an_address_that_is_none_is_refused(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["top", "--introspection-address", address])
    assert ended.value.code == 2
    assert "is no address such as 127.0.0.1:8082" in capsys.readouterr().err
