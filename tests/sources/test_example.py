"""The example in examples/ is built, installed beside nothing else, found by its entry point and asked."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "queue-length-source"
PIP_TIMEOUT_S = 120

# Run by the interpreter of the clean environment: it sees the example only as an installed package.
ASKING = """
import asyncio, sys
from controller.decide.spec import MetricIdentifier
from controller.ports import ExternalQuestion
from controller.sources.plugins import load_plugin, plugin_names

async def main() -> None:
    print(plugin_names())
    source = load_plugin("queue-length", {"folder": sys.argv[1]})
    for name in ("orders", "mails"):
        print(await source.read(ExternalQuestion("shop", MetricIdentifier(name, None))))
    await source.close()
    wrong = load_plugin("queue-length", {"place": "here"})
    print(await wrong.read(ExternalQuestion("shop", MetricIdentifier("orders", None))))
    await wrong.close()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment with the example; of ours it has the libraries and the controller."""
    folder = tmp_path_factory.mktemp("environment")
    wheels = folder / "wheels"
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-build-isolation", "--no-deps"]
    _run([*build, "--wheel-dir", str(wheels), str(_copied(folder))])
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")])
    python = folder / "venv" / "bin" / "python"
    (wheel,) = wheels.glob("*.whl")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps"]
    _run([*install, str(wheel)])
    return python


def _copied(folder: Path) -> Path:
    """A copy to build from, since building leaves things behind."""
    copy = folder / "source"
    copy.mkdir()
    for path in EXAMPLE.iterdir():
        if path.is_file():
            (copy / path.name).write_bytes(path.read_bytes())
    return copy


def _run(command: list[str], **environment: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own interpreter and arguments
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=PIP_TIMEOUT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_found_and_answers(installed: Path, tmp_path: Path) -> None:
    spool = tmp_path / "shop"
    spool.mkdir()
    (spool / "orders.spool").write_text("a\nb\nc\n")
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *libraries])
    lines = _run([str(installed), "-c", ASKING, str(tmp_path)], PYTHONPATH=paths).splitlines()
    assert "queue-length" in lines[0]
    assert lines[1] == "ExternalReading(values_milli=(3000,), timestamp_ns=None, origin='')"
    assert lines[2] == "Unknown(message='there is no queue mails in shop')"
    assert "the option folder is needed" in lines[3]
    assert not any("queue-length" in path for path in sys.path), "our own environment does not have it"
