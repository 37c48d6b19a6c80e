"""What a burn-in test is: a command, how long it may take, and a reader that gives a number or says why there is none.

Pure: the suite runs the command on the node and hands what came back to :func:`conclude`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from metalwright.model.certificate import TestVerdict

COMMAND_NOT_FOUND = 127
CANNOT_EXECUTE = 126
KILLED = range(129, 193)
"""128 + the number of the signal, as shells and ``timeout`` report it."""

TAIL_CHARACTERS = 300

TOOL_PATH = 'PATH="$PATH:/opt/rocm/bin:/usr/local/cuda/bin"; '
"""Goes before a command: where the makers of GPUs put their tools, which no login shell of root looks through."""


class NoResultError(ValueError):
    """The output proves nothing: empty, truncated, no work done, or of a form that is not known."""


class FaultyError(ValueError):
    """The tool itself says that the hardware computed or transferred wrongly."""


@dataclass(frozen=True)
class Situation:
    """What a command has to know of the node and of the test.

    ``gpus`` is how many the blueprint has, ``peer`` the machine at the other end, ``root_disk`` a kernel name,
    ``rdma_devices`` those of the node, ``seconds`` how long the load runs.
    """

    seconds: int
    vendor: str | None = None
    gpus: int = 0
    peer: str | None = None
    root_disk: str | None = None
    rdma_devices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Variant:
    """One tool that can do the test: ``tool`` must be there (``package`` brings it), ``read`` gives the number.

    ``read`` raises :class:`NoResultError` or :class:`FaultyError` and never returns a guess. ``is_debian``: the package
    is one of Debian's, and the software phase installs it.
    """

    tool: str
    package: str
    command: Callable[[Situation], str]
    read: Callable[[str, Situation], float]
    is_debian: bool = True


@dataclass(frozen=True)
class Measurement:
    """One test. ``variants`` by GPU vendor, or the one under ``""`` that every node can run.

    ``unit`` is the only unit of value and floor; ``seconds`` how long the load runs unless the blueprint says
    otherwise, ``grace_s`` what is added to it before the command is killed; ``is_load``: power drawn meanwhile is
    power under load; ``needs``: what the blueprint (GPUs), the site (a peer) or the node (RDMA devices) must have.
    """

    unit: str
    what: str
    variants: Mapping[str, Variant]
    seconds: int = 10
    grace_s: int = 60
    is_load: bool = False
    needs: frozenset[Literal["gpus", "peer", "rdma"]] = field(default_factory=frozenset)

    def variant(self, vendor: str | None) -> Variant | None:
        """The tool for GPUs of this vendor; ``None``: no tool is known for them."""
        return self.variants.get("") or self.variants.get(vendor or "")

    @property
    def takes_seconds(self) -> bool:
        """Whether ``seconds`` of a blueprint changes the load; of another test it would change the patience alone."""
        short, long = (Situation(seconds=seconds, rdma_devices=("mlx5_0",)) for seconds in (1, 2))
        return any(variant.command(short) != variant.command(long) for variant in self.variants.values())

    def limit_s(self, seconds: int | None) -> float:
        """After so many seconds the command hangs."""
        return float((seconds or self.seconds) + self.grace_s)


@dataclass(frozen=True)
class Reading:
    """What a finished command proves: PASS is "a number was measured"; a floor is judged elsewhere."""

    verdict: TestVerdict
    value: float | None = None
    why: str | None = None


def only(variant: Variant) -> Mapping[str, Variant]:
    """The variants of a test that does not depend on the GPU vendor."""
    return MappingProxyType({"": variant})


def conclude(variant: Variant, situation: Situation, rc: int, stdout: str, stderr: str) -> Reading:
    """Judge a command that ended by itself with exit status ``rc``.

    A tool that is not there, that did no work or whose output is not understood is NOT-RUN; one that reports a fault,
    fails or was killed is FAIL. PASS needs exit status 0 *and* a positive finite number in the output.
    """
    tail = _tail(stdout, stderr)
    if rc in (COMMAND_NOT_FOUND, CANNOT_EXECUTE):
        return Reading(
            "NOT-RUN", why=f"{variant.tool} cannot be run on the node (package {variant.package}): {tail}".rstrip(": ")
        )
    try:
        value = variant.read(stdout, situation)
    except FaultyError as error:
        return Reading("FAIL", why=str(error))
    except NoResultError as error:
        if rc != 0:
            return Reading("FAIL", why=f"{_ended(variant.tool, rc)}: {tail}".rstrip(": "))
        return Reading("NOT-RUN", why=f"{variant.tool} ended well and proves nothing: {error}")
    if rc != 0:
        return Reading("FAIL", why=f"{_ended(variant.tool, rc)}: {tail}".rstrip(": "))
    if not math.isfinite(value) or value <= 0:
        return Reading("NOT-RUN", why=f"{variant.tool} ended well and measured {value}: no work was done")
    return Reading("PASS", value)


def _ended(tool: str, rc: int) -> str:
    return f"{tool} was killed by signal {rc - 128}" if rc in KILLED else f"{tool} ended with exit status {rc}"


def _tail(stdout: str, stderr: str) -> str:
    text = stderr.strip() or stdout.strip()
    return " ".join(text[-TAIL_CHARACTERS:].split())
