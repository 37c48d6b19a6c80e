"""The page of the messages between the deploy ramdisk's agent and the boot server, from the models."""

from __future__ import annotations

import inspect
import re
from typing import Any

from metalwright.model import agent_protocol
from metalwright.model.base import Frozen
from metalwright.model.deployment import DeploymentState

INTRODUCTION = """\
# Agent protocol

Version 1: JSON over HTTPS, always POST. The agent trusts one certificate, the one inside its boot medium. Each request
carries `Authorization: Bearer TOKEN`, from the medium, and `X-Metalwright-Client-Key: 64 HEX DIGITS`, made by the agent
at its start. The first client key that uses a token is the only one.

| request | body | answer |
|---|---|---|
| `/agent/v1/claim` | `Claim` | `{"token", "nonce"}`, once, after a network boot; 409: not armed, or another machine |
| `/agent/v1/hello` | `Hello` | `{"task": Task}`; `null` and `why` for a used medium; 409: identity or nonce differ |
| `/agent/v1/go` | `GoRequest` | `{"go": true, "lease_epoch": n}` once; 403 without a valid grant and lease |
| `/agent/v1/progress` | `Progress` | `{"continue": true}`, or `false` and `why`: stop |
| `/agent/v1/done` | `Done` | 200 |
| `/agent/v1/failed` | `Failure` | 200 |

Order: hello, identity, disks, fetch and verify, go, erase where asked, write, read back, stamp, seed, done, power off.
Nothing is written before go. The agent never reboots.
"""

TYPES = """\
Types are Python's; in JSON a tuple is a list and `None` is `null`. `ShortText` has at most 512 characters, `LongText`
8192, `Hex64` is 64 lower-case hexadecimal digits. Unknown keys are refused.
"""


def render() -> str:
    """Markdown: the requests, the states of a deployment, then every message with its fields."""
    messages = [
        value
        for value in vars(agent_protocol).values()
        if inspect.isclass(value) and issubclass(value, Frozen) and value.__module__ == agent_protocol.__name__
    ]
    states = inspect.cleandoc(DeploymentState.__doc__ or "").partition("::\n")
    parts = [
        INTRODUCTION,
        f"## States of a deployment\n\n```text\n{inspect.cleandoc(states[2])}\n```\n",
        "## Messages\n",
    ]
    return "\n".join(parts + [_message(message) for message in messages])


def _message(message: type[Frozen]) -> str:
    rows = ["| field | type | when left out |", "|---|---|---|"]
    written = inspect.get_annotations(message)
    for name, field in message.model_fields.items():
        default = "required" if field.is_required() else _default(field)
        rows.append(f"| `{field.alias or name}` | `{_escaped(written[name])}` | {default} |")
    text = " ".join((inspect.getdoc(message) or "").split()).replace("``", "`")
    return f"### {message.__name__}\n\n{text}\n\n" + "\n".join(rows) + "\n"


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    if value is None:
        return "`null`"
    return "empty" if value in ((), "", {}) else f"`{value}`"


def _escaped(annotation: str) -> str:
    """A type as the source writes it, without the constraints."""
    return re.sub(r"Annotated\[(\w+), .*\]", r"\1", annotation).replace("|", "\\|")
