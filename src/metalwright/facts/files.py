"""Files of a node, any number with one command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from pyinfra.api import QuoteString, StringCommand
from pyinfra.api.exceptions import FactProcessError

from metalwright.facts.answers import NodeFact, all_marked


class FileState(TypedDict):
    """``mode`` in octal without a leading zero, ``sha256`` in lower-case hexadecimal."""

    mode: str
    user: str
    group: str
    sha256: str


class FileStates(NodeFact[dict[str, FileState]]):
    """Path → state of each regular file that is there."""

    def command(self, paths: Sequence[str]) -> StringCommand:
        """``stat`` and ``sha256sum`` complain about what is not there; the closing line says that they ran."""
        names = [QuoteString(path) for path in paths]
        return StringCommand(
            "stat --format='stat:%F|%a|%U|%G|%n'", *names, "2>/dev/null;",
            "sha256sum --", *names, "2>/dev/null; echo files-end",
        )  # fmt: skip

    def process(self, output: list[str]) -> dict[str, FileState]:
        """Both lists, joined by path."""
        if "files-end" not in output:
            raise FactProcessError(f"stat gave no answer: {output[-3:]}")
        rows = [line.removeprefix("stat:").split("|", 4) for line in output if line.startswith("stat:regular ")]
        digests = {line[66:]: line[:64] for line in output if line[64:66] == "  "}
        return {
            path: {"mode": mode, "user": user, "group": group, "sha256": digests[path]}
            for _, mode, user, group, path in rows
            if path in digests
        }


class DirectoryFiles(NodeFact[tuple[str, ...]]):
    """Files of a directory whose names fit a pattern, sorted; none where there is no such directory."""

    def command(self, directory: str, pattern: str) -> StringCommand:
        """Marked lines and a closing one."""
        find = StringCommand("find", QuoteString(directory), "-maxdepth 1 -type f -name", QuoteString(pattern))
        return StringCommand(find, "2>/dev/null | sed 's/^/found:/'; echo find-end")

    def process(self, output: list[str]) -> tuple[str, ...]:
        """Paths."""
        if "find-end" not in output:
            raise FactProcessError(f"find gave no answer: {output[-3:]}")
        return tuple(sorted(all_marked(output, "found:")))
