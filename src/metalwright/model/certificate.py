"""The certificate of an accepted node; its signature covers the canonical JSON without the signature."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from metalwright.model.base import Frozen

TestVerdict = Literal["PASS", "FAIL", "NOT-RUN"]


class TestResult(Frozen):
    """One acceptance test; ``why`` says what was seen when the verdict is not PASS."""

    __test__ = False

    name: str
    verdict: TestVerdict
    value: float | None = None
    floor: float | None = None
    unit: str | None = None
    why: str | None = None


class PowerFigures(Frozen):
    """Measured watts; ``None`` was not measured."""

    idle: float | None = None
    typical: float | None = None
    max: float | None = None


class Signature(Frozen):
    """Ed25519 over the canonical JSON of the certificate without this member; base64."""

    alg: Literal["ed25519"] = "ed25519"
    key_id: str
    value: str


class Certificate(Frozen):
    """What was proven about a node, until when.

    ``serials`` names the parts that were tested, ``blueprint`` and ``recipe`` what was applied: another part or another
    recipe voids it. ``boot`` is the boot id of the system that was tested.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    node: str
    verdict: TestVerdict
    serials: dict[str, str]
    blueprint: str | None = None
    recipe: str
    image: str
    tests: tuple[TestResult, ...]
    power_w: PowerFigures = PowerFigures()
    boot: str | None = None
    issued: datetime
    expires: datetime
    signature: Signature | None = None
