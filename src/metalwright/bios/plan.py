"""What a BIOS plan is: changes in stages, what waits already, what comes with them, what would be refused."""

from __future__ import annotations

from dataclasses import dataclass

from metalwright.bios.registry import Value


@dataclass(frozen=True)
class BiosChange:
    """One attribute that changes. ``value`` is what the BMC gets; ``stage`` counts from 1, with a reset after each."""

    attribute: str
    current: str
    desired: str
    value: Value
    stage: int = 1

    def __str__(self) -> str:
        return f"{self.attribute}: {self.current} → {self.desired}"


@dataclass(frozen=True)
class BiosProblem:
    """Why an attribute is refused; ``attribute`` is spelled as it was declared, ``why`` ends the sentence."""

    attribute: str
    why: str

    def __str__(self) -> str:
        return f"{self.attribute}: {self.why}"


@dataclass(frozen=True)
class BiosPlan:
    """What brings the BIOS to the desired attributes.

    ``changes`` are to be written; ``pending`` are desired values that wait for a reset already; ``consequences``
    change by the rules of the registry, unwritten; ``notes`` tell what a reviewer should know. Only declared
    attributes are ever in ``changes``.
    """

    registry: str
    changes: tuple[BiosChange, ...] = ()
    pending: tuple[BiosChange, ...] = ()
    consequences: tuple[BiosChange, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_reboot_needed(self) -> bool:
        """Decided from values that differ, not from the registry's flag, which vendors leave out."""
        return bool(self.changes or self.pending)

    @property
    def reboots(self) -> int:
        """One for each stage; one for what is pending alone."""
        return max((change.stage for change in self.changes), default=1 if self.pending else 0)

    @property
    def stages(self) -> tuple[dict[str, Value], ...]:
        """The attributes to write before each reset, in order."""
        count = max((change.stage for change in self.changes), default=0)
        return tuple(
            {change.attribute: change.value for change in self.changes if change.stage == stage}
            for stage in range(1, count + 1)
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """``attribute: current → desired`` for everything that changes, with how it changes where that is not by us."""
        return (
            *(f"{change}" + (f" (reset {change.stage})" if self.reboots > 1 else "") for change in self.changes),
            *(f"{change} (pending)" for change in self.pending),
            *(f"{change} (comes with it)" for change in self.consequences),
        )
