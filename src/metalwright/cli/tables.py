"""Tables that are never folded: on a terminal that is too narrow, each row becomes a block of lines."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

_UNBOUNDED = 10_000


def print_table(out: Console, table: Table) -> None:
    """Print a table where it fits, else its rows one below the other, each value behind the name of its column."""
    if out.measure(table, options=out.options.update(max_width=_UNBOUNDED)).maximum <= out.width:
        out.print(table)
        return
    names = [_text(column.header) for column in table.columns]
    width = max((len(name.plain) for name in names[1:]), default=0)
    for row in zip(*(column.cells for column in table.columns), strict=True):
        first, *rest = map(_text, row)
        out.print(first, soft_wrap=True)
        for name, value in zip(names[1:], rest, strict=True):
            if value.plain.strip():
                line = Text.assemble("  ", (f"{name.plain:<{width}}", "bold"), "  ", value)
                out.print(line, soft_wrap=True)


def _text(cell: object) -> Text:
    return cell.copy() if isinstance(cell, Text) else Text.from_markup(str(cell))
