"""The BMC deploys with the real pyinfra on simulated machines: what they change, prove, refuse and leave alone."""

from __future__ import annotations

from pathlib import Path

from tests.operations.redfish.site import FACTORY_PASSWORD, LabSite, lab_site


def test_bios_is_written_once_and_in_force_after_the_restart(site: LabSite) -> None:
    preview = site.pyinfra("inventory/bmcs.py", "deploys/bios.py", "--dry", "--diff", "--limit", "rack-1")
    assert preview.code == 0
    assert "SysProfile: Balanced → Performance" in preview.text
    assert site.writes("lab-1") == []

    first = site.deploy("bios", "--limit", "lab-1")
    assert first.changed == {"BIOS attributes"}
    machine = site.machines["lab-1"].system
    assert machine.state.bios["SysProfile"] == "Performance"
    assert machine.power_state == "On"

    second = site.deploy("bios", "--limit", "lab-1")
    assert (second.code, second.changed) == (0, set())
    assert site.open_sessions() == 0


def test_the_factory_password_is_replaced_and_shown_nowhere(site: LabSite) -> None:
    first = site.pyinfra("-y", "-vvv", "--debug-all", "inventory/bmcs.py", "deploys/credentials.py")
    assert first.code == 0, first.text
    workspace = site.workspace()
    login = workspace.bmc_credentials.current("lab-1")
    workspace.journal.close()
    assert login is not None
    assert login.password.reveal() not in first.text
    assert FACTORY_PASSWORD not in first.text
    assert "{secret:staged-password}" in first.text
    assert site.machines["lab-1"].bmc.gate.check_password("metalwright", login.password.reveal())

    second = site.deploy("credentials", FACTORY_PASSWORD="not-needed-any-more")
    assert (second.code, second.changed) == (0, set())
    refused = site.machines["lab-1"].system.log.of_kind("LoginRefused")
    assert refused == []
    assert site.open_sessions() == 0


def test_a_password_change_that_was_cut_off_is_finished_by_the_next_run(site: LabSite) -> None:
    site.machines["lab-1"].system.faults.set(
        "drop-after-effect", method="POST", path="AccountService/Accounts", times=1
    )
    assert site.deploy("credentials").code == 0
    again = site.deploy("credentials")
    assert (again.code, again.changed) == (0, set())


def test_the_bmc_is_hardened_and_the_second_run_changes_nothing(site: LabSite) -> None:
    first = site.deploy("harden")
    assert first.changed == {"BMC protocols", "BMC clock"}
    second = site.deploy("harden")
    assert (second.code, second.changed) == (0, set())


def test_the_bmc_moves_to_its_allocated_address_as_the_last_act(site: LabSite) -> None:
    run = site.deploy("address")
    assert (run.code, run.changed) == (0, {"BMC address"})
    assert site.writes("lab-1") == ["PATCH /redfish/v1/Managers/1/EthernetInterfaces/1"]
    moved = site.machines["lab-1"].system.log.of_kind("AddressChanged")
    assert moved[-1].args[1].startswith("127.83.64.")

    again = site.deploy("address")
    assert (again.code, again.changed) == (0, set())
    assert site.open_sessions() == 0


def test_power_is_brought_to_the_wanted_state(site: LabSite) -> None:
    machine = site.machines["lab-1"].system
    assert site.deploy("power", "--data", "power=On").changed == {"Power"}
    assert machine.power_state == "On"
    assert site.deploy("power", "--data", "power=On").changed == set()
    assert site.deploy("power_off").changed == {"Power off"}
    assert machine.power_state == "Off"


def test_a_reset_without_effect_fails_by_its_read_back(site: LabSite) -> None:
    site.machines["lab-1"].system.faults.set("reset-ignored", times=1)
    run = site.pyinfra(
        "-y", "inventory/bmcs.py", "exec", "--", "EXPECT", "@system", '\'{"PowerState": "On"}\'', "--within", "1"
    )
    assert run.code == 1
    assert "the BMC accepted the change but does not show it" in run.text
    assert "PowerState = 'Off'" in run.text


def test_image_without_a_grant_is_refused_and_names_the_command_that_makes_one(pair: LabSite) -> None:
    run = pair.pyinfra("-y", "inventory/bmcs.py", "deploys/image.py")
    assert run.code == 1
    assert "metalwright plan lab-1 --grant" in run.text
    assert pair.writes("lab-1") == pair.writes("lab-2") == []


def test_all_phases_of_the_bmc_run_in_one_go_and_the_second_time_nothing_changes(site: LabSite) -> None:
    first = site.deploy("out_of_band")
    assert first.code == 0, first.text
    assert {"BMC login of our own", "BIOS attributes", "BMC protocols", "BMC address"} <= first.changed
    second = site.deploy("out_of_band")
    assert (second.code, second.changed) == (0, set())
    assert site.open_sessions() == 0


def test_firmware_that_does_not_fit_stops_its_host_with_what_was_found(tmp_path: Path) -> None:
    with lab_site(tmp_path / "site", 1, 90, firmware={"BMC": "0.9.1", "BIOS": "1.0.0"}) as old:
        run = old.pyinfra("-y", "inventory/bmcs.py", "deploys/firmware.py")
        assert run.code == 1
        assert "bmc: expected >=1.0, found 0.9.1" in run.text
        assert "bios:" not in run.text
        assert old.writes("lab-1") == []


def test_a_bmc_that_shows_nothing_before_its_password_is_changed_gets_one(tmp_path: Path) -> None:
    with lab_site(tmp_path / "site", 1, 91, bmc_changes={"must_change_password": True}) as fresh:
        first = fresh.deploy("credentials")
        assert first.code == 0, first.text
        assert "BMC login of our own" in first.changed
        assert fresh.deploy("credentials").changed == set()
        assert fresh.machines["lab-1"].system.log.of_kind("LoginRefused") == []
        assert fresh.open_sessions() == 0
