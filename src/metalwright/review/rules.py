"""What a change in each section of a blueprint means: who acts on it, what it costs, which version it asks for.

One table, in the words of a technician. The first row whose path fits is the rule.
"""

from __future__ import annotations

from dataclasses import dataclass

from metalwright.model.phase import Phase
from metalwright.model.review import Part, Risk


@dataclass(frozen=True)
class SectionRule:
    """``path`` is a prefix (keys from the top of the blueprint). ``phase`` acts on it; ``None``: no phase does.

    ``reboots`` of one node, ``None`` when they depend on what is on the machine. ``part`` is the smallest part of
    the version that has to move.
    """

    path: tuple[str, ...]
    title: str
    phase: Phase | None
    risk: Risk
    part: Part
    reboots: int | None = 0


_MATCH, _IMAGE, _SOFTWARE = Phase.MATCH, Phase.IMAGE, Phase.SOFTWARE

RULES: tuple[SectionRule, ...] = (
    SectionRule(("class", "role"), "Role", None, "record", "major"),
    SectionRule(("class", "workloads"), "Workloads", Phase.ACCEPT, "tests", "major"),
    SectionRule(("class",), "Description", None, "record", "patch"),
    SectionRule(("hardware", "alternates"), "Parts that may stand in", _MATCH, "match", "minor"),
    SectionRule(("hardware",), "Hardware", _MATCH, "match", "major"),
    SectionRule(("power",), "Power budget", None, "record", "minor"),
    SectionRule(("cabling",), "Cabling", None, "record", "minor"),
    SectionRule(("firmware",), "Firmware", Phase.FIRMWARE, "firmware", "minor", None),
    SectionRule(("firmware_downgrades",), "Firmware that may go back", None, "record", "minor"),
    SectionRule(("bios",), "BIOS", Phase.BIOS, "reboot", "minor", 1),
    SectionRule(("boot",), "Boot method", None, "next-image", "minor"),
    SectionRule(("network",), "Network", _SOFTWARE, "drain", "minor"),
    SectionRule(("image", "known_good"), "Images to fall back to", None, "record", "patch"),
    SectionRule(("image",), "Image", _IMAGE, "re-image", "minor", 2),
    SectionRule(("software", "container_runtime"), "Container runtime", _SOFTWARE, "drain", "minor"),
    SectionRule(("software", "agents"), "Agents", _SOFTWARE, "live", "patch"),
    SectionRule(("software", "accelerator"), "Accelerator driver", _SOFTWARE, "reboot", "minor", 1),
    SectionRule(("software", "kernel_args"), "Kernel arguments", _SOFTWARE, "reboot", "minor", 1),
    SectionRule(("software",), "Kernel settings", _SOFTWARE, "live", "minor"),
    SectionRule(("security",), "Security", _SOFTWARE, "live", "minor"),
    SectionRule(("policy", "labels"), "Labels", None, "record", "patch"),
    SectionRule(("policy", "power_cap_w"), "Power cap of GPUs", _SOFTWARE, "live", "minor"),
    SectionRule(("policy", "mig"), "MIG of GPUs", _SOFTWARE, "reboot", "minor", 1),
    SectionRule(("policy",), "Operating policy", None, "record", "minor"),
    SectionRule(("acceptance",), "Acceptance", Phase.ACCEPT, "tests", "minor"),
    SectionRule(("rollback", "data_loss"), "Rollback", None, "record", "minor"),
    SectionRule(("rollback",), "Rollback", None, "record", "patch"),
)
"""Every section of a blueprint has a row; a test compares it with the model."""

RISK_WORDS: dict[Risk, str] = {
    "record": "recorded, nothing on the machine changes",
    "live": "applied while the workload runs",
    "tests": "acceptance tests run again, so the workload has to leave",
    "drain": "containers or networks restart, so the workload has to leave",
    "next-image": "counts when the disk is next written",
    "match": "a machine that does not have it no longer matches: people have to act",
    "firmware": "firmware that does not meet it is updated, or the node stops there",
    "reboot": "the node reboots",
    "re-image": "the system disk is written again, with `rebuild`",
}
"""In rising order of what it does to a workload."""

RISKS: tuple[Risk, ...] = tuple(RISK_WORDS)
PARTS: tuple[Part, ...] = ("patch", "minor", "major")


def rule_of(path: tuple[str, ...]) -> SectionRule:
    """The row for a value of a blueprint.

    Raises:
        KeyError: a section that the table does not know.
    """
    for rule in RULES:
        if path[: len(rule.path)] == rule.path:
            return rule
    raise KeyError(".".join(path))


def worst(risks: list[Risk]) -> Risk | None:
    """The highest risk; ``None`` for nothing."""
    return max(risks, key=RISKS.index, default=None)
