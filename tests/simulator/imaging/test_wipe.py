"""Erasing disks before a write: all that are named and nothing else, proven by reading, or failed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulator.imaging.test_agent_flow import content

from metalwright.imaging.agent.stamp import decode_stamp, read_stamp_area
from metalwright.model.agent_protocol import FailureCode
from metalwright.model.deployment import DeploymentState

MIB = 1 << 20
SECRET = b"the former customer's secret; "


def machine(bench: Any, **facts: Any) -> list[dict[str, Any]]:
    """A system disk and two data disks, full of somebody's secrets; ``facts`` are those of the first data disk."""
    fill = SECRET * (8 * MIB // len(SECRET))
    return [
        bench.add_disk("system", 24 * MIB),
        bench.add_disk("data-1", 8 * MIB, fill, **facts),
        bench.add_disk("data-2", 8 * MIB + 4096, fill),
    ]


def serials(disks: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(disk["serial"] for disk in disks)


async def test_all_named_disks_are_erased_with_proof_before_the_image_is_written(bench: Any) -> None:
    disks = machine(bench)
    run, deployment = await bench.deploy(*disks, wipe=serials(disks))
    assert run.exit_code == 0, run.console
    assert [any(content(disk)) for disk in disks] == [True, False, False]
    assert decode_stamp(read_stamp_area(disks[0]["path"])) is not None
    done = deployment.done
    assert done is not None
    wiped = {disk.serial: disk for disk in done.wiped}
    assert set(wiped) == set(serials(disks))
    assert wiped["S-data-2"].method == "overwritten with zeros"
    assert wiped["S-data-2"].looked_at_bytes == wiped["S-data-2"].size_bytes == 8 * MIB + 4096
    assert wiped["S-data-2"].proof == "64 marks were readable before; the whole disk reads as zeros"
    assert run.console.index("erased:") < run.console.index("read back:")


async def test_without_an_order_the_data_disks_stay_as_they_are(bench: Any) -> None:
    disks = machine(bench)
    before = [content(disk) for disk in disks[1:]]
    run, deployment = await bench.deploy(*disks)
    assert run.exit_code == 0, run.console
    assert [content(disk) for disk in disks[1:]] == before
    assert deployment.done is not None
    assert deployment.done.wiped == ()


@pytest.mark.parametrize("named", [("S-system", "S-data-1"), ("S-system", "S-data-1", "S-data-2", "S-gone")])
async def test_a_disk_too_many_or_too_few_stops_before_the_first_write(bench: Any, named: tuple[str, ...]) -> None:
    disks = machine(bench)
    before = [content(disk) for disk in disks]
    run, deployment = await bench.deploy(*disks, wipe=named)
    assert run.exit_code == 1
    assert deployment.failure is not None
    assert (deployment.failure.code, deployment.failure.wrote) == (FailureCode.WIPE, False)
    assert [content(disk) for disk in disks] == before


async def test_a_read_only_disk_cannot_be_erased_and_says_so(bench: Any) -> None:
    disks = machine(bench, read_only=True)
    run, deployment = await bench.deploy(*disks, wipe=serials(disks))
    assert run.exit_code == 1
    assert deployment.failure is not None
    assert deployment.failure.wrote is False
    assert "read-only" in str(deployment.failure.found)


async def test_a_drive_that_erases_itself_is_believed_only_after_its_marks_are_gone(bench: Any) -> None:
    disks = machine(bench, erase="honest")
    run, deployment = await bench.deploy(*disks, wipe=serials(disks))
    assert run.exit_code == 0, run.console
    assert deployment.done is not None
    (disk,) = [item for item in deployment.done.wiped if item.serial == "S-data-1"]
    assert disk.method == "simulated erase"
    assert disk.proof == "64 marks were readable before; no mark is readable in the whole disk"
    assert not any(content(disks[1]))


async def test_a_drive_that_only_claims_to_erase_fails_and_no_image_is_written(bench: Any) -> None:
    disks = machine(bench, erase="lies")
    run, deployment = await bench.deploy(*disks, wipe=serials(disks))
    assert run.exit_code == 1
    assert deployment.state is DeploymentState.FAILED
    failure = deployment.failure
    assert failure is not None
    assert (failure.code, failure.wrote) == (FailureCode.WIPE, True)
    assert "S-data-1) is not erased by simulated erase that does nothing: a mark is still readable" in str(
        failure.found
    )
    assert "S-data-2" not in str(failure.found)
    assert decode_stamp(read_stamp_area(disks[0]["path"])) is None


async def test_a_drive_that_refuses_its_own_erase_is_overwritten(bench: Any) -> None:
    disks = machine(bench, erase="refuses")
    run, deployment = await bench.deploy(*disks, wipe=serials(disks))
    assert run.exit_code == 0, run.console
    assert "the drive is frozen" in run.console
    assert deployment.done is not None
    assert {disk.method for disk in deployment.done.wiped} == {"overwritten with zeros"}
    assert not any(content(disks[1]))


async def test_another_customers_disk_is_not_written_unless_all_disks_are_erased(bench: Any) -> None:
    disks = machine(bench)
    run, _ = await bench.deploy(*disks, customer="acme")
    assert run.exit_code == 0, run.console
    before = content(disks[0])

    run, deployment = await bench.deploy(*disks, customer="zeta", overwrite=True)
    assert run.exit_code == 1
    assert deployment.failure is not None
    assert deployment.failure.code is FailureCode.CUSTOMER
    assert "customer acme" in str(deployment.failure.found)
    assert content(disks[0]) == before

    run, _ = await bench.deploy(*disks, customer="zeta", wipe=serials(disks))
    assert run.exit_code == 0, run.console
    assert (decode_stamp(read_stamp_area(disks[0]["path"])) or {})["customer"] == "zeta"
    assert SECRET not in b"".join(content(disk) for disk in disks)
