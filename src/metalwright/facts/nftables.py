"""The firewall of the node."""

from __future__ import annotations

from typing import TypedDict

from pyinfra.api.exceptions import FactProcessError

from metalwright.acceptance.readings import INPUT_POLICY, LOADED_RULES, input_policy, rules_in_force
from metalwright.facts.answers import NodeFact


class FirewallState(TypedDict):
    """``policy``: ``drop`` or ``accept``, what happens to packets to the node that no rule names; None without our
    table. ``is_as_written``: whether the rules in force are those of the file."""

    policy: str | None
    is_as_written: bool


class Firewall(NodeFact[FirewallState]):
    """Our table as it is loaded, compared with what nft makes of the file in a network of its own."""

    def command(self) -> str:
        """All chains as JSON (an answer also where there are none), then both tables as digests."""
        return f"{INPUT_POLICY} && {{ {LOADED_RULES}; }}"

    def process(self, output: list[str]) -> FirewallState:
        """One line of JSON and two marked ones, whatever a login prints before them."""
        answer = next((line for line in output if line.startswith('{"nftables"')), None)
        in_force = rules_in_force("\n".join(output))
        if answer is None or in_force is None:
            raise FactProcessError(f"nft gave no answer: {output[-3:]}")
        return {"policy": input_policy(answer), "is_as_written": in_force}
