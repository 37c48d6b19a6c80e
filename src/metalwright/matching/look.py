"""What all checks of one report share: how a finding is made, and how parts are counted. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from metalwright.matching.identity import source_of
from metalwright.matching.slots import missing_slots
from metalwright.matching.witnesses import witness_of
from metalwright.model.blueprint import Blueprint
from metalwright.model.finding import Finding
from metalwright.model.rack import Node
from metalwright.model.report import HardwareReport

RESEAT = "if it is there, reseat it, then match again with --restart-bmc (some BMCs list a part only then)"


@dataclass(frozen=True)
class Look:
    """One report beside one blueprint and the node that it should be."""

    report: HardwareReport
    node: Node
    alternates: dict[str, tuple[str, ...]]

    def fail(self, code: str, slot: str | None, expected: str, found: str, hint: str | None = None) -> Finding:
        """A contradiction."""
        source = source_of(self.report)
        return Finding(code=code, verdict="FAIL", slot=slot, expected=expected, found=found, source=source, hint=hint)

    def unknown(
        self, part: str, expected: str, slot: str | None = None, found: str = "unknown", hint: str | None = None
    ) -> Finding:
        """Something that only a better witness can tell. Without ``hint``, the witness and the way to it are named."""
        code = f"unknown-{part}"
        return Finding(
            code=code,
            verdict="DEFERRED",
            slot=slot,
            expected=expected,
            found=found,
            source=source_of(self.report),
            hint=hint or self._way_to(code),
        )

    def _way_to(self, code: str) -> str:
        witness = witness_of(code)
        who = witness.who if witness is not None else "nobody that metalwright can ask"
        if self.is_off:
            return f"the host is off: switch it on and match again (its BMC may tell then); else {who}"
        return f"left to {who}"

    @property
    def is_off(self) -> bool:
        """Whether the BMC says that the host is not running."""
        return self.report.system.power_state in ("Off", "PoweringOn")

    def would_do(self, section: str, wanted: Sequence[str], present: Sequence[str | None] = ()) -> str:
        """Which parts a technician may fit: like those that are there and right, the blueprint's, its alternates."""
        like = next((text for text in present if text is not None), None)
        names = [*([f"another {like}"] if like is not None else []), *wanted]
        names += [f"{name} (alternate)" for name in self.alternates.get(section, ())]
        names = list(dict.fromkeys(names))
        return f"fit {' or '.join(names)}" if names else f"fit what hardware.{section} of the blueprint says"

    def count(self, code: str, parts: Sequence[BaseModel] | None, wanted: int, noun: str, hint: str) -> list[Finding]:
        """A count that cannot be met is FAIL; one that unreadable members could still make right is DEFERRED."""
        expected = f"{wanted} {noun}"
        if parts is None:
            return [self.unknown(f"{code}s", expected)]
        described = [part for part in parts if is_described(part)]
        hidden = len(parts) - len(described)
        if len(described) == wanted and not hidden:
            return []
        found = f"{len(described)} {noun}" + (f" and {hidden} that cannot be read" if hidden else "")
        if len(described) <= wanted <= len(parts):
            return [self.unknown(f"{code}s", expected, found=found)]
        missing = missing_slots([str(getattr(part, "slot", None)) for part in parts], wanted)
        place = ", ".join(missing) or None
        if len(parts) > wanted:
            hint = f"take the further {noun} out, or pin the node to a blueprint that has them"
        elif self.is_off:
            hint = f"the host is off: switch it on and match again before you open it; then {hint}"
        else:
            hint = f"{hint}; {RESEAT}"
        return [self.fail(f"{code}-count", place, expected, found, hint)]


def look_at(blueprint: Blueprint, report: HardwareReport, node: Node) -> Look:
    """The context for the checks of one report."""
    return Look(report, node, blueprint.hardware.alternates)


def is_described(part: BaseModel) -> bool:
    """Whether more than the slot is known; a member that cannot be read is a slot of unknown content."""
    return any(value is not None and value != () for name, value in part if name != "slot")
