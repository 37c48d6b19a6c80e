"""``metalwright credentials``: factory passwords of single units, and the memory of logins that BMCs refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metalwright.cli.context import CliContext
from metalwright.cli.history import open_history
from metalwright.secrets.opening import keys_of
from metalwright.secrets.sticker_file import read_stickers
from metalwright.workspace import open_workspace

if TYPE_CHECKING:
    from metalwright.journal import Journal

credentials = typer.Typer(help="Logins of BMCs.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(credentials, name="credentials")


@credentials.command("clear")
def clear(
    context: typer.Context,
    node: Annotated[str, typer.Argument(help="The node, or HOST:PORT of a BMC that belongs to no node yet.")],
    why: Annotated[str, typer.Option(help="What was repaired; kept in the audit log.")] = "no reason given",
) -> None:
    """Forget which logins a BMC refused, so that each may be tried once more.

    Do this after the password was repaired on the BMC or in the secret store: most BMCs lock an account for
    everybody after a few wrong passwords.
    """
    cli: CliContext = context.obj
    with open_history(cli) as history:
        count = sum(history.journal.refused_logins.clear(key, why) for key in _keys(history.journal, node))
    if count:
        typer.echo(f"{node}: {count} refused {'login' if count == 1 else 'logins'} forgotten", err=True)
    else:
        typer.echo(f"{node}: no login was refused", err=True)


@credentials.command("import-stickers")
def import_stickers(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV with the headings serial, mac, user, password.")],
    user: Annotated[str | None, typer.Option("--user", help="The user where the list has none.")] = None,
) -> None:
    """Keep the factory passwords of single units in the secret store, from the list that came with the servers.

    Each line names a unit by serial or MAC (or both). All lines are kept or none; wrong ones are named by line.
    Importing a list again changes nothing. Delete the file afterwards: the secret store is enough.
    """
    cli: CliContext = context.obj
    stickers = read_stickers(file, user)
    with open_workspace(cli.site) as site:
        done = site.bmc_credentials.stickers.add(stickers)
        declared = {key for node in site.repository.racked() for key in keys_of(node)}
    strangers = [sticker for sticker in stickers if declared.isdisjoint(sticker.keys)]
    cli.err.print(f"{file}: {done.new} new, {done.changed} changed, {done.known} known already", markup=False)
    if strangers:
        cli.err.print(f"{len(strangers)} of them belong to no node yet; discover uses them all the same", markup=False)


def _keys(journal: Journal, node: str) -> list[str]:
    """Return the names under which a BMC's refusals are kept: its node, and where it answered last."""
    seen = journal.bmc_addresses.get(node)
    return [node] if seen is None else [node, f"{seen.address}:{seen.port}"]
