"""What a DHCP server is told, compared at both states of a site."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.unit.review.fleet import GIVEN, edit, new_version, write_fleet

from metalwright.loading import release
from metalwright.model.review import FileChange
from metalwright.review.markdown import render_markdown
from metalwright.reviewing import review_states

BMC = ["addresses export --format kea", "addresses export --format dnsmasq"]
BOOT = [f"{command} --for boot" for command in BMC]


@pytest.fixture
def states(tmp_path: Path) -> tuple[Path, Path]:
    write_fleet(tmp_path / "base")
    shutil.copytree(tmp_path / "base", tmp_path / "head")
    return tmp_path / "base", tmp_path / "head"


def exports(states: tuple[Path, Path]) -> dict[str, FileChange]:
    review = review_states(*states, ("base", "head"), GIVEN)
    assert review.refused == ()
    return {file.path: file for file in review.files if file.written_by == "export"}


def test_a_bmc_with_another_mac_is_a_reservation_that_changes(states: tuple[Path, Path]) -> None:
    edit(states[1], "inventory/racks/a01.yaml", "bmc_mac: 52:54:00:00:00:03", "bmc_mac: 52:54:00:00:07:03")
    found = exports(states)
    assert list(found) == BMC
    lines = [line for line in found[BMC[1]].diff.splitlines() if line[0] in "+-"]
    assert [(line[0], "52:54:00:00:07:03" in line) for line in lines] == [("-", False), ("+", True)]


def test_a_template_of_dhcp_that_changes_is_shown_by_what_it_writes(states: tuple[Path, Path]) -> None:
    path = states[1] / "templates/dhcp/dnsmasq.conf.j2"
    path.write_text(path.read_text() + "log-dhcp\n")
    found = exports(states)
    assert list(found) == [BMC[1]]
    assert found[BMC[1]].diff.endswith("+log-dhcp")
    text = render_markdown(review_states(*states, ("base", "head"), GIVEN))
    assert "What a DHCP server is told, once somebody exports it again:" in text
    assert f"<code>{BMC[1]}</code></summary>" in text


def test_the_same_nodes_in_another_order_are_the_same_configuration(states: tuple[Path, Path]) -> None:
    path = states[1] / "inventory/racks/a01.yaml"
    lines = path.read_text().splitlines(keepends=True)
    first = next(index for index, line in enumerate(lines) if "name: g00" in line)
    path.write_text("".join([*lines[:first], *reversed(lines[first:])]))
    review = review_states(*states, ("base", "head"), GIVEN)
    assert (review.refused, review.files, review.nodes) == ((), (), ())


def test_what_a_dhcp_server_is_not_told_is_no_difference(states: tuple[Path, Path]) -> None:
    new_version(states[1], "1.1.0", ("SysProfile: Performance", "SysProfile: Balanced"))
    assert exports(states) == {}


def test_nodes_that_boot_from_the_network_have_reservations_too(states: tuple[Path, Path]) -> None:
    boot = "boot: {method: [uefi-http]}\nnetwork:"
    for root in states:
        edit(root, "blueprints/gpu/1.0.0.yaml", "network:", boot)
        release(root, ["gpu@1.0.0"], replace=True)
    port = "name: g04, ports: [{{mac: 52:54:00:01:00:{}, role: host}}],"
    for root, octet in zip(states, ("01", "02"), strict=True):
        edit(root, "inventory/racks/a01.yaml", "name: g04,", port.format(octet))
    assert list(exports(states)) == BOOT


def test_a_template_that_cannot_be_rendered_is_told(states: tuple[Path, Path]) -> None:
    (states[1] / "templates/dhcp/kea-dhcp4.conf.j2").write_text("{{ nothing.of_the_kind }}")
    assert "+the template cannot be rendered" in exports(states)[BMC[0]].diff
