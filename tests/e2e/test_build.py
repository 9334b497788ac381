"""The builder builds what is missing, nothing else, and says clearly why it cannot."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.programs import DEBIAN_PACKAGES, pinned_tools

PROJECT = Path(__file__).parents[2]

# Stands in for Go: answers `env GOVERSION`, and writes down how `build` was called.
GO = """#!/bin/sh
if [ "$1" = env ]; then echo {version}; exit 0; fi
echo "$CGO_ENABLED $GOFLAGS $GOTOOLCHAIN $PWD $*" >> "$LAB_BIN/calls"
for argument in "$@"; do
    case "$argument" in -o=*) output="${{argument#-o=}}";; esac
done
printf '#!/bin/sh\\necho made\\n' > "$output"
chmod +x "$output"
{end}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What LAB_BIN names."""
    return tmp_path / "bin"


def write_program(path: Path, content: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)


def run(folder: Path, *arguments: str, path: str = "/nowhere") -> subprocess.CompletedProcess[str]:
    """Runs the builder with LAB_BIN=folder, finding go in path only."""
    return subprocess.run(  # noqa: S603  # the builder itself
        [sys.executable, "-m", "tests.e2e.build", *arguments],
        cwd=PROJECT,
        env={**os.environ, "LAB_BIN": str(folder), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def write_go(tmp_path: Path, version: str = "go1.26.0", end: str = "") -> str:
    write_program(tmp_path / "go" / "go", GO.format(version=version, end=end))
    return f"{tmp_path / 'go'}:/usr/bin:/bin"


def test_an_empty_cache_is_listed_as_missing(folder: Path) -> None:
    listed = run(folder, "--list")
    assert listed.returncode == 0
    lines = listed.stdout.splitlines()
    assert len(lines) == len(pinned_tools()) + len(DEBIAN_PACKAGES)
    assert f"prometheus from Debian: {folder / 'prometheus'}: missing" in lines
    assert f"etcd v3.6.8: {folder / 'etcd'}: missing" in lines
    assert not folder.exists()


def test_an_unknown_tool_is_bad_usage(folder: Path) -> None:
    asked = run(folder, "kubeadm")
    assert asked.returncode == 2
    assert (
        "no such tool: kubeadm; there are etcd, helm, hpa-reference, keda-metrics-apiserver, keda-operator"
        in asked.stderr
    )


def test_without_go_it_says_what_to_do(folder: Path) -> None:
    failed = run(folder, "kubectl")
    assert failed.returncode == 1
    assert failed.stderr == (
        "kubectl: Go 1.26 or newer is needed to build it and `go` is not in PATH; "
        "install Go, or set LAB_BIN to a folder that has kubectl v1.36.3\n"
    )


def test_an_old_go_is_refused(folder: Path, tmp_path: Path) -> None:
    failed = run(folder, "kubectl", path=write_go(tmp_path, "go1.25.9"))
    assert failed.returncode == 1
    assert failed.stderr == "kubectl: Go 1.26 or newer is needed, this is go1.25.9\n"


def test_a_failing_build_shows_its_output_and_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    failed = run(folder, "kubectl", path=write_go(tmp_path, end="echo 'missing go.sum entry' >&2; exit 3"))
    assert failed.returncode == 1
    assert "ended with status 3:\n  missing go.sum entry\n" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not (folder / "kubectl").exists()
    assert not (folder / ".kubectl.unfinished").exists()


def test_what_was_built_is_kept_until_its_pins_change(folder: Path, tmp_path: Path) -> None:
    path = write_go(tmp_path)
    built = run(folder, "kubectl", path=path)
    assert built.returncode == 0, built.stderr
    calls = folder / "calls"
    (call,) = calls.read_text().splitlines()
    tool = pinned_tools()["kubectl"]
    assert call.startswith(f"0 -mod=readonly local {tool.folder} build ")
    assert call.endswith(" k8s.io/kubernetes/cmd/kubectl")
    assert "-trimpath" in call
    assert "-X=k8s.io/component-base/version.gitVersion=v1.36.3" in call
    assert "-X=k8s.io/client-go/pkg/version.gitVersion=v1.36.3" in call

    assert run(folder, "kubectl", path=path).stdout == f"kubectl v1.36.3: {folder / 'kubectl'}\n"
    assert len(calls.read_text().splitlines()) == 1

    stamp = folder / ".kubectl.stamp"
    stamp.write_text(stamp.read_text().replace(tool.digest(), "0" * 64))
    rebuilt = run(folder, "kubectl", path=path)
    assert "built from other pins" in rebuilt.stdout
    assert len(calls.read_text().splitlines()) == 2
    assert run(folder, "kubectl", "--list").stdout.endswith(": ready\n")


def test_the_sources_of_a_program_of_our_own_are_part_of_its_pins(folder: Path, tmp_path: Path) -> None:
    path = write_go(tmp_path)
    assert run(folder, "hpa-reference", path=path).returncode == 0
    tool = pinned_tools()["hpa-reference"]
    (call,) = (folder / "calls").read_text().splitlines()
    assert call.startswith(f"0 -mod=readonly local {tool.folder} test -c ")
    assert call.endswith(" .")
    assert tool.version == pinned_tools()["kube-controller-manager"].version
    copied = shutil.copytree(tool.folder, tmp_path / "tools" / tool.name)
    (copied / "world.go").write_text("package reference\n")
    assert dataclasses.replace(tool, folder=copied).digest() != tool.digest()


def test_keda_is_built_only_where_it_is_asked_for(folder: Path, tmp_path: Path) -> None:
    write_apt(tmp_path, programs="prometheus promtool mmdebstrap")
    path = f"{tmp_path / 'apt'}:{write_go(tmp_path)}"
    assert run(folder, path=path).returncode == 0
    usual = {name for name, tool in pinned_tools().items() if not tool.on_demand}
    assert {one.name for one in folder.glob("[!.]*")} >= usual
    assert not [*folder.glob("*keda*")]
    assert run(folder, "keda-operator", path=path).returncode == 0
    call = (folder / "calls").read_text().splitlines()[-1]
    assert "-X=github.com/kedacore/keda/v2/version.Version=2.21.0" in call
    assert call.endswith(" github.com/kedacore/keda/v2/cmd/operator")
    assert [one.name for one in folder.glob("keda*")] == ["keda-operator"]


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("etcd Version: 3.6.8", "ready"),
        ("etcd v3.6.8", "ready"),
        ("etcd Version: 3.6.80", "not v3.6.8, it says 'etcd Version: 3.6.80'"),
        ("etcd Version: 13.6.8", "not v3.6.8, it says 'etcd Version: 13.6.8'"),
        ("etcd Version: 3.6.8-rc.0", "not v3.6.8, it says 'etcd Version: 3.6.8-rc.0'"),
        ("", "not v3.6.8, it says nothing"),
    ],
)
def test_a_program_from_elsewhere_is_asked_its_version(folder: Path, answer: str, verdict: str) -> None:
    write_program(folder / "etcd", f"#!/bin/sh\necho '{answer}'\n")
    assert run(folder, "etcd", "--list").stdout == f"etcd v3.6.8: {folder / 'etcd'}: {verdict}\n"


# Stand in for apt-get and dpkg-deb: one package that holds all programs, and what newer Debians have split off.
APT = """#!/bin/sh
case "$*" in
*" update") {update}; touch "$LAB_BIN/updated"; exit 0;;
"download "*) {download};;
*) exit 9;;
esac
for name; do :; done
echo fetched > "${{name}}_2.42.0_amd64.deb"
echo "$PWD" >> "$LAB_BIN/calls"
"""
DPKG = """#!/bin/sh
case "$1" in
--field) echo 2.42.0+ds-5;;
--extract)
  case "$2" in *prometheus_* | *mmdebstrap_*) names="{programs}";; *) names="{split_off}";; esac
  mkdir -p "$3/usr/bin"; for name in $names; do cp /bin/true "$3/usr/bin/$name"; done;;
*) exit 9;;
esac
"""


def write_apt(
    tmp_path: Path,
    download: str = ":",
    update: str = ":",
    programs: str = "prometheus promtool",
    split_off: str = "",
) -> str:
    write_program(tmp_path / "apt" / "apt-get", APT.format(download=download, update=update))
    write_program(tmp_path / "apt" / "dpkg-deb", DPKG.format(programs=programs, split_off=split_off))
    return f"{tmp_path / 'apt'}:/usr/bin:/bin"


def test_what_comes_built_is_fetched_once_and_tells_its_version(folder: Path, tmp_path: Path) -> None:
    path = write_apt(tmp_path)
    fetched = run(folder, "prometheus", path=path)
    assert fetched.returncode == 0, fetched.stderr
    line = f"prometheus 2.42.0+ds-5: {folder / 'prometheus'}, {folder / 'promtool'}\n"
    assert fetched.stdout == line
    assert run(folder, "prometheus", path=path).stdout == line
    (scratch,) = (folder / "calls").read_text().splitlines()
    assert not Path(scratch).exists()
    assert run(folder, "prometheus", "--list").stdout.endswith(": ready, 2.42.0+ds-5\n")

    (folder / "promtool").unlink()
    assert run(folder, "prometheus", "--list").stdout.endswith(": missing\n")


def test_a_program_with_a_package_of_its_own_is_fetched_from_there(folder: Path, tmp_path: Path) -> None:
    fetched = run(folder, "prometheus", path=write_apt(tmp_path, programs="prometheus", split_off="promtool"))
    assert fetched.returncode == 0, fetched.stderr
    assert fetched.stdout == f"prometheus 2.42.0+ds-5: {folder / 'prometheus'}, {folder / 'promtool'}\n"


def test_without_apt_it_says_what_to_do(folder: Path) -> None:
    failed = run(folder, "prometheus")
    assert failed.returncode == 1
    assert failed.stderr == (
        "prometheus: it is taken from a package of Debian and `apt-get` is not in PATH; "
        f"put prometheus and promtool into {folder} yourself\n"
    )


NO_PACKAGES = "echo 'E: No packages found' >&2; exit 100"


@pytest.mark.parametrize(
    ("download", "update", "programs", "told"),
    [
        (NO_PACKAGES, ":", "prometheus", "--quiet prometheus` ended with status 100:\n  E: No packages found"),
        (NO_PACKAGES, NO_PACKAGES, "prometheus", "--quiet update` ended with status 100:\n  E: No packages found"),
        (":", ":", "prometheus", "prometheus 2.42.0+ds-5 has no /usr/bin/promtool"),
    ],
)
def test_a_failing_fetch_says_why(
    folder: Path, tmp_path: Path, download: str, update: str, programs: str, told: str
) -> None:
    failed = run(folder, "prometheus", path=write_apt(tmp_path, download, update, programs))
    assert failed.returncode == 1
    assert told in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not (folder / ".prometheus.debian").exists()


def test_where_apt_knows_no_packages_it_learns_them_itself(folder: Path, tmp_path: Path) -> None:
    path = write_apt(tmp_path, download=f'[ -e "$LAB_BIN/updated" ] || {{ {NO_PACKAGES}; }}')
    fetched = run(folder, "prometheus", path=path)
    assert fetched.returncode == 0, fetched.stderr
    assert (folder / "updated").exists()
    assert (folder / ".prometheus.debian").exists()


def test_the_tests_fail_without_the_programs(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "tests/e2e/test_control_plane.py",
        "-k",
        "pinned_versions",
    ]
    failed = subprocess.run(  # noqa: S603  # this very test suite
        [*command, "-p", "no:cacheprovider"],
        cwd=PROJECT,
        env={**os.environ, "LAB_BIN": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert failed.returncode == 1
    assert f"{folder / 'etcd'}: missing; `make e2e-tools` builds it" in failed.stdout
    assert "1 error" in failed.stdout
