"""The image: its steps run in clean Debian root file systems, and the program works in what comes out."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from controller.version import __version__
from tests.e2e import roles
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.image import steps
from tests.e2e.namespaces import create_service_account
from tests.e2e.server_process import run_to_end

if TYPE_CHECKING:
    from tests.e2e.control_plane import ControlPlane

ACCOUNT = "in-the-image"
# /var/run is a link to it, which would lead out of the image.
SERVICE_ACCOUNT = "run/secrets/kubernetes.io/serviceaccount"


@dataclasses.dataclass(frozen=True)
class Image:
    """The image, unpacked."""

    stage: steps.Stage
    root: Path

    def command(self, *command: str, prepare: str = "", **environment: str) -> list[str]:
        """A command line that runs a command as a container would: user, environment, read-only root."""
        variables = {**self.stage.environment, **environment}
        written = [f"{name}={value}" for name, value in variables.items()]
        return steps.inside(
            self.stage.last("USER"), "/usr/bin/env", "-i", *written, *command, root=self.root, prepare=prepare
        )

    async def output(self, *command: str) -> tuple[int, str]:
        """Status of a command and all that it wrote."""
        ended = await run_to_end(*self.command(*command))
        return ended.status, ended.output + ended.errors


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The image of this working tree."""
    folder = tmp_path_factory.mktemp("image")
    stage = steps.build((steps.ROOT / "Dockerfile").read_text(), folder)
    return Image(stage, steps.unpack(folder))


async def test_the_program_starts_as_nobody_in_particular(built: Image) -> None:
    assert await built.output("id", "-u") == (0, "65532\n")
    assert await built.output(*built.stage.command[:1], "version") == (0, f"hpa-controller {__version__}\n")
    # What `helm test` runs.
    assert await built.output("python", "-c", "import urllib.request; print('ok')") == (0, "ok\n")


async def test_what_is_loaded_only_when_it_is_needed_is_there(built: Image) -> None:
    expression = (
        "from controller.sources.prometheus.go_regex import GoRegex; print(GoRegex('a(b)').expanded('$1', 'ab'))"
    )
    assert await built.output("python", "-c", expression) == (0, "b\n")


@pytest.mark.parametrize("folder", ["/", "/opt/hpa-controller", "/tmp", "/var"])  # noqa: S108 - it is not written
async def test_nothing_can_be_written(built: Image, folder: str) -> None:
    status, said = await built.output("touch", f"{folder}/x")
    assert status != 0
    assert "Read-only file system" in said or "Permission denied" in said


async def test_what_is_only_for_building_stays_behind(built: Image) -> None:
    for name in ("pip", "pip3", "gcc", "hatchling"):
        status, _ = await built.output("sh", "-c", f"command -v {name}")
        assert status != 0, name
    packages = [
        path.name for path in (built.root / "opt/hpa-controller/lib").glob("python3*/site-packages/*.dist-info")
    ]
    assert not [name for name in packages if name.startswith(("pip-", "hatchling-", "pytest-"))]
    assert not list(built.root.glob("var/lib/apt/lists/*_Packages"))
    assert not (built.root / "run/trust.crt").exists()
    compiled = "controller/__pycache__/app.cpython-3*.pyc"
    assert list((built.root / "opt/hpa-controller/lib").glob(f"python3*/site-packages/{compiled}"))


@pytest.mark.usefixtures("controllers_may_control", "metrics_server")
async def test_it_controls_with_the_service_account_of_a_pod(
    control_plane: ControlPlane, built: Image, tmp_path: Path
) -> None:
    admin = control_plane.admin
    await create_service_account(admin, roles.LEASE_NAMESPACE, ACCOUNT)
    subject = roles.service_account(roles.LEASE_NAMESPACE, ACCOUNT)
    await roles.bind_cluster_role(admin, roles.SCALE_WATCH_ROLE, subject)
    await roles.allow_control(admin, subject)
    (tmp_path / "token").write_text(await control_plane.service_account_token(roles.LEASE_NAMESPACE, ACCOUNT))
    (tmp_path / "ca.crt").write_bytes(control_plane.files.authority.certificate.read_bytes())
    (tmp_path / "namespace").write_text(roles.LEASE_NAMESPACE)
    # As the kubelet does: a volume of the pod, which its user may read.
    mounted = f'"$1/{SERVICE_ACCOUNT}"'
    mount = f"mkdir -p {mounted}; mount -t tmpfs -o mode=755 none {mounted}"
    files = f"cp {tmp_path}/* {mounted}; chmod 444 {mounted}/*"
    # Every controller of these tests records itself, for which a pod would have a volume, too.
    prepare = f'{mount}; {files}; mount -t tmpfs -o mode=1777 none "$1/mnt"'
    host, port = control_plane.url.removeprefix("https://").split(":")
    program, _ = built.stage.command
    command = built.command(program, prepare=prepare, KUBERNETES_SERVICE_HOST=host, KUBERNETES_SERVICE_PORT=port)
    user = f"system:serviceaccount:{roles.LEASE_NAMESPACE}:{ACCOUNT}"
    start = ControllerProcess.start(
        control_plane, ACCOUNT, "--kubeconfig=", "--record=/mnt", program=command, user=user
    )
    async with start as controller:
        (line,) = controller.logs("starting")
        assert line["access"] == "the pod's service account"
        await controller.logged("leading")
        assert (await controller.metrics()).total("process_resident_memory_bytes") > 0
