"""State of systemd units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from pyinfra.api import QuoteString, StringCommand
from pyinfra.api.exceptions import FactProcessError

from metalwright.acceptance.readings import unit_fault
from metalwright.facts.answers import NodeFact

PROPERTIES = (
    "Id,LoadState,Type,RemainAfterExit,ActiveState,SubState,Result,"
    "NRestarts,UnitFileState,ActiveEnterTimestampMonotonic"
)
UPTIME = "Uptime="


class UnitState(TypedDict):
    """``fault``: why the unit is not well, ``None`` when it is. ``active_s``: seconds since it became active.

    ``is_finished``: a oneshot unit that is over; it has nothing to stay up for.
    """

    fault: str | None
    is_starting: bool
    is_finished: bool
    is_masked: bool
    is_enabled: bool
    restarts: int
    active_s: float


class ServiceStates(NodeFact[dict[str, UnitState]]):
    """Unit → its state, judged by type, state, sub-state and result together."""

    def command(self, units: Sequence[str]) -> StringCommand:
        """``systemctl show`` and the node's uptime, to tell the age of the states."""
        show = StringCommand("systemctl show --property", PROPERTIES, *map(QuoteString, units))
        return StringCommand(show, f"&& sed 's/^/{UPTIME}/' /proc/uptime")

    def process(self, output: list[str]) -> dict[str, UnitState]:
        """Blocks of ``KEY=VALUE`` lines, one a unit, in any order."""
        uptime = next((line.removeprefix(UPTIME) for line in output if line.startswith(UPTIME)), None)
        blocks = [block for block in "\n".join(output).split("\n\n") if "LoadState=" in block]
        if uptime is None or not blocks:
            raise FactProcessError(f"systemctl gave no answer: {output[-3:]}")
        states = [_state(block, float(uptime.split()[0])) for block in blocks]
        return dict(states)


def _state(block: str, uptime_s: float) -> tuple[str, UnitState]:
    found = dict(line.partition("=")[::2] for line in block.splitlines() if "=" in line)
    entered_s = int(found.get("ActiveEnterTimestampMonotonic") or 0) / 1e6
    state: UnitState = {
        "fault": unit_fault(block),
        "is_starting": found.get("ActiveState") in ("activating", "reloading"),
        "is_finished": found.get("Type") == "oneshot" and found.get("ActiveState") == "inactive",
        "is_masked": found.get("LoadState") == "masked",
        "is_enabled": found.get("UnitFileState") in ("enabled", "static", "alias", "indirect", "generated"),
        "restarts": int(found.get("NRestarts") or 0),
        "active_s": max(0.0, uptime_s - entered_s) if entered_s else 0.0,
    }
    return found["Id"], state
