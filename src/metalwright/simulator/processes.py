"""Child processes that never outlive the process that started them."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _die_with_parent(parent: int) -> Callable[[], None]:
    def prepare() -> None:
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent died before prctl took effect
            os._exit(1)

    return prepare


async def spawn(argv: Sequence[str], output: Path, pass_fds: Sequence[int] = ()) -> asyncio.subprocess.Process:
    """Start ``argv`` in its own session, output appended to a file; the kernel kills it when we die.

    Call it from the thread that stays: the kernel binds the fuse to the calling thread.
    """
    with output.open("ab") as log:
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=tuple(pass_fds),
            start_new_session=True,
            preexec_fn=_die_with_parent(os.getpid()),
        )


async def end(process: asyncio.subprocess.Process, grace_s: float = 0.0) -> None:
    """Stop a child and its process group: first politely when ``grace_s`` is given, then for good."""
    if process.returncode is None and grace_s > 0:
        _signal_group(process, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), grace_s)
    _signal_group(process, signal.SIGKILL)
    await process.wait()


def _signal_group(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
