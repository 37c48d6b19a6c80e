"""Rendered files: one look at all of them, one transfer for those that differ."""

from __future__ import annotations

import base64
import difflib
import hashlib
import io
import shlex
import tarfile
from collections.abc import Generator, Mapping, Sequence

from pyinfra import host, logger
from pyinfra.api import QuoteString, StringCommand
from pyinfra.facts.files import FileContents

from metalwright.facts.files import FileState, FileStates
from metalwright.operations.differences import line, show_diff
from metalwright.operations.failure import Commands, answer, node_operation

NEW = ".metalwright-new"
"""How a file is called until it takes the place of the old one; sudo, sshd, apt and systemd read no such name."""


@node_operation
def rendered(files: Sequence[Mapping[str, str]]) -> Generator[StringCommand, None, None]:
    """Each of ``files`` (``{"path", "text", "mode"}``) is there with this text and mode, owned by root.

    ``--diff`` shows what would change. A file may have a ``"check"``, see :func:`written`.
    """
    if not files:
        host.noop("there is nothing to render")
        return
    states = answer(FileStates, paths=[item["path"] for item in files])
    missing = differing(files, states)
    show_differences(missing, states)
    if missing:
        yield written(missing)
    else:
        host.noop("all files are as rendered")


@node_operation
def absent(paths: Sequence[str], *, afterwards: str | None = None) -> Commands:
    """None of ``paths`` is there; ``afterwards`` is a shell line that runs when one of them was."""
    there = answer(FileStates, paths=list(paths)) if paths else {}
    found = [path for path in paths if path in there]
    show_diff(line(f"file {path}", "there", "absent") for path in found)
    if not found:
        host.noop("none of the files is there")
        return
    yield StringCommand("rm", *map(QuoteString, found))
    if afterwards is not None:
        yield StringCommand(afterwards)


def written(files: Sequence[Mapping[str, str]]) -> StringCommand:
    """The command that writes them: all of them beside the old ones first, then each takes its place at once.

    A full disk or a cut leaves every old file whole; so does a ``check`` (a command that is given the new file's path)
    that fails.
    """
    paths = [item["path"] for item in files]
    names = " ".join(shlex.quote(path) for path in paths)
    unpack = f"tar --extract --directory / --unlink-first --touch --transform 's/$/{NEW}/' --file -"
    checks = "".join(f"{item['check']} {shlex.quote(item['path'] + NEW)} && " for item in files if item.get("check"))
    place = f'for path in {names}; do mv --force "$path{NEW}" "$path"; done'
    clear = f'for path in {names}; do rm --force "$path{NEW}"; done; exit 1'
    return StringCommand(
        f": write {', '.join(paths)};", f"base64 --decode | {unpack} && {checks}{{ {place}; }} || {{ {clear}; }}",
        _stdin=archive(files),
    )  # fmt: skip


def differing(files: Sequence[Mapping[str, str]], states: Mapping[str, FileState]) -> list[Mapping[str, str]]:
    """Those of ``files`` that are not there as they should be."""
    return [item for item in files if not _is_there(item, states.get(item["path"]))]


def show_differences(
    missing: Sequence[Mapping[str, str]], states: Mapping[str, FileState], surplus: Sequence[str] = ()
) -> None:
    """With ``--diff``: a line for each file, then the lines that change in it."""
    lines = [line(f"file {item['path']}", _found(item, states.get(item["path"])), "as rendered") for item in missing]
    show_diff([*lines, *(line(f"file {path}", "there", "absent") for path in surplus)])
    if host.state.config.DIFF:
        for item in missing:
            _show_difference(item, is_there=item["path"] in states)


def _is_there(item: Mapping[str, str], state: FileState | None) -> bool:
    return state == {
        "mode": item["mode"],
        "user": "root",
        "group": "root",
        "sha256": hashlib.sha256(item["text"].encode()).hexdigest(),
    }


def _found(item: Mapping[str, str], state: FileState | None) -> str:
    """What is wrong with a file, in words."""
    if state is None:
        return "absent"
    words = ["other text"] if state["sha256"] != hashlib.sha256(item["text"].encode()).hexdigest() else []
    words += [f"mode {state['mode']}"] if state["mode"] != item["mode"] else []
    owner = (state["user"], state["group"])
    words += [f"owner {':'.join(owner)}"] if owner != ("root", "root") else []
    return ", ".join(words)


def archive(files: Sequence[Mapping[str, str]]) -> list[str]:
    """A tar archive in lines of base64; the files belong to root."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for item in files:
            data = item["text"].encode()
            entry = tarfile.TarInfo(item["path"].lstrip("/"))
            entry.size, entry.mode = len(data), int(item["mode"], 8)
            entry.uname = entry.gname = "root"
            archive.addfile(entry, io.BytesIO(data))
    return base64.encodebytes(buffer.getvalue()).decode().split()


def _show_difference(item: Mapping[str, str], *, is_there: bool) -> None:
    before = host.get_fact(FileContents, path=item["path"]) or [] if is_there else []
    lines = difflib.unified_diff(before, item["text"].splitlines(), item["path"], item["path"], lineterm="")
    for text in lines:
        logger.info(f"{host.print_prefix}{text}")
