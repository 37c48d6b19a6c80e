from __future__ import annotations

import pytest
from tests.unit.matching.machines import NODE, REPORT, report_with

from metalwright.errors import IdentityError
from metalwright.redfish.access import report_of


def test_of_several_hosts_the_one_whose_identity_agrees_is_the_node() -> None:
    other = report_with(system=REPORT.system.model_copy(update={"id": "2", "serial": "OTHER1"}))
    assert report_of(NODE, [other, REPORT]) is REPORT


def test_hosts_that_cannot_be_told_apart_are_refused() -> None:
    """A two-node blade: one serial, one BMC MAC, no UUID."""
    twins = [
        report_with(system=REPORT.system.model_copy(update={"id": name, "uuid": None})) for name in ("Node0", "Node1")
    ]
    with pytest.raises(IdentityError, match="exactly one host") as caught:
        report_of(NODE, twins)
    assert caught.value.found == "2 of 2 hosts"


def test_a_single_host_is_reported_whatever_it_is_so_that_the_difference_can_be_shown() -> None:
    other = report_with(system=REPORT.system.model_copy(update={"serial": "OTHER1"}))
    assert report_of(NODE, [other]) is other


def test_a_bmc_without_host_is_not_the_node() -> None:
    with pytest.raises(IdentityError):
        report_of(NODE, [])
