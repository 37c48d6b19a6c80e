"""A node whose BMC has no virtual media: the ramdisk comes over HTTP, and nothing makes an install loop of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.simulator.provision.world import Options, World, world

pytestmark = pytest.mark.timeout(600)

HTTP_ONLY = {"has_virtual_cd": False, "boot_targets": ("None", "Hdd", "UefiHttp")}
BOTH = Options(bmc=HTTP_ONLY, methods=("virtual-media", "uefi-http"))


def devices(site: World) -> list[str]:
    """What the machine's firmware started, in order."""
    return [entry.args[0].partition(":")[0] for entry in site.status(site.machine).log if entry.kind == "BootStarted"]


@pytest.mark.long
def test_a_node_without_virtual_media_is_written_once_over_http_even_if_its_bmc_keeps_the_override(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    with world(tmp_path, "127.105", tiny_image, BOTH) as site:
        plan = json.loads(site.cli("plan", "lab-1", "--json").stdout)
        rows = [change for change in plan["nodes"][0]["changes"] if change["what"] == "start the deploy ramdisk"]
        assert [row["to"] for row in rows] == ["by uefi-http (virtual-media: this BMC has no virtual CD)"]
        site.lab.set_fault("lab-1", "override-kept")
        code, text = site.provision()
        assert code == 0, text
        # The firmware was sent to the URL at both boots; the second time there was nothing behind it any more.
        assert devices(site) == ["http", "disk"]
        stamp = site.stamp(site.machine)
        assert stamp is not None
        assert stamp["node"] == "lab-1"
        events = site.journal(site.machine)["events"]
        (ordered,) = [event for event in events if event["what"] == "boot medium ordered"]
        assert ordered["detail"] == {"method": "uefi-http"}
        assert [path.suffix for path in (site.state / "media").iterdir()] == [".efi"]
        assert "/m/" not in text + json.dumps(events)


PXE_ONLY = Options(
    bmc={"has_virtual_cd": False, "boot_targets": ("None", "Hdd", "Pxe")},
    methods=("virtual-media", "uefi-http", "pxe"),
    edits=(("inventory/site.yaml", "admins:", "network_boot: {pxe: true}\nadmins:"),),
)


@pytest.mark.long
def test_a_node_whose_bmc_offers_pxe_alone_is_written_once_where_the_site_allows_it(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    with world(tmp_path, "127.144", tiny_image, PXE_ONLY) as site:
        site.edit("inventory/site.yaml", "{pxe: true}", "{pxe: false}")
        code, text = site.provision()
        assert code == 1
        assert "pxe: site.yaml does not allow it (network_boot.pxe)" in text, text
        site.edit("inventory/site.yaml", "{pxe: false}", "{pxe: true}")
        site.lab.set_fault("lab-1", "override-kept")
        code, text = site.provision()
        assert code == 0, text
        # The firmware asked the network at both boots; the second time no run waited for it.
        assert devices(site) == ["pxe", "disk"]
        assert site.stamp(site.machine) is not None
        events = site.journal(site.machine)["events"]
        assert [event["detail"] for event in events if event["what"] == "boot medium ordered"] == [{"method": "pxe"}]
