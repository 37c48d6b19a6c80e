"""Which erase a drive has is read from what it says of itself, and what it says while it works is understood."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from metalwright.imaging.agent import erase
from metalwright.imaging.agent.erase import erase_methods
from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.records import Disk, DiskContent

ATA = """
ATA device, with non-removable media
Commands/features:
@   *@Data Set Management TRIM supported (limit 8 blocks)
{trim}
Security:
@Master password revision code = 65534
@@supported
@not@enabled
@not@locked
@{frozen}@frozen
@not@expired: security count
{enhanced}
@2min for SECURITY ERASE UNIT. 2min for ENHANCED SECURITY ERASE UNIT.
""".replace("@", "\t")
TRIM = "   *  Deterministic read ZEROs after TRIM"
ENHANCED = "    supported: enhanced erase"
SANITIZE_LOG = """Sanitize Progress                      (SPROG) :  {progress}
Sanitize Status                        (SSTAT) :  {status}
Sanitize Command Dword 10 Information (SCDW10) :  0x2
"""


def disk(protocol: str | None) -> Disk:
    path = "/dev/nvme0n1" if protocol == "NVMe" else "/dev/sda"
    return Disk(path, "S1", None, "M", 1 << 30, protocol, False, False, DiskContent("blank", (), None))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[list[str]]]:
    """Stands for the drive's programs: answers by the beginning of the command; returns what was called."""

    def script(**told: Any) -> list[list[str]]:
        called: list[list[str]] = []

        def run_tool(argv: list[str], **_: Any) -> str:
            called.append(argv)
            answer = told[argv[1].strip("-").replace("-", "_")]
            if isinstance(answer, list):
                answer = answer.pop(0)
            if isinstance(answer, AgentError):
                raise answer
            return str(answer)

        monkeypatch.setattr(erase, "run_tool", run_tool)
        monkeypatch.setattr(erase, "_POLL_S", 0.0)
        return called

    return script


def names(protocol: str | None) -> list[str]:
    return [method.name for method in erase_methods(disk(protocol))]


def test_an_nvme_drive_sanitizes_then_formats_then_discards_where_it_can(answers: Any) -> None:
    answers(id_ctrl=json.dumps({"sanicap": 3, "oacs": 2, "fna": 4}), id_ns=json.dumps({"dlfeat": 9}))
    assert names("NVMe") == [
        "NVMe sanitize, block erase",
        "NVMe sanitize, crypto erase",
        "NVMe format, user data erase",
        "NVMe format, crypto erase",
        "discarded, and the drive promises zeros",
        "overwritten with zeros",
    ]


def test_a_drive_that_promises_nothing_is_overwritten(answers: Any) -> None:
    answers(id_ctrl=json.dumps({"sanicap": 4, "oacs": 0, "fna": 4}), id_ns=json.dumps({"dlfeat": 0}))
    assert names("NVMe") == ["overwritten with zeros"]
    assert names("SAS") == names(None) == names("VIRTIO") == ["overwritten with zeros"]


def test_a_drive_whose_program_fails_is_overwritten(answers: Any) -> None:
    answers(id_ctrl=AgentError("wipe", "nvme cannot be run"))
    assert names("NVMe") == ["overwritten with zeros"]


@pytest.mark.parametrize(
    ("frozen", "trim", "expected"),
    [
        ("not", TRIM, ["ATA secure erase, enhanced", "ATA secure erase", "discarded, and the drive promises zeros"]),
        ("", "   *  Deterministic read data after TRIM", []),
    ],
)
def test_an_ata_drive_erases_itself_unless_it_is_frozen(
    answers: Any, frozen: str, trim: str, expected: list[str]
) -> None:
    answers(I=ATA.format(frozen=frozen, trim=trim, enhanced=ENHANCED))
    assert names("SATA") == [*expected, "overwritten with zeros"]


def test_sanitize_is_followed_until_it_is_done(answers: Any) -> None:
    log = [SANITIZE_LOG.format(progress=100, status="0x2"), SANITIZE_LOG.format(progress=65535, status="0x101")]
    called = answers(id_ctrl=json.dumps({"sanicap": 2}), id_ns="{}", sanitize="", sanitize_log=log)
    beats: list[int] = []
    run = erase_methods(disk("NVMe"))[0].run
    assert run is not None
    run(lambda: beats.append(1))
    assert ["nvme", "sanitize", "/dev/nvme0", "-a", "2"] in called
    assert len(beats) == 1


@pytest.mark.parametrize("status", ["0x3", "0x0", "nonsense"])
def test_a_sanitize_that_fails_is_a_failure(answers: Any, status: str) -> None:
    log = SANITIZE_LOG.format(progress=1, status=status)
    answers(id_ctrl=json.dumps({"sanicap": 2}), id_ns="{}", sanitize="", sanitize_log=log)
    run = erase_methods(disk("NVMe"))[0].run
    assert run is not None
    with pytest.raises(AgentError, match="sanitize operation failed"):
        run(lambda: None)


def test_ata_secure_erase_sets_the_password_that_it_erases_with(answers: Any) -> None:
    called = answers(I=ATA.format(frozen="not", trim="", enhanced=""), user_master=["", ""])
    run = erase_methods(disk("SATA"))[0].run
    assert run is not None
    run(lambda: None)
    assert [argv[3:] for argv in called[1:]] == [
        ["--security-set-pass", "metalwright", "/dev/sda"],
        ["--security-erase", "metalwright", "/dev/sda"],
    ]
