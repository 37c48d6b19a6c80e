"""The ``metalwright`` command: prints, prompts and exit codes; the only place that exits."""

from __future__ import annotations

import signal

__all__ = ["main"]


def main() -> None:
    """Entry point. Ctrl-C while modules load ends the process by the signal (130 in a shell), without a traceback."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from metalwright.cli.app import main as run_command_line

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command_line()
