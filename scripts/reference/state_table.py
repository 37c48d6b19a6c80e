"""The page of the state table: examples of what a phase sees, and what the code decides about each."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.reference.bmc_examples import BMC_EXAMPLES
from scripts.reference.examples import Example
from scripts.reference.image_examples import IMAGE_EXAMPLES
from scripts.reference.os_examples import OS_EXAMPLES

from metalwright.lifecycle import Act, Decision, Done, Failed, History, Timing, Wait, decide
from metalwright.model.phase import PHASES

INTRODUCTION = """\
# State table

Written by calling the code: each row is an observation, what this invocation did before, and the answer of
`metalwright.lifecycle.decide`. Why it is so is on the page about [states](../explanation/states.md).

Acts name a deploy, `deploys/<act>.py`, or something built in. Effects: *read*, *write* (settings), *reset*, *destroy*
(a disk). Limits are the site's (`limits` in `site.yaml`); the defaults are shown.
"""


def render() -> str:
    """Markdown: one table for each phase."""
    examples = {**BMC_EXAMPLES, **IMAGE_EXAMPLES, **OS_EXAMPLES}
    parts = [INTRODUCTION]
    for phase in PHASES:
        rows = "\n".join(_rows(examples[phase]))
        parts.append(
            f"## {phase}\n\n| seen | before | answer | code, limit | why, what |\n|---|---|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def _rows(examples: tuple[Example, ...]) -> Iterator[str]:
    for example in examples:
        cells = _answer(decide(example.seen, example.history, Timing()))
        yield "| " + " | ".join([example.text, _before(example.history), *cells]) + " |"


def _before(history: History) -> str:
    return ", ".join(f"`{name}` × {count}" for name, count in history.acts.items()) or "–"


def _answer(decision: Decision) -> tuple[str, str, str]:
    match decision:
        case Done():
            return "**done**", "–", f"deferred: {', '.join(decision.deferred)}" if decision.deferred else "–"
        case Act():
            return f"**act** `{decision.name}` ({decision.effect})", "–", decision.why
        case Wait():
            over = f"else `{decision.when_over.code}`"
            return "**wait**", f"{decision.limit_s / 60:g} min, {over}", decision.why
        case Failed():
            cleanup = f", then `{decision.cleanup}`" if decision.cleanup else ""
            return f"**failed**{cleanup}", f"`{decision.code}`", decision.what
