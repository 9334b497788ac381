"""Resident memory of a process that holds 100,000 pods and 10,000 HPAs with everything that belongs to them."""

import gc
import resource
import subprocess
import sys
from pathlib import Path

import msgspec

from tests.bench.measured import Figure

PODS = 100_000
AUTOSCALERS = 10_000
GOAL_MIB = 250.0


def figures() -> list[Figure]:
    """Measured in a process of its own, step by step."""
    output = subprocess.run(
        [sys.executable, "-m", "tests.bench.memory"], check=True, capture_output=True, cwd=Path.cwd()
    ).stdout
    steps: dict[str, float] = msgspec.json.decode(output)
    last = list(steps)[-1]
    return [
        Figure(f"resident, {name}", value, "MiB", goal=GOAL_MIB if name == last else None)
        for name, value in steps.items()
    ]


def resident_mib() -> float:
    """What the operating system holds for this process now."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _main() -> None:
    """Fill the caches as the controller does, from encoded objects in pages, and print what each step took it to."""
    import controller.app  # noqa: F401, PLC0415 - what `run` imports is part of the figure
    from tests.bench import population  # noqa: PLC0415 - after the imports have been measured

    steps = {"everything imported": resident_mib()}
    kept = []
    for name, fill in population.STEPS:
        kept.append(fill())
        gc.collect()
        steps[name] = resident_mib()
    sys.stdout.buffer.write(msgspec.json.encode(steps))


if __name__ == "__main__":
    _main()
