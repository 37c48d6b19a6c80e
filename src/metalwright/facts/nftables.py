"""The firewall of the node."""

from __future__ import annotations

from pyinfra.api.exceptions import FactProcessError

from metalwright.acceptance.readings import INPUT_POLICY, input_policy
from metalwright.facts.answers import NodeFact


class InputPolicy(NodeFact[str | None]):
    """``drop`` or ``accept``: what happens to packets to the node that no rule names; None without our table."""

    def command(self) -> str:
        """All chains, as JSON: an answer also where there are none."""
        return INPUT_POLICY

    def process(self, output: list[str]) -> str | None:
        """One line of JSON, whatever a login prints before it."""
        answer = next((line for line in output if line.startswith('{"nftables"')), None)
        if answer is None:
            raise FactProcessError(f"nft gave no answer: {output[-3:]}")
        return input_policy(answer)
