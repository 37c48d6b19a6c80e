"""``metalwright credentials``: the memory of logins that BMCs refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from metalwright.cli.context import CliContext
from metalwright.cli.history import open_history

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


def _keys(journal: Journal, node: str) -> list[str]:
    """Return the names under which a BMC's refusals are kept: its node, and where it answered last."""
    seen = journal.bmc_addresses.get(node)
    return [node] if seen is None else [node, f"{seen.address}:{seen.port}"]
