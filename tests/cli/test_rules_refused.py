"""`run` and `lab` with rules for Prometheus that cannot be used."""

import subprocess
import sys
from pathlib import Path

import pytest

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: none
clusters: [{name: none, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: none, context: {cluster: none}}]
"""


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("rules: [\n", "rules.yaml:2: not YAML: "),
        (
            "rules:\n- seriesQuery: a\n  metricsQuery: <<upper .Series>>\n",
            "rules.yaml:3: metricsQuery: the function upper",
        ),
        ("rules:\n- metricsQuery: a\n", "rules.yaml:2: seriesQuery is missing"),
        (None, "rules.yaml: the rules cannot be read: "),
    ],
)
@pytest.mark.parametrize("command", ["run", "lab"])
def test_the_program_refuses_to_start_with_file_and_line(
    tmp_path: Path, command: str, rules: str | None, said: str
) -> None:
    path, kubeconfig = tmp_path / "rules.yaml", tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    if rules is not None:
        path.write_text(rules)
    flags = [
        "--metrics-source=external=prometheus",
        f"--prometheus-rules={path}",
        "--prometheus-url=http://127.0.0.1:9",
    ]
    words = (
        ["run", f"--kubeconfig={kubeconfig}", *flags] if command == "run" else ["lab", "--duration=1s", "--", *flags]
    )
    # In a process of its own: it configures logging, which belongs to the whole process.
    ended = subprocess.run(  # noqa: S603 - the program itself
        [sys.executable, "-m", "controller", *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    [line] = ended.stderr.splitlines()
    assert line.startswith(f"hpa-controller: {tmp_path}/{said}")
