"""Versions of blueprints as files: a new class, the next version, a release that keeps the rules, a retirement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from metalwright.errors import InvalidFilesError, LoadingError, UsageError
from metalwright.loading import load_model, read_text, release, write_atomically
from metalwright.loading.blueprint_lock import read_records, retire
from metalwright.loading.messages import nearest
from metalwright.loading.models import Loaded
from metalwright.loading.scalars import with_scalars
from metalwright.loading.site_files import SiteFiles, read_site_files
from metalwright.model.blueprint import Blueprint
from metalwright.model.review import Part
from metalwright.review.differences import next_version, version_key
from metalwright.review.release_rules import version_fault

FIRST_VERSION = "1.0.0"


def new_class(root: Path, name: str, source: str) -> Path:
    """Begin a class as a copy of another blueprint; returns the file of its version 1.0.0.

    Raises:
        UsageError: no such source, or the class exists.
    """
    files = read_site_files(root)
    loaded = _known(files, source)
    path = files.paths.blueprint(f"{name}@{FIRST_VERSION}")
    if path.parent.exists():
        raise UsageError("there is such a class already", where=str(path.parent), hint="bump makes its next version")
    text = with_scalars(loaded, {("name",): name})
    return _write(files, text, f"{name}@{FIRST_VERSION}", previous=None)


def bump(root: Path, ref: str, part: Part) -> Path:
    """Begin the next version after ``ref`` (``NAME`` alone: after the newest) as a copy of it; returns its file.

    Raises:
        UsageError: no such blueprint.
        LoadingError: the next number is taken.
    """
    files = read_site_files(root)
    loaded = _known(files, ref)
    old = loaded.model
    wanted = f"{old.name}@{next_version(old.version, part)}"
    if files.paths.blueprint(wanted).exists() or wanted in read_records(root):
        raise LoadingError(
            f"{wanted} exists already", where=str(files.paths.blueprint(wanted)), hint=f"bump {wanted}, or edit it"
        )
    return _write(files, _text(loaded, root), wanted, previous=old.version)


def release_versions(root: Path, refs: list[str]) -> dict[str, str]:
    """Record the bytes of blueprint files, when their numbers say what they change; returns the new lock.

    Raises:
        UsageError: no such valid blueprint, or no version is named.
        InvalidFilesError: a number that promises less than the version changes.
    """
    files = read_site_files(root)
    blueprints = {ref: loaded.model for ref, loaded in files.blueprints.items()}
    faults = []
    for ref in refs:
        loaded = _known(files, ref)
        if "@" not in ref:
            raise UsageError("which version is to be released?", where=ref, hint=f"for its newest: {loaded.model.ref}")
        fault = version_fault(loaded.model, blueprints)
        if fault is not None:
            hint = f"metalwright blueprint bump --part {fault[1]} makes the right number"
            faults.append(LoadingError(fault[0], where=loaded.where("version"), hint=hint))
    if faults:
        raise InvalidFilesError(faults)
    return release(root, refs)


def retire_version(root: Path, ref: str) -> None:
    """Remove a released version that nothing needs any more; its number stays taken.

    Raises:
        LoadingError: something still names it, or it was never released.
    """
    files = read_site_files(root)
    users = list(_users(files, ref))
    if users:
        raise LoadingError(
            f"{ref} is still in use",
            where=str(files.paths.blueprint(ref)),
            found="; ".join(users[:5]) + (f" and {len(users) - 5} more" if len(users) > 5 else ""),
            hint="move its nodes first; a version that something may fall back to stays",
        )
    retire(root, ref)


def known_blueprint(root: Path, ref: str) -> Blueprint:
    """The blueprint ``NAME@VERSION``, or the newest of ``NAME``.

    Raises:
        UsageError: there is none.
    """
    return _known(read_site_files(root), ref).model


def _users(files: SiteFiles, ref: str) -> Iterator[str]:
    for rack in files.racks:
        for index, node in enumerate(rack.model.nodes):
            if node.blueprint == ref:
                yield f"node {node.name} ({rack.where('nodes', index, 'blueprint')})"
    for other in files.blueprints.values():
        previous = other.model.rollback.previous
        if previous is not None and f"{other.model.name}@{previous}" == ref:
            yield f"{other.model.ref} rolls back to it ({other.where('rollback', 'previous')})"
    for known in files.known_good.nodes:
        if known.blueprint == ref:
            yield f"known good on {known.node} ({files.paths.known_good})"


def _known(files: SiteFiles, ref: str) -> Loaded[Blueprint]:
    if "@" not in ref:
        versions = [item for item in files.blueprints.values() if item.model.name == ref]
        newest = max(versions, key=lambda item: version_key(item.model.version), default=None)
    else:
        newest = files.blueprints.get(ref)
    if newest is None:
        raise UsageError("no such valid blueprint", where=ref, hint=nearest(ref, files.blueprints))
    return newest


def _text(loaded: Loaded[Blueprint], root: Path) -> str:
    return read_text(loaded.path, root=root)


def _write(files: SiteFiles, text: str, ref: str, previous: str | None) -> Path:
    """Write a copy under its own number; it says what it rolls back to."""
    path = files.paths.blueprint(ref)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = re.sub(r"^version:.*$", f"version: {ref.partition('@')[2]}", text, count=1, flags=re.MULTILINE)
    text = _with_previous(text, previous)
    write_atomically(path, text)
    try:
        load_model(path, Blueprint, root=files.paths.root)
    except LoadingError:
        path.unlink()
        raise
    return path


def _with_previous(text: str, previous: str | None) -> str:
    """The text with ``rollback.previous`` set, or taken out."""
    own = [f"previous: {previous}"] if previous is not None else []
    flow = re.search(r"(?m)^rollback:[ ]*\{([^{}\n]*)\}", text)
    if flow is not None:
        parts = [part.strip() for part in flow[1].split(",")]
        kept = [part for part in parts if part and not part.startswith("previous:")]
        return f"{text[: flow.start()]}rollback: {{{', '.join([*own, *kept])}}}{text[flow.end() :]}"
    block = re.search(r"(?m)^rollback:[ ]*(#.*)?\n((?:[ ]+.*\n?)+)", text)
    if block is not None:
        lines = [line for line in block[2].splitlines() if not line.strip().startswith("previous:")]
        indent = " " * (len(block[2]) - len(block[2].lstrip()))
        body = "".join(f"{line}\n" for line in [*(f"{indent}{item}" for item in own), *lines])
        return f"{text[: block.start(2)]}{body}{text[block.end(2) :]}"
    return f"{text.rstrip()}\n\nrollback: {{previous: {previous}}}\n" if own else text
