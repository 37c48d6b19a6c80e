"""The result of a match as a technician reads it beside the machine: where, wanted, there, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.text import Text

from metalwright.model.finding import Finding, MatchResult

STYLES = {"PASS": "green", "FAIL": "bold red", "DEFERRED": "yellow"}


def print_match(out: Console, result: MatchResult) -> None:
    """Print one node: the verdict, then its findings, contradictions first."""
    out.print(Text(_headline(result), style=STYLES[result.verdict]))
    for finding in sorted(result.findings, key=lambda item: item.verdict != "FAIL"):
        for number, line in enumerate(_lines(finding)):
            out.print(Text(line, style=STYLES[finding.verdict] if number == 0 else ""), soft_wrap=True)


def _headline(result: MatchResult) -> str:
    counts = [
        (sum(item.verdict == "FAIL" for item in result.findings), "to repair"),
        (sum(item.verdict == "DEFERRED" for item in result.findings), "unknown to the BMC"),
    ]
    told = ", ".join(f"{count} {what}" for count, what in counts if count)
    return f"{result.node}: {result.verdict}" + (f" ({told})" if told else "")


def _lines(finding: Finding) -> Iterator[str]:
    yield f"  {finding.verdict} {finding.code}" + (f": {finding.slot}" if finding.slot is not None else "")
    for name, value in _rows(finding):
        yield f"    {name:<9} {value}"


def _rows(finding: Finding) -> Iterable[tuple[str, str]]:
    rows = (("expected", finding.expected), ("found", finding.found))
    yield from ((name, value) for name, value in rows if value is not None)
    if finding.hint is not None:
        yield "do" if finding.verdict == "FAIL" else "then", finding.hint
