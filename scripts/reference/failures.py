"""The page of known failures: what others met, what metalwright does about it, and which test proves it.

``tests/failures/<area>.toml`` names each failure in a line. Its tests carry the id in their name
(``test_rt_01_…``) and say in the first line of their docstring what metalwright does.
"""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TESTS = ROOT / "tests"
CATALOGUES = TESTS / "failures"
_AREAS = "rt|in|di|bi|pw|bv|fw|ac|ad|im|st|py|dr|ap|rv"
_TEST_NAME = re.compile(rf"test_({_AREAS})_(\d{{2}})[a-z]?_\w+$")
_KEYS = {"failure", "not_handled"}


@dataclass(frozen=True)
class FailureTest:
    """One test of a known failure. ``does`` is the first line of its docstring, empty where it has none."""

    identifier: str
    path: str
    name: str
    does: str


@dataclass(frozen=True)
class KnownFailure:
    """One entry of a catalogue. ``not_handled`` says why nothing, or not all, is done about it."""

    identifier: str
    failure: str
    not_handled: str | None


@dataclass(frozen=True)
class Area:
    """One catalogue file: its title and its failures."""

    title: str
    failures: tuple[KnownFailure, ...]


def areas() -> list[Area]:
    """Every catalogue, in the order of the file names; ``ValueError`` for an entry that says nothing or too much."""
    return [_area(path) for path in sorted(CATALOGUES.glob("*.toml"))]


def failure_tests() -> list[FailureTest]:
    """Every test whose name carries the id of a failure, by path and line."""
    found = []
    for path in sorted(TESTS.rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (named := _TEST_NAME.match(node.name)):
                does = (ast.get_docstring(node) or "").partition("\n")[0]
                identifier = f"{named[1].upper()}-{named[2]}"
                found.append(FailureTest(identifier, str(path.relative_to(TESTS)), node.name, does))
    return found


def render() -> str:
    """The page, as Markdown."""
    tests: dict[str, list[FailureTest]] = {}
    for test in failure_tests():
        tests.setdefault(test.identifier, []).append(test)
    known = areas()
    every = [failure for area in known for failure in area.failures]
    tested = sum(failure.identifier in tests for failure in every)
    open_ones = sum(failure.not_handled is not None for failure in every)
    lines = [
        "# Known failures\n",
        "What other people's provisioning code met with real hardware, and what metalwright does about it. "
        "Each line is proven by a test that carries the id in its name.\n",
        f"{len(every)} failures; {tested} with a test; {open_ones} not handled, or not fully.\n",
    ]
    for area in known:
        lines += [f"\n## {area.title}\n", "| id | failure | what metalwright does | tests |", "|---|---|---|---|"]
        lines += [_row(failure, tests.get(failure.identifier, [])) for failure in area.failures]
    return "\n".join(lines) + "\n"


def _row(failure: KnownFailure, tests: list[FailureTest]) -> str:
    does = list(dict.fromkeys(test.does for test in tests if test.does))
    if failure.not_handled is not None:
        does.append(f"**Not handled:** {failure.not_handled}")
    places = "<br>".join(f"`{test.path}`<br>`{test.name}`" for test in tests)
    cells = [failure.identifier, failure.failure, "<br>".join(does), places]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _area(path: Path) -> Area:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    title = data.pop("title")
    failures = []
    for identifier, entry in sorted(data.items()):
        if "failure" not in entry or set(entry) - _KEYS:
            raise ValueError(f"{path}: [{identifier}] has the keys {', '.join(entry)}, not failure and not_handled")
        failures.append(KnownFailure(identifier, entry["failure"], entry.get("not_handled")))
    return Area(title, tuple(failures))
