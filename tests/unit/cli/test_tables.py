"""A table is whole where it fits and a list of blocks where it does not; no word is ever cut in two."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from metalwright.cli.tables import print_table

ROWS = (
    ("gpu-a01-u07", "bios", "BIOS NUMA nodes per socket", "NPS1", "NPS4", "yes"),
    (
        "gpu-a01-u08",
        "image",
        "system disk S6XNNA0W123456",
        "",
        "debian-12-gpu@2026.11.1 sha256:6d3c0a4f0e3b1b7d",
        "yes",
    ),
)


def printed(width: int) -> list[str]:
    table = Table("node", "phase", "what", "from", "to", "disruptive", box=None, pad_edge=False)
    for row in ROWS:
        table.add_row(*row)
    stream = io.StringIO()
    print_table(Console(file=stream, width=width, soft_wrap=True, highlight=False), table)
    return stream.getvalue().splitlines()


def test_a_table_that_fits_has_a_line_a_row() -> None:
    lines = printed(160)
    assert len(lines) == 3
    assert lines[0].split() == ["node", "phase", "what", "from", "to", "disruptive"]


@pytest.mark.parametrize("width", [100, 40])
def test_a_table_that_does_not_fit_becomes_blocks(width: int) -> None:
    assert printed(width) == [
        "gpu-a01-u07",
        "  phase       bios",
        "  what        BIOS NUMA nodes per socket",
        "  from        NPS1",
        "  to          NPS4",
        "  disruptive  yes",
        "gpu-a01-u08",
        "  phase       image",
        "  what        system disk S6XNNA0W123456",
        "  to          debian-12-gpu@2026.11.1 sha256:6d3c0a4f0e3b1b7d",
        "  disruptive  yes",
    ]
