"""Acceptance: checks made from the blueprint, run on the node, judged against the list of what was required."""
