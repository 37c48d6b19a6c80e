"""Which system this is."""

from __future__ import annotations

import json
from typing import Any, TypedDict

from pyinfra.api.exceptions import FactProcessError

from metalwright.acceptance.readings import addresses_of
from metalwright.facts.answers import NodeFact, marked
from metalwright.model.image import STAMP_PATH


class DeployedSystem(TypedDict):
    """``uid`` that commands run with; ``stamp`` of the deployment, ``None`` when the system carries none."""

    uid: int
    stamp: dict[str, Any] | None


class System(NodeFact[DeployedSystem]):
    """Who we are there, and what was deployed. A refused sudo is no answer and fails the host."""

    def command(self) -> str:
        """Two marked lines."""
        return f"printf 'uid:%s\\nstamp:%s\\n' \"$(id -u)\" \"$(cat {STAMP_PATH} 2>/dev/null | tr -d '\\n')\""

    def process(self, output: list[str]) -> DeployedSystem:
        """The user id, and JSON or nothing at all."""
        text = marked(output, "stamp:")
        try:
            stamp = json.loads(text) if text else None
        except ValueError as error:
            raise FactProcessError(f"{STAMP_PATH} is no JSON: {error}") from error
        if stamp is not None and not isinstance(stamp, dict):
            raise FactProcessError(f"{STAMP_PATH} is no JSON object")
        return {"uid": int(marked(output, "uid:")), "stamp": stamp}


class RootAccess(NodeFact[str | None]):
    """Why the login cannot become root without a password, in sudo's words; None when it can, or is root."""

    def command(self) -> str:
        """One marked line; ``sudo --non-interactive`` never asks."""
        ask = "text=$(sudo --non-interactive true 2>&1) && echo root:yes"
        return f'[ "$(id -u)" = 0 ] && echo root:yes || {{ {ask} || echo "$text" | sed -n \'$s/^/root:/p\'; }}'

    def process(self, output: list[str]) -> str | None:
        """``yes``, or the refusal."""
        text = marked(output, "root:")
        return None if text == "yes" else text or "sudo refused without a word"


class Addresses(NodeFact[dict[str, tuple[str, ...]]]):
    """Interface → its global addresses with prefix length."""

    def command(self) -> str:
        """JSON on one line, marked."""
        return "printf 'addresses:%s\\n' \"$(ip -json address show)\""

    def process(self, output: list[str]) -> dict[str, tuple[str, ...]]:
        """See :func:`metalwright.acceptance.readings.addresses_of`."""
        return addresses_of(marked(output, "addresses:"))
