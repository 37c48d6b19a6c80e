"""``metalwright runbook``: list, read, check and follow the runbooks of a site."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from rich.markdown import Markdown

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.history import open_history, print_columns
from metalwright.errors import LoadingError, UsageError
from metalwright.loading.runbooks import list_runbooks, read_runbook

EXIT_FINDINGS = 2

runbook = typer.Typer(help="Runbooks: prose that a person reads, steps that the tool runs.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="The runbook: a file of runbooks/ without `.md`.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(runbook, name="runbook")


@runbook.command("list")
def list_command(
    context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """List the runbooks of the site."""
    cli: CliContext = context.obj
    books = [read_runbook(cli.site, path.stem) for path in list_runbooks(cli.site)]
    if as_json:
        print_json({"schema": 1, "runbooks": books})
        return
    print_columns(("runbook", "steps", "title"), [(book.name, str(len(book.steps)), book.title) for book in books])


@runbook.command("show")
def show(context: typer.Context, name: Name) -> None:
    """Show a runbook as a page."""
    cli: CliContext = context.obj
    read_runbook(cli.site, name)
    cli.out.print(Markdown((cli.site / "runbooks" / f"{name}.md").read_text(encoding="utf-8")))


@runbook.command("check")
def check(context: typer.Context) -> int:
    """Prove that every command in every runbook exists with its options.

    A step must also say what to do if it fails. Exit 2: something is wrong; every line is named.
    """
    from metalwright.cli.runbook_commands import problems

    cli: CliContext = context.obj
    found: list[str] = []
    names = [path.stem for path in list_runbooks(cli.site)]
    for name in names:
        try:
            found += problems(read_runbook(cli.site, name), cli.site)
        except LoadingError as error:
            found.append(str(error))
    for line in found:
        typer.echo(line)
    typer.echo(f"{len(names)} runbooks, {len(found)} problems", err=True)
    return EXIT_FINDINGS if found else 0


@runbook.command("run")
def run(
    context: typer.Context,
    name: Name,
    node: Annotated[str, typer.Argument(help="The node.")],
    values: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another placeholder.")
    ] = None,
    instead: Annotated[
        list[str] | None,
        typer.Option(metavar="COMMAND", help="Run this command of a step's *if it fails* part in place of its own."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing between the steps.")] = False,
) -> int:
    """Follow a runbook for one node, step by step; an interrupted one is taken up where it stopped.

    A command that fails ends it with that command's exit code, after showing what to do; in a terminal, what the step
    says for that case can be run at once. --instead names such a command beforehand, exactly as the runbook has it.
    """
    from metalwright.cli.runbook_run import RunbookRun, chosen_remedies, parse_values

    cli: CliContext = context.obj
    cli = replace(cli, site=cli.site.resolve())  # its scripts are run from there
    book = read_runbook(cli.site, name)
    with open_history(cli) as history:
        if node not in history.declared:
            raise UsageError("no such node", where=node, hint=f"known nodes: {', '.join(history.declared)}")
        settings = parse_values(node, values or [])
        return RunbookRun(
            cli, history.journal, book, node, settings, yes, chosen_remedies(book, instead or [])
        ).follow()
