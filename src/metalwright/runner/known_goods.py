"""What was accepted on a node, in order: where a rollback goes, and what is tried once when a rebuild fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from metalwright.errors import ImageError, MetalwrightError, PlanError
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.journal.journal import Journal
from metalwright.journal.records import Event, KnownGoodRecord
from metalwright.lifecycle import Effect
from metalwright.model.phase import Phase
from metalwright.model.target import RebuildTarget
from metalwright.runner.provisioning import left_alone
from metalwright.runner.target import FALLBACK_CHOSEN, good_target, listed_images, pin_of
from metalwright.workspace import Workspace

CHANGING = frozenset({Effect.WRITE.value, Effect.RESET.value, Effect.DESTROY.value})


@dataclass(frozen=True)
class Rollback:
    """The nodes that a run changed and what each goes back to; ``skipped`` says why the others are left alone."""

    run: str
    targets: tuple[RebuildTarget, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)


def plan_rollback(workspace: Workspace, run: str) -> Rollback:
    """What a rollback of the run would do, from the journal alone.

    Raises:
        JournalError: no such run.
    """
    workspace.journal.runs.get(run)
    targets: list[RebuildTarget] = []
    skipped: dict[str, str] = {}
    for node in (item.node for item in workspace.journal.runs.nodes_of(run)):
        found = _goes_back_to(workspace, run, node)
        if isinstance(found, str):
            skipped[node] = found
        else:
            targets.append(found)
    return Rollback(run, tuple(targets), skipped)


def _goes_back_to(workspace: Workspace, run: str, node: str) -> RebuildTarget | str:
    """The target of one node, or why it has none."""
    journal = workspace.journal
    if all(declared.name != node for declared in workspace.repository.nodes()):
        return "it is not in the inventory any more"
    if not did_change(journal, run, node):
        return "the run changed nothing on it"
    later = next((other for other in _runs_after(journal, run, node) if did_change(journal, other, node)), None)
    if later is not None:
        return f"run {later} changed it since"
    alone = left_alone(workspace, node, "rebuild")
    if alone is not None:
        return f"it is to be left alone ({alone})"
    before = _accepted_before(journal, run, node)
    if before is None:
        return "nothing was accepted on it before this run"
    now = journal.nodes.known_good(node)
    is_same = now is not None and now.run == run and _what(now) == _what(before)
    if is_same:
        return "it was accepted again with what it had before"
    try:
        target = good_target(workspace, before.record, f"what it had before run {run}")
        _check_image(workspace, target)
    except MetalwrightError as error:
        return f"{error.what}: {error.found}" if error.found else error.what
    return target


def did_change(journal: Journal, run: str, node: str) -> bool:
    """Whether the run changed anything on the node; an act without an outcome may have."""
    events = journal.events.of(node=node, run=run)
    acts = [event for event in events if event.is_act and (event.detail or {}).get("effect") in CHANGING]
    return any(_has_changed(act, events) for act in acts if not act.what.endswith(": undrain"))


def _has_changed(act: Event, events: Iterable[Event]) -> bool:
    outcomes = [event for event in events if event.what == f"{act.what} done" and event.id > act.id]
    return not outcomes or bool((outcomes[0].detail or {}).get("changed", True))


def fallback_of(workspace: Workspace, target: RebuildTarget) -> RebuildTarget | None:
    """What is tried once when the acceptance of ``target`` fails: what was good before it, else what git lists as good.

    ``workspace`` is the site as git pins it. Nothing that is not there any more is chosen.
    """
    tried = target.blueprint_in(workspace.repository)
    refused = (tried.ref, tried.image.file_sha256)
    for known in reversed(_accepted(workspace.journal, target.node)):
        if _what(known) != refused and (found := _usable(workspace, known)) is not None:
            return found
    for image in listed_images(workspace, target.node):
        if image.file_sha256 != tried.image.file_sha256:
            blueprint = workspace.repository.node(target.node).blueprint
            return RebuildTarget(
                node=target.node, blueprint=blueprint, image=image, source="known_good of the blueprint"
            )
    return None


def due_fallback(journal: Journal, node: str) -> RebuildTarget | None:
    """The second try that is due: the newest run of the node named one, and its acceptance failed.

    The run of a second try names none, so that there is never a third; this also holds across kills.
    """
    last = journal.runs.last_of_node(node)
    if last is None or last.state != "failed":
        return None
    phase = journal.runs.last_phase(node)
    is_judged = phase is not None and phase.run == last.run and phase.phase is Phase.ACCEPT
    if phase is None or not is_judged or (phase.evidence or {}).get("code") != "accept":
        return None
    kept = [event for event in journal.events.of(node=node, run=last.run) if event.what == FALLBACK_CHOSEN]
    if not kept:
        return None
    target = RebuildTarget.model_validate(kept[-1].detail)
    return target.model_copy(update={"source": f"once more, since run {last.run} was not accepted; {target.source}"})


def _usable(workspace: Workspace, known: KnownGoodRecord) -> RebuildTarget | None:
    try:
        target = good_target(workspace, known.record, f"known good of {known.since:%Y-%m-%d %H:%MZ}")
        _check_image(workspace, target)
    except (ImageError, PlanError):
        return None
    return target


def _check_image(workspace: Workspace, target: RebuildTarget) -> None:
    """Refuse a target whose image is not in the catalogue any more. Raises ImageError."""
    pin = target.blueprint_in(workspace.repository).image
    image = ImageCatalogue(workspace.paths.images).get(pin.name, pin.version)
    if pin_of(image).file_sha256 != pin.file_sha256:
        name = f"{pin.name}@{pin.version}"
        raise ImageError("the catalogue holds another image under that name", where=name, found=image.file_sha256[:12])


def _accepted(journal: Journal, node: str) -> list[KnownGoodRecord]:
    """Every tuple that was ever accepted, oldest first."""
    events = [event for event in journal.events.of(node=node, limit=100_000) if event.what == "known good"]
    return [KnownGoodRecord.model_validate({"record": e.detail, "since": e.at, "run": e.run}) for e in events]


def _accepted_before(journal: Journal, run: str, node: str) -> KnownGoodRecord | None:
    """The newest tuple from before the first word of the run about the node."""
    of_run = journal.runs.phases_of(run=run, node=node)
    begun = of_run[0].started if of_run else journal.runs.get(run).started
    return next((known for known in reversed(_accepted(journal, node)) if known.since < begun), None)


def _runs_after(journal: Journal, run: str, node: str) -> list[str]:
    runs = list(dict.fromkeys(record.run for record in journal.runs.phases_of(node=node)))
    return runs[runs.index(run) + 1 :] if run in runs else []


def _what(known: KnownGoodRecord) -> tuple[str, str]:
    return known.record.blueprint, known.record.image_sha256
