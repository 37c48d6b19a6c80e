"""Drift of the live fleet: every layer of every node is read, nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

from metalwright.errors import MetalwrightError
from metalwright.lifecycle.observations import (
    HardenObservation,
    IdentifyObservation,
    ImageObservation,
    MatchObservation,
    Observation,
    SoftwareObservation,
)
from metalwright.matching.replaced import ReplacedParts, owners_of, replaced_parts
from metalwright.model.drift import Difference, LastTouch, Layer, NodeDrift
from metalwright.model.finding import Finding
from metalwright.model.phase import Phase
from metalwright.runner.handlers import NodeHandlers, Purpose
from metalwright.runner.pyinfra_process import Preview
from metalwright.workspace import Workspace

LAYERS: Mapping[Phase, Layer] = {
    Phase.IDENTIFY: "identity",
    Phase.MATCH: "hardware",
    Phase.ADDRESS: "network",
    Phase.FIRMWARE: "firmware",
    Phase.BIOS: "bios",
    Phase.HARDEN: "accounts",
    Phase.IMAGE: "image",
    Phase.SOFTWARE: "software",
}


def observe_drift(workspace: Workspace, nodes: Iterable[str]) -> tuple[NodeDrift, ...]:
    """Compare nodes with git, side by side."""
    parallel = workspace.repository.site.limits.parallel_nodes
    with ThreadPoolExecutor(max_workers=parallel, thread_name_prefix="drift") as pool:
        return tuple(pool.map(lambda node: _drift(workspace, node), nodes))


def _drift(workspace: Workspace, node: str) -> NodeDrift:
    handlers = NodeHandlers(workspace, node, Purpose(run="drift"))
    differences: list[Difference] = []
    unknown: list[str] = []
    is_git_newer = False
    is_silent = False
    for phase, layer in LAYERS.items():
        if phase is Phase.SOFTWARE and is_silent:
            unknown.append(f"{layer}: the operating system does not answer")
            continue
        try:
            seen = handlers.observe(phase, ())
            found = list(_differences(layer, seen, handlers))
        except MetalwrightError as error:
            unknown.append(f"{layer}: {_told(error)}")
            if phase is Phase.IDENTIFY:
                break
            continue
        differences += found
        is_silent = is_silent or (isinstance(seen, ImageObservation) and seen.os.kind == "silent")
        if isinstance(seen, SoftwareObservation):
            is_git_newer = seen.accepted_recipe is not None and seen.recipe != seen.accepted_recipe
        if phase is Phase.IDENTIFY and found:
            break  # another machine: what else is on it says nothing about this node
    touched = tuple(_touches(workspace, node, {item.layer for item in differences}))
    parts = _replaced(workspace, node, handlers)
    return NodeDrift(
        node=node,
        blueprint=workspace.blueprint(node).ref,
        is_git_newer=is_git_newer,
        differences=tuple(differences),
        unknown=tuple(unknown),
        touched=touched,
        replaced=tuple(parts.replacements),
        not_accepted=tuple(parts.reasons),
    )


def _told(error: MetalwrightError) -> str:
    """What cannot be read, and the beginning of what was found instead."""
    found = (error.found or "").strip().splitlines()
    return f"{error.what} ({found[0].strip()})" if found else error.what


def _replaced(workspace: Workspace, node: str, handlers: NodeHandlers) -> ReplacedParts:
    report = handlers.bmc.seen_report
    if report is None:
        return ReplacedParts()
    declared, blueprint = workspace.repository.node(node), workspace.blueprint(node)
    return replaced_parts(declared, blueprint, report, owners_of(workspace.repository.nodes()))


def _differences(layer: Layer, seen: Observation, handlers: NodeHandlers) -> Iterator[Difference]:
    if isinstance(seen, IdentifyObservation):
        yield from _contradictions(layer, seen.findings)
    elif isinstance(seen, MatchObservation):
        yield from _contradictions(layer, seen.result.findings)
    elif isinstance(seen, SoftwareObservation):
        for preview in handlers.preview_software():
            yield from _previewed(layer, preview)
    elif isinstance(seen, HardenObservation):
        for preview in handlers.harden_preview:
            yield from _previewed(layer, preview)
    elif isinstance(seen, ImageObservation) and seen.os.kind == "silent":
        yield Difference(layer=layer, what="the operating system does not answer", wanted=seen.wanted_image)
    else:
        for change in seen.changes():
            yield Difference(layer=layer, what=change.what, found=change.from_, wanted=change.to)


def _previewed(layer: Layer, preview: Preview) -> Iterator[Difference]:
    """What an operation says of itself, below its name; the name alone where it says nothing."""
    if not preview.lines:
        yield Difference(layer=layer, what=preview.operation)
    for line in preview.lines:
        what, _, values = line.partition(": ")
        found, _, wanted = values.partition(" → ")
        yield Difference(layer=layer, group=preview.operation, what=what, found=found or None, wanted=wanted or None)


def _contradictions(layer: Layer, findings: tuple[Finding, ...]) -> Iterator[Difference]:
    for item in findings:
        if item.verdict == "FAIL":
            what = f"{item.code} {item.slot or ''}".strip()
            yield Difference(layer=layer, what=what, found=item.found, wanted=item.expected)


def _touches(workspace: Workspace, node: str, layers: set[Layer]) -> Iterator[LastTouch]:
    for phase, layer in LAYERS.items():
        record = workspace.journal.runs.last_phase(node, phase) if layer in layers else None
        if record is not None and record.finished is not None:
            run = workspace.journal.runs.get(record.run)
            yield LastTouch(layer=layer, at=record.finished.isoformat(timespec="seconds"), run=record.run, by=run.by)
