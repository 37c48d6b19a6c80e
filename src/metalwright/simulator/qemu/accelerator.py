"""KVM or software emulation: tried, not guessed."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Literal

from metalwright.simulator.qemu.firmware import Firmware

Accelerator = Literal["kvm", "tcg"]

_PROBE_TIMEOUT_S = 15.0
_POLL_S = 0.05
_FAILURES = (b"internal error", b"emulation failure", b"failed to initialize")

_lock = threading.Lock()
_known: dict[str, Accelerator] = {}


def find_accelerator(qemu: str, firmware: Firmware) -> Accelerator:
    """``kvm`` when the firmware really comes up under it, else ``tcg``; blocks up to 15 s, once per process.

    On some machines /dev/kvm can be opened, but the guest stops at one of its first instructions.
    """
    with _lock:
        if qemu not in _known:
            is_offered = os.access("/dev/kvm", os.R_OK | os.W_OK)
            _known[qemu] = "kvm" if is_offered and _firmware_comes_up(qemu, firmware) else "tcg"
        return _known[qemu]


def known_accelerator() -> Accelerator | None:
    """What the probe of this process found, None before the first one."""
    return next(iter(_known.values()), None)


def distrust_kvm(qemu: str) -> None:
    """Use software emulation from now on: KVM failed later than the probe could see."""
    with _lock:
        _known[qemu] = "tcg"


def _firmware_comes_up(qemu: str, firmware: Firmware) -> bool:
    with tempfile.TemporaryDirectory(prefix="kvm-probe-") as folder:
        serial, errors = Path(folder) / "serial", Path(folder) / "errors"
        argv = [qemu, "-accel", "kvm", "-cpu", "host", "-machine", "q35", "-m", "256", "-nodefaults"]
        argv += ["-display", "none", "-no-reboot", "-serial", f"file:{serial}"]
        argv += ["-drive", f"if=pflash,format=raw,unit=0,readonly=on,file={firmware.code}"]
        argv += ["-drive", f"if=pflash,format=raw,unit=1,snapshot=on,file={firmware.variables}"]
        with errors.open("wb") as log, subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as run:
            try:
                return _wait_for_output(run, serial, errors)
            finally:
                run.kill()


def _wait_for_output(run: subprocess.Popen[bytes], serial: Path, errors: Path) -> bool:
    deadline = time.monotonic() + _PROBE_TIMEOUT_S
    while time.monotonic() < deadline:
        if serial.exists() and serial.stat().st_size > 0:
            return True
        complaint = errors.read_bytes()
        if run.poll() is not None or any(failure in complaint for failure in _FAILURES):
            return False
        time.sleep(_POLL_S)
    return False
