"""The ``metalwright`` command: prints, prompts and exit codes; the only place that exits."""

from metalwright.cli.app import main

__all__ = ["main"]
