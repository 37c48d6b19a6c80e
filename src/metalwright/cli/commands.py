"""The commands: the module that brings each of them, loaded only when it is asked for, and its line in the overview.

Loading every module takes longer than most commands do, and ``metalwright status`` needs no HTTP library.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from metalwright.cli.usage import make_plain


class CommandEntry(NamedTuple):
    """``module`` under ``metalwright.cli`` adds the command by ``register(app)``; ``summary`` is its line of help."""

    module: str
    summary: str


COMMANDS: Mapping[str, CommandEntry] = MappingProxyType(
    {
        "check": CommandEntry("check", "Check every file, lock and cross reference, offline."),
        "schema": CommandEntry("schema", "Print JSON Schemas for editors and programs."),
        "init": CommandEntry("init", "Make a new site repository."),
        "blueprint": CommandEntry("blueprint", "Versions of blueprints."),
        "discover": CommandEntry("discover", "Find BMCs and claim them for nodes."),
        "inspect": CommandEntry("inspect", "Read what is in a machine."),
        "match": CommandEntry("match", "Compare machines with their blueprints."),
        "bios": CommandEntry("bios", "BIOS attributes of a server, and registries of attributes."),
        "locate": CommandEntry("locate", "Light the LED of a server."),
        "power": CommandEntry("power", "Show or change the power of a node."),
        "console": CommandEntry("console", "Reach the serial console of a node."),
        "sel": CommandEntry("sel", "Show or clear the event log of a node."),
        "addresses": CommandEntry("addresses", "Addresses of nodes: allocate, explain, export."),
        "labels": CommandEntry("labels", "Labels and topology of nodes, for schedulers."),
        "monitoring": CommandEntry("monitoring", "What watches the fleet: alerts, Prometheus, dashboards."),
        "image": CommandEntry("image", "Images: build, add, list, verify."),
        "review": CommandEntry("review", "Say what a change will do to which nodes."),
        "plan": CommandEntry("plan", "Show every change before it is made."),
        "drift": CommandEntry("drift", "Show where machines are not as git wants them."),
        "provision": CommandEntry("provision", "Bring nodes to ready, phase by phase."),
        "rebuild": CommandEntry("rebuild", "Write a node's system disk again."),
        "rollback": CommandEntry("rebuild", "Bring the nodes that a run changed back to what they had."),
        "resume": CommandEntry("rebuild", "Take up every run that did not finish."),
        "accept": CommandEntry("accept", "Run the acceptance tests of a node."),
        "certificate": CommandEntry("accept", "Certificates of accepted nodes."),
        "status": CommandEntry("status", "Show where each node stands and what is next."),
        "journal": CommandEntry("journal", "Show what happened to a node."),
        "runbook": CommandEntry("runbook", "Follow a written guide, step by step."),
        "cancel": CommandEntry("custody", "Ask the run that works on a node to stop."),
        "takeover": CommandEntry("custody", "Take a node from a run that died elsewhere."),
        "quarantine": CommandEntry("custody", "Set a node aside."),
        "release": CommandEntry("custody", "Let a held or quarantined node be worked on again."),
        "credentials": CommandEntry("credentials", "Logins of BMCs."),
        "serve": CommandEntry("serve", "Run the boot server."),
        "lab": CommandEntry("lab", "Virtual machines with BMCs of their own."),
        "simulate": CommandEntry("simulate", "Run BMCs for tests: one process, one TLS port, one address each."),
    }
)
"""Name → module and summary, in the order of the overview."""


class LazyCommands(TyperGroup):
    """A group whose commands are imported one by one, when they are run or their help is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, without loading anything."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load the module that brings a command; ``None`` for a name that no module brings."""
        del ctx
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.commands.update(load_commands(COMMANDS[cmd_name].module))
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As the base class; a mistyped name is compared with the table instead of with what is loaded."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = get_close_matches(name, COMMANDS)
            ctx.fail(f"No such command {name!r}." + (f" Did you mean {', '.join(map(repr, near))}?" if near else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The overview, from the table alone."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


def load_commands(module: str) -> dict[str, Any]:
    """Name → command for everything that a module under ``metalwright.cli`` registers."""
    fragment = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False)
    importlib.import_module(f"metalwright.cli.{module}").register(fragment)
    group = typer.main.get_group(fragment)
    make_plain(group)
    return dict(group.commands)
