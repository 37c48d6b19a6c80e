"""Boot and virtual media on BMCs that misbehave: judged by what the BMC was asked, and in which order."""

from __future__ import annotations

from typing import Any

import pytest
from tests.failures.conftest import Images
from tests.operations.redfish.bench import Bench
from tests.operations.redfish.in_process import Outcome

from metalwright.connectors.services import SiteServices, services_at
from metalwright.deploys.boot_disk import boot_disk
from metalwright.deploys.image import image
from metalwright.imaging.medium_secrets import make_secrets
from metalwright.operations.redfish import boot, http_boot, power, virtual_media

SYSTEM, SLOT = "Systems/1$", "VirtualMedia/Cd$"
URI = "/redfish/v1/Systems/1"
SLOT_URI = f"{URI}/VirtualMedia/Cd"
CD: dict[str, Any] = {"wanted": "virtual-cd"}
NONE: dict[str, Any] = {"wanted": "none"}
PATCHED = {"method": "PATCH", "path": SYSTEM}
CD_ONCE = {"BootSourceOverrideTarget": "Cd", "BootSourceOverrideEnabled": "Once"}


def error(message_id: str, *arguments: str) -> dict[str, Any]:
    """A refusal with arguments, as a rule answers it."""
    info = [{"MessageId": message_id, "MessageArgs": list(arguments), "Message": "x"}]
    return {"status": 400, "body": {"error": {"code": message_id, "message": "x", "@Message.ExtendedInfo": info}}}


def put(at: str, value: Any) -> dict[str, Any]:
    """An edit."""
    return {"at": at, "set": value}


def done(outcome: Outcome) -> bool:
    """Whether a run changed something and did not fail."""
    assert outcome.is_ok, outcome.text
    return bool(outcome.changed)


def allow(bench: Bench, *targets: str) -> None:
    """Let the BMC allow these targets of the override, and take them."""
    bench.rule("GET", SYSTEM, edit=[put("/Boot/BootSourceOverrideTarget@Redfish.AllowableValues", list(targets))])


def take(bench: Bench, target: str, **more: Any) -> None:
    """Let the BMC take this target, which the simulator itself does not know, and show it from then on."""
    wanted = {"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": "Once", **more}
    bench.rule("PATCH", SYSTEM, when={"body": f'"{target}"'}, status=204)
    bench.rule("GET", SYSTEM, when={"after": PATCHED}, edit=[{"at": "/Boot", "merge": wanted}])


def override(bench: Bench) -> str:
    """How long the override stays."""
    return bench.system.state.override.enabled


def test_bv_02_a_bmc_that_wants_no_boot_mode_gets_none(bench: Bench) -> None:
    """Sends the boot mode only where it differs, and in the form that the BMC asks for; the platform's form is kept."""
    bench.rule("GET", SYSTEM, edit=[{"at": "/Boot/BootSourceOverrideMode", "drop": True}])
    refusal = error("Base.1.8.PropertyNotWritable", "BootSourceOverrideMode")
    bench.rule("PATCH", SYSTEM, when={"body": "OverrideMode"}, **refusal)
    assert done(bench.run(boot.override, **CD))
    assert bench.writes() == [("PATCH 1", 204)]
    assert bench.system.state.override.target == "Cd"


def test_bv_02_a_bmc_that_wants_the_boot_mode_gets_it(bench: Bench) -> None:
    """Sends the boot mode only where it differs, and in the form that the BMC asks for; the platform's form is kept."""
    bench.rule(
        "PATCH",
        SYSTEM,
        when={"body_not": "OverrideMode"},
        **error("Base.1.8.PropertyMissing", "BootSourceOverrideMode"),
    )
    assert done(bench.run(boot.override, **CD))
    assert bench.writes() == [("PATCH 1", 400), ("PATCH 1", 204)]
    assert done(bench.run(boot.override, **NONE))
    assert bench.writes()[2:] == [("PATCH 1", 204)]


def test_bv_02_a_bmc_that_keeps_the_target_when_the_override_is_disabled(bench: Bench) -> None:
    """Sends the boot mode only where it differs, and in the form that the BMC asks for; the platform's form is kept."""
    assert done(bench.run(boot.override, **CD))
    bench.forget()
    bench.rule("PATCH", SYSTEM, when={"body": '"None"'}, **error("Base.1.8.PropertyValueNotInList", "None"))
    assert done(bench.run(boot.override, **NONE))
    assert bench.writes() == [("PATCH 1", 400), ("PATCH 1", 204)]
    assert bench.system.state.override.enabled == "Disabled"


def test_bv_03_boot_changes_go_to_the_future_state_where_the_bmc_says_so(bench: Bench) -> None:
    """Writes boot changes to the settings resource only if that has them, or if the BMC's refusal names it."""
    bench.rule("PATCH", SYSTEM, status=400, message="Ami.1.0.OperationSupportedInFutureStateURI")
    bench.rule("GET", "Systems/1/SD$", status=200, body={"@odata.id": f"{URI}/SD", "Boot": CD_ONCE})
    bench.rule("PATCH", "Systems/1/SD$", status=204)
    assert done(bench.run(boot.override, **CD))
    assert bench.writes() == [("PATCH 1", 400), ("PATCH SD", 204)]


def test_bv_03_a_settings_resource_without_boot_is_left_alone(bench: Bench) -> None:
    """Writes boot changes to the settings resource only if that has them, or if the BMC's refusal names it."""
    settings = {"SettingsObject": {"@odata.id": f"{URI}/Settings"}}
    bench.rule("GET", SYSTEM, edit=[put("/@Redfish.Settings", settings)])
    bench.rule("GET", "Systems/1/Settings$", status=200, body={"@odata.id": f"{URI}/Settings", "Name": "Settings"})
    bench.rule("PATCH", "Systems/1/Settings$", status=400, message="Base.1.8.PropertyNotWritable")
    assert done(bench.run(boot.override, **CD))
    assert bench.writes() == [("PATCH 1", 204)]


def test_bv_04_an_image_is_inserted_with_nothing_but_its_url(bench: Bench, images: Images) -> None:
    """Sends the image's URL alone; other members only where the BMC asks for them."""
    bench.site.grant("lab-1")
    bench.rule("POST", "InsertMedia$", when={"body": "Inserted|WriteProtected"}, status=400)
    assert done(bench.run(virtual_media.inserted, image=f"{images.url}/a.iso"))
    assert bench.writes() == [("POST VirtualMedia.InsertMedia", 204)]
    assert not bench.run(virtual_media.inserted, image=f"{images.url}/a.iso").changed


def test_bv_05_a_parameter_that_the_bmc_misses_is_added(bench: Bench, images: Images) -> None:
    """Adds the parameter that the refusal names, and sends it at once to the next BMC of the platform."""
    bench.site.grant("lab-1")
    missing = error("Base.1.12.ActionParameterMissing", "VirtualMedia.InsertMedia", "TransferProtocolType")
    bench.rule("POST", "InsertMedia$", when={"body_not": "TransferProtocolType"}, **missing)
    assert done(bench.run(virtual_media.inserted, image=f"{images.url}/a.iso"))
    posts = bench.seen("POST", "InsertMedia")
    assert [record.status for record in posts] == [400, 204]
    assert posts[1].body["TransferProtocolType"] == "HTTP"

    bench.forget()
    assert done(bench.run(virtual_media.inserted, image=f"{images.url}/b.iso"))
    assert [record.status for record in bench.seen("POST", "InsertMedia")] == [204]


@pytest.mark.parametrize("actions", [None, {"#VirtualMedia.InsertMedia": {}, "#VirtualMedia.EjectMedia": {}}])
def test_bv_06_a_slot_without_actions_is_patched(bench: Bench, images: Images, actions: Any) -> None:
    """Writes the image to the slot where that offers no action, and takes it out in the same way."""
    bench.site.grant("lab-1")
    url = f"{images.url}/a.iso"
    once, twice = ({"method": "PATCH", "path": SLOT, "count": number} for number in (1, 2))
    shape = {"at": "/Actions", "drop": True} if actions is None else put("/Actions", actions)
    bench.rule("GET", SLOT, edit=[shape])
    bench.rule("GET", SLOT, when={"after": once, "before": twice}, edit=[put("/Image", url), put("/Inserted", True)])
    bench.rule("PATCH", SLOT, status=200, body={})
    assert done(bench.run(virtual_media.inserted, image=url))
    assert done(bench.run(virtual_media.ejected))
    first, second = bench.seen("PATCH", "Cd")
    assert first.body == {"Image": url, "Inserted": True, "WriteProtected": True}
    assert second.body == {"Image": None, "Inserted": False}
    assert "If-Match" in first.headers
    assert bench.seen("POST") == []


def test_bv_16_an_action_without_a_target_is_no_action(bench: Bench, images: Images) -> None:
    """Takes an action without a target for one that is not offered."""
    test_bv_06_a_slot_without_actions_is_patched(bench, images, {"#VirtualMedia.InsertMedia": {}})


@pytest.mark.parametrize("system_has", [True, False])
def test_bv_07_media_are_found_by_the_links_of_system_and_manager(bench: Bench, system_has: bool) -> None:
    """Follows the link of the system, else that of the manager; a collection without slots does not hide another."""
    collection = f"{URI}/VirtualMedia"
    if not system_has:
        empty = {"@odata.id": "/redfish/v1/Empty", "Members": [], "Members@odata.count": 0}
        bench.rule("GET", SYSTEM, edit=[put("/VirtualMedia", {"@odata.id": "/redfish/v1/Empty"})])
        bench.rule("GET", "v1/Empty$", status=200, body=empty)
        bench.rule("GET", "Managers/1$", edit=[put("/VirtualMedia", {"@odata.id": collection})])
    assert bench.run(virtual_media.ejected).is_ok
    assert bench.seen("GET", "VirtualMedia/Cd")
    assert bench.seen("GET", "Managers/1/VirtualMedia") == []


def test_bv_08_a_slot_is_emptied_before_it_is_filled(bench: Bench, images: Images) -> None:
    """Ejects what is in the slot, waits for it to be empty, inserts; an eject that was not needed is no failure."""
    bench.site.grant("lab-1")
    assert done(bench.run(virtual_media.inserted, image=f"{images.url}/old.iso"))
    bench.forget()
    ejected = {"method": "POST", "path": "EjectMedia$"}
    bench.rule("POST", "InsertMedia$", when={"before": ejected}, status=500, message="IDRAC.2.5.VRM0012")
    assert done(bench.run(virtual_media.inserted, image=f"{images.url}/new.iso"))
    assert [name for name, _ in bench.writes()] == ["POST VirtualMedia.EjectMedia", "POST VirtualMedia.InsertMedia"]
    assert bench.system.state.media.image.endswith("new.iso")
    assert done(bench.run(virtual_media.ejected))

    bench.rule("GET", SLOT, when={"before": ejected}, edit=[put("/Inserted", True)])
    bench.rule("POST", "EjectMedia$", status=400, message="iLO.2.13.NoVirtualMediaConnectionAvailable")
    assert done(bench.run(virtual_media.ejected))


def test_bv_09_urls_are_short_and_numeric(bench: Bench) -> None:
    """Makes short numeric URLs itself; one that is too long is refused before it is sent, with its limit."""
    bench.site.grant("lab-1")
    refused = bench.run(virtual_media.inserted, image=f"http://10.0.0.1/{'a' * 250}.iso")
    assert not refused.is_ok
    assert "at most 255 characters" in refused.text
    assert bench.writes() == []
    own = f"http://255.255.255.255:65535/m/{make_secrets().media_secret}/boot.iso"
    assert len(own) <= 255
    server = services_at(bench.site.root).workspace.repository.site.boot_server
    assert server.address_for_bmc.replace(".", "").isdigit()


def test_bv_09_a_bmc_that_takes_no_host_name_says_so_and_takes_an_address(bench: Bench, images: Images) -> None:
    """Makes short numeric URLs itself; a refusal of another URL is shown in the BMC's own words."""
    bench.site.grant("lab-1")
    refusal = error("IDRAC.2.5.RAC0720", "Image")
    bench.rule("POST", "InsertMedia$", when={"body": r'"Image": ?"https?://[^/"]*[a-z]'}, **refusal)
    refused = bench.run(virtual_media.inserted, image="http://images.lab.test/a.iso")
    assert not refused.is_ok
    assert "IDRAC.2.5.RAC0720" in refused.text
    assert "http://images.lab.test/a.iso" in refused.text
    assert done(bench.run(virtual_media.inserted, image=f"{images.url}/a.iso"))


def test_bv_10_the_medium_is_out_before_the_disk_is_started(bench: Bench, images: Images) -> None:
    """Proves that the slots are empty and the override is gone before the power comes on."""
    bench.site.grant("lab-1")
    assert done(bench.run(virtual_media.inserted, image=f"{images.url}/a.iso"))
    assert done(bench.run(boot.override, **CD))
    bench.forget()
    assert done(bench.run(boot_disk))
    assert [name for name, _ in bench.writes()] == [
        "POST VirtualMedia.EjectMedia",
        "PATCH 1",
        "POST ComputerSystem.Reset",
    ]
    proof = [record.number for record in bench.seen("GET", "VirtualMedia/Cd")][-1]
    assert proof < bench.seen("POST", "ComputerSystem.Reset")[0].number
    assert bench.system.boot_counts == {}


def test_bv_10_a_medium_that_does_not_go_keeps_the_power_off(bench: Bench, images: Images, monkeypatch: Any) -> None:
    """Proves that the slots are empty and the override is gone before the power comes on."""
    monkeypatch.setattr(virtual_media, "SETTLE_S", 0.2)
    bench.site.grant("lab-1")
    assert done(bench.run(virtual_media.inserted, image=f"{images.url}/a.iso"))
    bench.rule("POST", "EjectMedia$", status=204)
    assert not bench.run(boot_disk).is_ok
    assert bench.seen("POST", "ComputerSystem.Reset") == []


def test_bv_11_the_target_of_the_virtual_cd_is_one_that_the_bmc_allows(bench: Bench) -> None:
    """Takes the target that the BMC allows and that started a medium on its platform; else the medium's boot option."""
    allow(bench, "None", "Pxe", "Hdd", "UsbCd", "UefiTarget")
    take(bench, "UsbCd")
    assert done(bench.run(boot.override, **CD))
    assert [record.body["Boot"]["BootSourceOverrideTarget"] for record in bench.seen("PATCH")] == ["UsbCd"]


def test_bv_11_a_target_that_started_a_medium_before_comes_first(bench: Bench) -> None:
    """Takes the target that the BMC allows and that started a medium on its platform; else the medium's boot option."""
    services = services_at(bench.site.root)
    services.workspace.journal.platform_forms.keep(bench.platform(), ["cd-Cd", "cd+UsbCd"])
    allow(bench, "None", "Cd", "UsbCd")
    take(bench, "UsbCd")
    assert done(bench.run(boot.override, **CD))
    assert bench.seen("PATCH")[0].body["Boot"]["BootSourceOverrideTarget"] == "UsbCd"


def test_bv_11_without_a_fitting_target_the_boot_option_of_the_medium_is_next(bench: Bench) -> None:
    """Takes the target that the BMC allows and that started a medium on its platform; else the medium's boot option."""
    path = "PciRoot(0x0)/Pci(0x14,0x0)/USB(0x2,0x0)"
    allow(bench, "None", "Hdd", "UefiTarget")
    bench.rule("GET", "BootOptions/Boot0000$", edit=[put("/UefiDevicePath", path)])
    take(bench, "UefiTarget", UefiTargetBootSourceOverride=path)
    assert done(bench.run(boot.override, **CD))
    assert bench.seen("PATCH")[0].body["Boot"]["UefiTargetBootSourceOverride"] == path

    allow(bench, "None", "Hdd", "Pxe")
    refused = bench.run(boot.override, **CD)
    assert not refused.is_ok
    assert "it allows None, Hdd, Pxe" in refused.text


def test_bv_12_an_http_boot_uri_that_is_refused_goes_to_the_makers_attribute(bench: Bench) -> None:
    """Writes ``HttpBootUri`` where the BMC shows it, else the maker's BIOS attribute, else says that none is there."""
    bench.site.grant("lab-1")
    allow(bench, "None", "UefiHttp")
    refused = bench.run(http_boot.boot, url="http://10.0.0.1/a.efi")
    assert not refused.is_ok
    assert "HTTP boot is not offered" in refused.text

    attribute = put("/Attributes/HttpDev1Uri", "")
    bench.rule("GET", "Systems/1/Bios$", edit=[attribute])
    bench.rule("PATCH", "Bios/Settings$", status=204)
    pending = {"method": "PATCH", "path": "Bios/Settings$"}
    shown = [put("/Attributes/HttpDev1Uri", "http://10.0.0.1/a.efi")]
    bench.rule("GET", "Bios/Settings$", when={"after": pending}, edit=shown)
    take(bench, "UefiHttp")
    bench.forget()
    assert done(bench.run(http_boot.boot, url="http://10.0.0.1/a.efi"))
    assert bench.writes() == [("PATCH Settings", 204), ("PATCH 1", 204)]


def test_bv_13_a_boot_order_that_would_not_start_the_disk_is_told_and_repaired(bench: Bench) -> None:
    """Names a disabled disk and a shell in front of it; repairs the boot order where that is asked."""
    shell = {"@odata.id": f"{URI}/BootOptions/Boot0003", "BootOptionReference": "Boot0003", "DisplayName": "EFI Shell"}
    disk: dict[str, Any] = {
        "@odata.id": f"{URI}/BootOptions/Boot0001",
        "BootOptionReference": "Boot0001",
        "DisplayName": "Disk",
    }
    disk |= {"Alias": "Hdd", "BootOptionEnabled": False}
    members = [{"@odata.id": option["@odata.id"]} for option in (shell, disk)]
    bench.rule("GET", "BootOptions$", edit=[put("/Members", members)])
    bench.rule("GET", "Boot0003$", status=200, body=shell)
    bench.rule("GET", "Boot0001$", status=200, body=disk)
    bench.rule("GET", SYSTEM, edit=[put("/Boot/BootOrder", ["Boot0003", "Boot0001"])])
    told = bench.run(boot.order, is_repaired=False)
    assert told.is_ok
    assert "Boot0001 (Disk) is disabled" in told.text
    assert "Boot0003 (EFI Shell) comes before the disk" in told.text
    assert bench.writes() == []

    bench.rule("PATCH", "Boot0001$", status=204)
    enabled = {"method": "PATCH", "path": "Boot0001$"}
    bench.rule("GET", "Boot0001$", when={"after": enabled}, status=200, body={**disk, "BootOptionEnabled": True})
    bench.rule("PATCH", SYSTEM, status=204)
    bench.rule("GET", SYSTEM, when={"after": PATCHED}, edit=[put("/Boot/BootOrder", ["Boot0001", "Boot0003"])])
    repaired = bench.run(boot.order)
    assert "boot order: Boot0003, Boot0001 → Boot0001, Boot0003" in repaired.diff
    assert done(repaired)
    assert bench.seen("PATCH", "Systems/1")[0].body == {"Boot": {"BootOrder": ["Boot0001", "Boot0003"]}}
    assert not bench.run(boot.order).changed


def test_im_12_entries_of_earlier_systems_are_told_and_nothing_relies_on_them(bench: Bench) -> None:
    """Images start by the default path, so no entry is made or needed; stale ones of the same name are told."""
    guids = {"Boot0004": "11111111-2222-3333-4444-555555555555", "Boot0005": "99999999-2222-3333-4444-555555555555"}
    options = []
    for reference, guid in guids.items():
        path = f"HD(1,GPT,{guid},0x800,0x82000)/\\EFI\\ubuntu\\shimx64.efi"
        options.append(
            {"@odata.id": f"{URI}/BootOptions/{reference}", "BootOptionReference": reference, "UefiDevicePath": path}
            | {"DisplayName": "ubuntu", "Alias": "Hdd", "BootOptionEnabled": True}
        )
        bench.rule("GET", f"{reference}$", status=200, body=options[-1])
    bench.rule("GET", "BootOptions$", edit=[put("/Members", [{"@odata.id": item["@odata.id"]} for item in options])])
    bench.rule("GET", SYSTEM, edit=[put("/Boot/BootOrder", list(guids))])
    told = bench.run(boot.order)
    assert told.is_ok
    assert "Boot0004, Boot0005 are all called ubuntu and point to different partitions" in told.text
    assert bench.writes() == []


def test_bv_14_settings_of_an_http_boot_are_asserted_before_each_one(bench: Bench) -> None:
    """Writes what HTTP boot needs again where the firmware put it back, and says that a NIC may have been missing."""
    bench.site.grant("lab-1")
    url, wanted = "http://10.0.0.1/a.efi", {"HttpDev1Interface": "NIC.Slot.3-1"}
    allow(bench, "None", "UefiHttp")
    bench.rule("GET", "Systems/1/Bios$", edit=[put("/Attributes/HttpDev1Interface", "NIC.Embedded.1-1-1")])
    bench.rule("PATCH", "Bios/Settings$", status=204)
    pending = {"method": "PATCH", "path": "Bios/Settings$"}
    reset = {"method": "POST", "path": "Reset$"}
    shown = [put("/Attributes/HttpDev1Interface", "NIC.Slot.3-1")]
    bench.rule("GET", "Bios/Settings$", when={"after": pending, "before": reset}, edit=shown)
    bench.rule("GET", SYSTEM, edit=[put("/Boot/HttpBootUri", url)])
    take(bench, "UefiHttp")
    first = bench.run(http_boot.boot, url=url, settings=wanted)
    assert done(first)
    assert "was a NIC missing at the last boot?" in first.text
    assert len(bench.seen("PATCH", "Bios/Settings")) == 1
    assert done(bench.run(power.state, wanted="On"))
    bench.run(http_boot.boot, url=url, settings=wanted)
    assert len(bench.seen("PATCH", "Bios/Settings")) >= 2


def test_bv_17_a_bmc_without_a_slot_says_so(bench: Bench) -> None:
    """Says that there is no virtual CD; boots over HTTP where the blueprint declares that as well."""
    bench.site.grant("lab-1")
    bench.rule("GET", "VirtualMedia$", edit=[put("/Members", []), put("/Members@odata.count", 0)])
    refused = bench.run(virtual_media.inserted, image="http://10.0.0.1/a.iso")
    assert not refused.is_ok
    assert "this BMC has no virtual CD: its slots are none" in refused.text
    assert bench.writes() == []


def test_bv_17_the_ramdisk_is_started_over_http_where_the_blueprint_declares_that(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Says that there is no virtual CD; boots over HTTP where the blueprint declares that as well."""
    url = "http://10.0.0.1/m/boot.iso"
    monkeypatch.setattr(SiteServices, "order_medium", lambda self, node, method: url)
    bench.site.grant("lab-1")
    bench.rule("GET", "VirtualMedia$", edit=[put("/Members", []), put("/Members@odata.count", 0)])
    bench.rule("GET", SYSTEM, edit=[put("/Boot/HttpBootUri", "")])
    allow(bench, "None", "Hdd", "UefiHttp")
    take(bench, "UefiHttp", HttpBootUri=url)
    only_media = bench.run(image)
    assert not only_media.is_ok
    assert "this BMC has no virtual CD" in only_media.text
    bench.forget()
    both = {"boot": {"method": ["virtual-media", "uefi-http"]}}
    assert done(bench.run(image, data={"blueprint_data": both}))
    assert bench.seen("PATCH")[0].body["Boot"]["HttpBootUri"]
    assert bench.writes()[-1] == ("POST ComputerSystem.Reset", 204)


def test_an_override_that_the_bmc_ignores_or_keeps_never_makes_an_install_loop(bench: Bench, images: Images) -> None:
    bench.site.grant("lab-1")
    disk = next(iter(bench.service.disks.values()))
    with disk.open("r+b") as file:
        file.write(b"\1" * 512)
    bench.system.faults.set("override-ignored")
    assert done(bench.run(virtual_media.inserted, image=f"{images.url}/a.iso"))
    assert done(bench.run(boot.override, **CD))
    assert done(bench.run(power.state, wanted="On"))
    assert list(bench.system.boot_counts.values()) == [1]  # the disk: nothing went on by itself

    bench.behave()
    assert done(bench.run(power.state, wanted="Off"))
    assert done(bench.run(boot.override, **CD))
    bench.rule("PATCH", SYSTEM, when={"body": "Disabled"}, status=204)  # the BMC keeps it
    stopped = bench.run(boot_disk)
    assert not stopped.is_ok
    assert bench.system.power_state == "Off"
    bench.behave()
    assert done(bench.run(boot_disk))
    assert {name.partition(":")[0]: number for name, number in bench.system.boot_counts.items()} == {"disk": 2}


def test_what_the_diff_shows_is_what_is_written_and_a_second_run_changes_nothing(bench: Bench, images: Images) -> None:
    bench.site.grant("lab-1")
    url = f"{images.url}/a.iso"
    steps: list[tuple[Any, dict[str, Any], list[str], list[str]]] = [
        (virtual_media.inserted, {"image": url}, [f"virtual media: unknown → {url}"], ["InsertMedia"]),
        (boot.override, CD, ["boot target: None → Cd", "boot override: Disabled → Once"], ["1"]),
        (boot.override, NONE, ["boot override: Once Cd → Disabled"], ["1"]),
        (virtual_media.ejected, {}, [f"virtual media Cd: {url} → empty"], ["EjectMedia"]),
    ]
    for operation, arguments, lines, written in steps:
        bench.forget()
        assert bench.preview(operation, **arguments) == lines
        assert bench.writes() == []
        outcome = bench.run(operation, **arguments)
        assert done(outcome)
        assert outcome.diff == lines
        assert [name.rsplit(".", 1)[-1].rsplit(" ", 1)[-1] for name, _ in bench.writes()] == written
        assert bench.run(operation, **arguments).changed == []


def test_bv_19_an_override_that_cannot_stay_is_set_before_each_boot(bench: Bench) -> None:
    """Sets the override once, and again before each boot that needs it, where the BMC keeps none."""
    bench.rule(
        "GET", SYSTEM, edit=[put("/Boot/BootSourceOverrideEnabled@Redfish.AllowableValues", ["Disabled", "Once"])]
    )
    bench.rule("PATCH", SYSTEM, when={"body": "Continuous"}, status=400, message="Base.1.8.PropertyValueNotInList")
    for _ in range(2):
        assert done(bench.run(boot.override, wanted="virtual-cd", is_persistent=True))
        assert override(bench) == "Once"
        assert done(bench.run(power.reset))
        assert override(bench) == "Disabled"
    assert [record.status for record in bench.seen("PATCH")] == [204, 204]
