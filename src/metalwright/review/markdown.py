"""A review as the Markdown of a pull request comment. Pure; the same review gives the same text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from metalwright.model.phase import Phase
from metalwright.model.review import BlueprintChange, FileChange, NodeImpact, Refusal, Review
from metalwright.review.differences import moved_part
from metalwright.review.groups import Group, group_nodes
from metalwright.review.rules import RISK_WORDS

MARK = "<!-- metalwright review -->"
"""First line of the comment, so that a job finds the one that it wrote before."""

_NONE = "–"
_NO_GPU = "no GPU out of service"
_FILES_NOTES = {
    "software": "Written to running nodes by the software phase:",
    "image": "Written together with the disk: a running node keeps its own until it is rebuilt.",
    "export": "What a DHCP server is told, once somebody exports it again:",
}
_TESTS_NOTE = "- GPUs out: the acceptance tests run again and need the whole node, so the workload has to leave"
_LEAVING_NOTE = (
    "- GPUs out of nodes that become spare, quarantined or retired or are removed: they leave service with the merge, "
    "and stay out until a node is wanted ready again"
)
_VERDICTS = {"pass": "pass", "fail": "**FAIL**", "open": "**open**"}
_DIFF_LINES = 40
_MOST_NAMES = 500
MOST_CHARACTERS = 60_000
"""GitHub takes no comment above 65,536 characters."""

_CUT = "\n\n**The rest does not fit into a comment**: `metalwright review --json` has all of it.\n"
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")


def render_markdown(review: Review) -> str:
    """The whole comment."""
    files = _files(review.files)
    text = _text(review, files)
    if len(text) > MOST_CHARACTERS:
        text = _text(review, _fitting(files, MOST_CHARACTERS - len(_text(review, []))))
    if len(text) > MOST_CHARACTERS:
        text = text[: text.rindex("\n", 0, MOST_CHARACTERS - len(_CUT))] + _CUT
    return text


def _text(review: Review, files: Sequence[str]) -> str:
    parts = [MARK, f"## Review of `{review.base}..{review.head}`", _headline(review), *_kept_networks(review)]
    parts += _section("Refused", _refused(review.refused))
    parts += _section("Blueprints", _blueprints(review.changes))
    parts += _section("Site", _site(review))
    parts += _section("Nodes", _nodes(review))
    parts += _section("Rendered files", files)
    parts += _section("Policies", _policies(review))
    parts += _section("Worth a look", _bullets(review.warnings))
    parts += _section("Unknown", _bullets(review.unknown))
    return "\n\n".join(parts) + "\n"


def _fitting(blocks: Sequence[str], room: int) -> list[str]:
    """The first blocks that fit, and how many do not."""
    taken: list[str] = []
    room -= 200  # the title and the line below
    for block in blocks:
        room -= len(block) + 2
        if room < 0:
            break
        taken.append(block)
    left = sum(block.startswith("<details>") for block in blocks[len(taken) :])
    return [*taken, f"{_count(left, 'more difference')} of files: `metalwright review --json` has all of them."]


def _headline(review: Review) -> str:
    refused = f"**{len(review.refused)} refused.** " if review.refused else ""
    failed = [item.name for item in review.policies if item.verdict != "pass"]
    policies = f" Policies not met: {', '.join(failed)}." if failed else ""
    if review.effect_unknown:
        return f"{refused}What happens to nodes is unknown.{policies}"
    if not review.nodes:
        return f"{refused}No node changes.{policies}"
    acting = sum(bool(node.phases) for node in review.nodes)
    written = sum(node.reimage for node in review.nodes)
    counted = [
        f"{_count(len(review.nodes), 'node')} affected, {acting} to provision",
        _reboot_total(review.nodes),
        f"{_count(written, 'disk')} written",
        _gpu_total(review.gpus_out_at_once, review.gpus_leaving),
    ]
    return f"{refused}{'; '.join(counted)}.{policies}"


def _kept_networks(review: Review) -> Iterator[str]:
    """Which nodes keep old addresses and networks until somebody provisions them."""
    moved = [node for node in review.nodes if any(move.from_ and move.to for move in node.addresses)]
    if moved:
        yield f"**Addresses change**: {_keep(moved, 'old ones')}"
    is_written = any(item.written_by != "export" for item in review.files)
    for name in dict.fromkeys(name for node in review.nodes for name in node.networks):
        nodes = [node for node in review.nodes if name in node.networks]
        begin = f"{name}: "
        changed = [item for item in review.site if item.section == "Network" and item.what.startswith(begin)]
        values = [f"{item.what.removeprefix(begin)} {_value(item.from_)} → {_value(item.to)}" for item in changed]
        what_then = (
            f"{_keep(nodes, 'old values')} A switch or router that changes first cuts them off."
            if is_written
            else "no file of a node holds them; switches, routers and DHCP servers do."
        )
        yield f"**Network {name} changes** ({'; '.join(values)}): {what_then}"


def _keep(nodes: Sequence[NodeImpact], what: str) -> str:
    named = Group(nodes[0], tuple(nodes)).title
    return f"until provisioned again, the {what} stay on {named}."


def _reboot_total(nodes: Iterable[NodeImpact]) -> str:
    counts = [node.reboots for node in nodes]
    known, unknown = [count for count in counts if count is not None], counts.count(None)
    total = _count(sum(known), "reboot")
    if not unknown:
        return total
    return f"{total}, and unknown for {_count(unknown, 'node')}" if any(known) else "reboots unknown"


def _gpu_total(at_once: int, leaving: int) -> str:
    if at_once == leaving:
        return f"{_count(leaving, 'GPU')} {'leaves' if leaving == 1 else 'leave'} service" if leaving else _NO_GPU
    some = f"at most {_count(at_once, 'GPU')} out of service at once"
    return f"{some}, {leaving} of them leave it" if leaving else some


def _refused(refusals: Sequence[Refusal]) -> list[str]:
    rows = [
        (item.rule, f"`{item.file}{f':{item.line}' if item.line else ''}`", item.what, item.hint or _NONE)
        for item in refusals
    ]
    return _table(("rule", "where", "what", "hint"), rows)


def _blueprints(changes: Sequence[BlueprintChange]) -> list[str]:
    parts: list[str] = []
    for (base, ref), group in groupby(changes, key=lambda item: (item.base, item.blueprint)):
        items = list(group)
        parts.append(_versions(base, ref))
        rows = [(item.section, f"`{item.path}`", _value(item.from_), _value(item.to), item.risk) for item in items]
        parts += _table(("section", "value", "was", "becomes", "risk"), rows)
        risks = [risk for risk in RISK_WORDS if any(item.risk == risk for item in items)]
        parts.append("\n".join(f"- {risk}: {RISK_WORDS[risk]}" for risk in risks))
    return parts


def _versions(base: str, ref: str) -> str:
    if base == ref:
        return f"**{ref}** (edited in place, before its release)"
    part = moved_part(base.partition("@")[2], ref.partition("@")[2])
    return f"**{base} → {ref}** ({part or 'not above the old version'})"


def _site(review: Review) -> list[str]:
    rows = [
        (item.section, item.what, _value(item.from_), _value(item.to), str(item.nodes or _NONE)) for item in review.site
    ]
    return _table(("section", "what", "was", "becomes", "nodes"), rows)


def _nodes(review: Review) -> list[str]:
    groups = group_nodes(review.nodes)
    header = ("nodes", "what", "phases", "reboots", "disk", "GPUs out", "addresses", "minutes", "state now")
    width = len(header) if review.observed is not None else len(header) - 2  # git alone knows neither
    parts = _table(header[:width], [_node_row(group)[:width] for group in groups])
    leaving = {node.leaves for node in review.nodes if node.gpus_out}
    notes = [note for leaves, note in ((False, _TESTS_NOTE), (True, _LEAVING_NOTE)) if leaves in leaving]
    parts += ["\n".join(notes)] if notes else []
    for group in groups:
        if len(group.nodes) > 3:
            names = ", ".join(f"`{item.node}`" for item in group.nodes[:_MOST_NAMES])
            names += f" and {len(group.nodes) - _MOST_NAMES} more" if len(group.nodes) > _MOST_NAMES else ""
            title = f"The {len(group.nodes)} nodes from {group.first.node} on"
            parts.append(f"<details><summary>{title}</summary>\n\n{names}\n\n</details>")
    return parts


def _node_row(group: Group) -> tuple[str, ...]:
    node, many = group.first, len(group.nodes) > 1
    each = " each" if many else ""
    return (
        group.title,
        "<br>".join(node.what) or f"{node.blueprint} is edited in place",
        _phases(node.phases),
        "unknown" if node.reboots is None else f"{node.reboots}{each if node.reboots else ''}",
        "**written**" if node.reimage else "kept",
        f"{node.gpus_out}{each}" if node.gpus_out else _NONE,
        "<br>".join(_addresses(group)) or _NONE,
        "unknown" if node.minutes is None else f"{node.minutes:g}{each}",
        node.state or "unknown",
    )


def _phases(phases: Sequence[Phase]) -> str:
    return "all" if len(phases) == len(Phase) else ", ".join(phases) or _NONE


def _addresses(group: Group) -> Iterator[str]:
    if len(group.nodes) == 1:
        for move in group.first.addresses:
            yield f"{move.network}: {move.from_ or _NONE} → {move.to or _NONE}"
    else:
        for move in group.first.addresses:
            verb = "given" if move.from_ is None else "freed" if move.to is None else "changed"
            yield f"{move.network}: {verb}"


def _files(files: Sequence[FileChange]) -> list[str]:
    parts: list[str] = []
    for phase, note in _FILES_NOTES.items():
        shown = [_file(item) for item in files if item.written_by == phase]
        parts += [note, *shown] if shown else []
    return parts


def _file(item: FileChange) -> str:
    lines = item.diff.splitlines()
    shown = lines[:_DIFF_LINES]
    if len(lines) > len(shown):
        shown.append(f"… {len(lines) - len(shown)} more lines")
    whose = f" of {item.node}" if item.node else ""
    others = f", and the like on {_count(item.nodes - 1, 'other node')}" if item.nodes > 1 else ""
    body = "\n".join(shown)
    return f"<details><summary><code>{item.path}</code>{whose}{others}</summary>\n\n```diff\n{body}\n```\n\n</details>"


def _policies(review: Review) -> list[str]:
    rows = [(item.name, _VERDICTS[item.verdict], item.why) for item in review.policies]
    return _table(("policy", "result", "why"), rows)


def _section(title: str, parts: Sequence[str]) -> list[str]:
    return [f"### {title}", *parts] if parts else []


def _bullets(lines: Sequence[str]) -> list[str]:
    return ["\n".join(f"- {_cell(line)}" for line in lines)] if lines else []


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    lines = [header, ["---"] * len(header), *([_cell(cell) for cell in row] for row in rows)]
    return ["\n".join(f"| {' | '.join(line)} |" for line in lines)]


def _cell(text: str) -> str:
    """One table cell: a pipe or a line end in somebody's value changes nothing around it."""
    return " ".join(_short_digests(text).replace("|", "\\|").split())


def _value(value: str | None) -> str:
    if value is None:
        return _NONE
    value = _short_digests(value)
    short = value if len(value) <= 80 else f"{value[:77]}…"
    return f"`{short.replace('`', chr(39))}`"


def _short_digests(text: str) -> str:
    return _DIGEST.sub(lambda found: f"{found[0][:12]}…", text)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
