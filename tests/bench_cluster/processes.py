"""What the process table says of a process: CPU time and memory; and what the machine had to give."""

import os
import time
from pathlib import Path

import msgspec

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KIB_PER_MIB = 1024
_ADDITIONS = 10_000_000


class Usage(msgspec.Struct, frozen=True):
    """A process at one moment."""

    cpu_s: float
    """User and system time so far."""
    resident_mib: float
    resident_max_mib: float
    """The most it ever had resident."""


def usage(pid: int) -> Usage:
    """A process now.

    Raises:
        ProcessLookupError: it is gone, or has ended and not been waited for.
    """
    folder = Path(f"/proc/{pid}")
    try:
        # The name of the program, in parentheses, may hold spaces.
        fields = (folder / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
        status = (folder / "status").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ProcessLookupError(f"there is no process {pid}") from error
    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    if "VmRSS" not in lines:
        raise ProcessLookupError(f"process {pid} has ended")
    resident, most = (int(lines[name].split()[0]) / _KIB_PER_MIB for name in ("VmRSS", "VmHWM"))
    return Usage((int(fields[11]) + int(fields[12])) / _TICKS_PER_S, resident, most)


class Machine(msgspec.Struct, frozen=True):
    """All cores together at one moment, in seconds since the machine started."""

    idle_s: float
    """Nothing was to be done, or only a disk was waited for."""
    stolen_s: float
    """Something was to be done, and the machine's host let others do theirs."""


def machine() -> Machine:
    """The machine now."""
    first = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
    _, _, _, idle, waiting, _, _, stolen = (int(field) / _TICKS_PER_S for field in first.split()[1:9])
    return Machine(idle + waiting, stolen)


def additions_s() -> float:
    """How long ten million additions take a Python loop: a measure of the hour, as no core tells how fast it is."""
    began_s, total = time.perf_counter(), 0
    for _ in range(_ADDITIONS):
        total += 1  # noqa: SIM113 - what is measured
    return time.perf_counter() - began_s


def model_name() -> str:
    """The processor, for people; empty where the system does not say."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return ""
