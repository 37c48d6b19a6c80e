"""Usage lines as manuals write them: ``NODE...``, ``[NODE...]``."""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument


class PlainArgument(TyperArgument):
    """An argument whose usage is its name in capitals, in brackets where it can be left out."""

    def get_usage_pieces(self, ctx: Any) -> list[str]:
        """``NODE``, ``NODE...``, ``[NODE]`` or ``[NODE...]``."""
        del ctx
        name = f"{self.metavar}..." if self.nargs != 1 else f"{self.metavar}"
        return [name if self.required else f"[{name}]"]


def make_plain(command: Any) -> None:
    """Give the arguments of a command, and of the commands below it, plain usage."""
    for parameter in command.params:
        if isinstance(parameter, TyperArgument):
            name = str(parameter.name).upper()
            parameter.metavar = parameter.metavar or (name.removesuffix("S") if parameter.nargs != 1 else name)
            parameter.__class__ = PlainArgument  # typer makes them and takes no class of ours
    for below in getattr(command, "commands", {}).values():
        make_plain(below)
