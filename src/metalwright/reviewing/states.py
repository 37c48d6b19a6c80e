"""Two states of a site, read and compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from metalwright.acceptance.catalogue import KNOWN_TESTS
from metalwright.acceptance.offline import acceptance_errors, floor_warnings
from metalwright.addressing.needs import needs_of
from metalwright.allocations import reallocate
from metalwright.checking import accelerator_findings, bios_errors, bios_notes, boot_errors, firmware_findings
from metalwright.errors import AddressError, LoadingError
from metalwright.imaging.boot_chain import boot_chain_errors
from metalwright.loading import SitePaths, SiteReading, linked_trees, read_site
from metalwright.loading.collection import paused_collection
from metalwright.loading.models import remembered_texts
from metalwright.model.repository import SiteRepository
from metalwright.model.review import NodeImpact, ObservedSnapshot, PolicyResult, Refusal, Review
from metalwright.review.impact import Impact, assess
from metalwright.review.policies import Said, judge, said_of
from metalwright.review.revisions import checked_out
from metalwright.reviewing.circumstances import Circumstances
from metalwright.reviewing.exports import dhcp_changes
from metalwright.reviewing.refusals import (
    MEND_IT,
    broken_locks,
    refusal_of,
    relative,
    too_many_removals,
    unreleased_pins,
    wrong_versions,
)
from metalwright.reviewing.rendered import recipe_changes, render_both, with_files


def review_revisions(root: Path, revisions: str, given: Circumstances) -> Review:
    """Review ``BASE..HEAD`` of the site at ``root``.

    Raises:
        UsageError, LoadingError: as ``review.revisions.checked_out``.
    """
    with checked_out(root, revisions) as pair, paused_collection(), remembered_texts():
        return review_states(pair.base_root, pair.head_root, (pair.base, pair.head), given)


def review_states(base_root: Path, head_root: Path, names: tuple[str, str], given: Circumstances) -> Review:
    """Review the change from one directory to another."""
    base, head = _read(base_root), _read(head_root)
    refused = [refusal_of(error, head_root) for error in _errors(head, head_root)]
    refused += broken_locks(base_root, head_root)
    before = base.repository if base is not None else None
    after = head.repository if head is not None else None
    if before is None or after is None:
        state = "the state after the change" if after is None else "the state before the change"
        unknown = (f"what happens to nodes: {state} is not valid",)
        return Review(base=names[0], head=names[1], refused=tuple(refused), unknown=unknown, effect_unknown=True)
    impact = assess(before, after)
    errors, warnings = _new_warnings(base, head, base_root, head_root)
    stacks = accelerator_findings(SitePaths(head_root), after, given.now.date())
    components = firmware_findings(SitePaths(head_root), after)
    wrong_tests = acceptance_errors(SitePaths(head_root), after)
    unbootable = boot_errors(SitePaths(head_root), after)
    wrong_bios = bios_errors(SitePaths(head_root), after)
    found = (*wrong_bios, *stacks.errors, *components.errors, *wrong_tests, *unbootable, *errors)
    refused += [refusal_of(error, head_root) for error in found]
    known = accelerator_findings(SitePaths(base_root), before, given.now.date()).warnings
    warnings += _added(stacks.warnings, known, base_root, head_root)
    known = firmware_findings(SitePaths(base_root), before).warnings
    warnings += _added(components.warnings, known, base_root, head_root)
    notes, known_notes = bios_notes(SitePaths(head_root), after), bios_notes(SitePaths(base_root), before)
    warnings += _added(notes, tuple(known_notes), base_root, head_root)
    low, known_low = floor_warnings(SitePaths(head_root), after), floor_warnings(SitePaths(base_root), before)
    warnings += _added(low, tuple(known_low), base_root, head_root)
    unsigned, known_unsigned = (
        tuple(boot_chain_errors(SitePaths(root), state)) for root, state in ((head_root, after), (base_root, before))
    )
    warnings += _added(unsigned, known_unsigned, base_root, head_root)  # git does not have the images themselves
    address_faults, behind = _addresses(before, after, given)
    refused += [*address_faults, *wrong_versions(before, after), *too_many_removals(before, impact, given)]
    refused += unreleased_pins(head_root, impact)
    is_recipe_new = before.tree_digest != after.tree_digest
    recipe = tuple(recipe_changes(base_root, head_root, len(after.nodes()))) if is_recipe_new else ()
    rendered = render_both(before, after, base_root, head_root, impact)
    nodes, files = with_files(_observed(impact.nodes, given.observed), *rendered)
    return Review(
        base=names[0],
        head=names[1],
        refused=tuple(refused),
        changes=impact.changes,
        site=(*impact.site, *recipe),
        nodes=nodes,
        gpus_out_at_once=impact.gpus_out_at_once,
        gpus_leaving=impact.gpus_leaving,
        files=(*files, *dhcp_changes(before, after, base_root, head_root)),
        policies=_policies(before, after, impact, given, said_of(names[1], given.approved_by)),
        warnings=(*warnings, *behind, *_policy_warnings(before, after)),
        unknown=tuple(_unknown(impact, given)),
        observed=given.observed.taken if given.observed is not None else None,
    )


def _read(root: Path) -> SiteReading | None:
    """``None`` where there is no site, which every error list then says."""
    if not SitePaths(root).site.exists() and not linked_trees(root):
        return None
    return read_site(root, {name: test.unit for name, test in KNOWN_TESTS.items()})


def _errors(reading: SiteReading | None, root: Path) -> Iterable[LoadingError]:
    if reading is None:
        return [LoadingError("there is no site at this revision", where=str(root / "inventory" / "site.yaml"))]
    return reading.errors


def _new_warnings(
    base: SiteReading | None, head: SiteReading | None, base_root: Path, head_root: Path
) -> tuple[list[LoadingError], list[str]]:
    """What the change makes worse: overloaded racks refuse it, the rest is worth a look.

    Versions that are not released have a refusal of their own, which knows which nodes the change puts on them.
    """
    before, after = (reading.warnings if reading is not None else () for reading in (base, head))
    known = {_fingerprint(item, base_root) for item in before}
    overloaded = [item for item in after if item.rule == "power" and _fingerprint(item, head_root) not in known]
    return overloaded, _added(
        (item for item in after if item.rule not in ("power", "unreleased")), before, base_root, head_root
    )


def _added(
    after: Iterable[LoadingError], before: Iterable[LoadingError], base_root: Path, head_root: Path
) -> list[str]:
    """Warnings that the state before did not have."""
    known = {_fingerprint(item, base_root) for item in before}
    new = [item for item in after if _fingerprint(item, head_root) not in known]
    return [relative(f"{item.where}: {item.what}", head_root) for item in new]


def _fingerprint(error: LoadingError, root: Path) -> tuple[str, str, str]:
    return error.rule, error.what, relative(error.found or "", root)


def _addresses(before: SiteRepository, after: SiteRepository, given: Circumstances) -> tuple[list[Refusal], list[str]]:
    """What the change leaves to the allocator, refused where it cannot be given; nothing more than the base left."""
    if _is_allocated_alike(before, after):
        return [], []
    try:
        result = reallocate(after, given.now.date())
    except AddressError as error:
        what = f"addresses.lock cannot follow: {error.what}"
        return [Refusal(rule="addresses", file="inventory/addresses.lock", what=what, hint=error.hint or MEND_IT)], []
    if not result.has_changed:
        return [], []
    return [], [f"addresses.lock is not up to date ({len(result.lines)} lines): metalwright addresses allocate"]


def _is_allocated_alike(before: SiteRepository, after: SiteRepository) -> bool:
    """Whether both states ask for the same addresses and have given the same. Equal files are the same objects."""
    if before.networks != after.networks or before.addresses != after.addresses:
        return False
    shared = before.blueprints.keys() & after.blueprints.keys()
    if any(before.blueprints[ref] is not after.blueprints[ref] for ref in shared):
        return False
    old, new = ({id(rack): rack for rack in state.racks} for state in (before, after))
    differing = ([old[key] for key in old.keys() - new.keys()], [new[key] for key in new.keys() - old.keys()])
    try:
        asked = [
            needs_of(state.networks, racks, state.blueprints)
            for state, racks in zip((before, after), differing, strict=True)
        ]
    except AddressError:
        return False
    return asked[0] == asked[1]


def _policies(
    before: SiteRepository, after: SiteRepository, impact: Impact, given: Circumstances, said: Said | None
) -> tuple[PolicyResult, ...]:
    """The base's rules judge the change: one that loosens a rule is judged by the rule as it was."""
    policies = before.policies or after.policies
    return () if policies is None else judge(policies, impact, before.known_good, given.now, said)


def _policy_warnings(before: SiteRepository, after: SiteRepository) -> Iterator[str]:
    if before.policies != after.policies and before.policies is not None:
        yield "inventory/policies.yaml changes; this change is judged by the rules as they were"


def _observed(nodes: tuple[NodeImpact, ...], snapshot: ObservedSnapshot | None) -> list[NodeImpact]:
    seen = {item.node: item for item in snapshot.nodes} if snapshot is not None else {}
    return [
        item.model_copy(update={"state": seen[item.node].state, "minutes": seen[item.node].minutes})
        if item.node in seen
        else item
        for item in nodes
    ]


def _unknown(impact: Impact, given: Circumstances) -> Iterator[str]:
    if not impact.nodes:
        return
    if given.observed is None:
        yield "minutes and live state: no snapshot was given (--observed)"
    else:
        missing = {node.node for node in impact.nodes} - {node.node for node in given.observed.nodes}
        if missing:
            yield f"live state of {len(missing)} node(s): they are not in the snapshot"
        hours = (given.now - given.observed.taken).total_seconds() / 3600
        taken = given.observed.taken
        yield f"what happened since the snapshot was taken, {hours:.1f} hours ago ({taken:%Y-%m-%d %H:%MZ})"
    if any(node.reboots is None for node in impact.nodes):
        yield "reboots of new nodes, and where the firmware that is on the machine decides"
