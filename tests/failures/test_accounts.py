"""Known failures of BMC accounts and hardening, with the real deploys on simulated BMCs, judged by what those saw."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.operations.redfish.in_process import Outcome, run_deploy
from tests.operations.redfish.site import FACTORY_PASSWORD, LabSite, lab_site

from metalwright.deploys.address import address
from metalwright.deploys.credentials import credentials
from metalwright.deploys.harden import harden
from metalwright.secrets.references import read_secret
from metalwright.simulator.service.sessions import digest_password
from metalwright.simulator.state import Account

MakeSite = Callable[..., LabSite]
_octets = count(10)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MakeSite]:
    """Make a site of one node; ``bmc`` changes its BMC, ``site`` adds lines to its site.yaml."""
    opened: list[AbstractContextManager[LabSite]] = []

    def make_site(site: str = "", **bmc: Any) -> LabSite:
        number = next(_octets)
        context = lab_site(tmp_path / f"site-{number}", 1, number, prefix="127.96", site=site, bmc_changes=bmc)
        opened.append(context)
        return context.__enter__()

    yield make_site
    for context in opened:
        context.__exit__(None, None, None)


def account(site: LabSite, user: str) -> Account | None:
    accounts = site.machines["lab-1"].system.state.accounts
    return next((item for item in accounts if item.user == user), None)


def refused_logins(site: LabSite) -> int:
    return len(site.machines["lab-1"].system.log.of_kind("LoginRefused"))


def opens(site: LabSite, user: str, password: str) -> bool:
    """Whether the BMC keeps this password for the user; without trying it."""
    known = account(site, user)
    return known is not None and known.enabled and known.digest == digest_password(known.salt, password)


def own_password(site: LabSite) -> str:
    workspace = site.workspace()
    login = workspace.bmc_credentials.current("lab-1")
    workspace.journal.close()
    assert login is not None
    assert login.user == "metalwright"
    return login.password.reveal()


def check_second_run(site: LabSite, deploy: Callable[..., Any] = credentials) -> None:
    writes = site.writes("lab-1")
    again = run_deploy(site, deploy)
    assert (again.is_ok, again.planned, again.changed) == (True, [], []), again.text
    assert site.writes("lab-1") == writes


def test_ac_01_a_free_slot_is_used_where_no_account_can_be_made(make: MakeSite) -> None:
    """Tries to make an account, then fills the first free slot; used and reserved slots are left alone."""
    site = make(account_slots=5)
    assert run_deploy(site, credentials).is_ok
    made = account(site, "metalwright")
    assert made is not None
    assert (made.id, made.role, made.enabled) == ("4", "Administrator", True)
    assert opens(site, "admin", FACTORY_PASSWORD)
    assert opens(site, "metalwright", own_password(site))
    assert [write for write in site.writes("lab-1") if "Accounts" in write] == [
        "POST /redfish/v1/AccountService/Accounts",
        "PATCH /redfish/v1/AccountService/Accounts/4",
    ]
    check_second_run(site)


def test_ac_01_without_a_free_slot_the_present_account_gets_its_own_password(make: MakeSite) -> None:
    site = make(account_slots=2)
    site.machines["lab-1"].system.faults.rule("GET", "Accounts$", headers={"Allow": "GET, HEAD"})
    assert run_deploy(site, credentials).is_ok
    assert not opens(site, "admin", FACTORY_PASSWORD)
    check_second_run(site)
    assert run_deploy(site, harden).is_ok
    assert account(site, "admin") is not None
    assert account(site, "admin").enabled  # type: ignore[union-attr]  # just seen


def test_ac_02_a_generated_password_fits_what_the_bmc_and_the_site_say(make: MakeSite) -> None:
    """Keeps within the limits of BMC and site, proves each password by a login, and keeps the old way in until then."""
    site = make("bmc_password_max_length: 16\n", max_password_length=40)
    assert run_deploy(site, credentials).is_ok
    assert len(own_password(site)) == 16


def test_ac_02_a_password_that_is_cut_leaves_the_old_login_usable(make: MakeSite) -> None:
    site = make(max_password_length=14, is_password_cut=True)
    site.machines["lab-1"].system.faults.rule("GET", "AccountService$", edit=[{"at": "/MaxPasswordLength", "set": 20}])
    run = run_deploy(site, credentials)
    assert not run.is_ok
    assert "bmc_password_max_length" in run.text
    assert opens(site, "admin", FACTORY_PASSWORD)
    assert refused_logins(site) == 1

    inventory = site.root / "inventory/site.yaml"
    inventory.write_text(inventory.read_text() + "bmc_password_max_length: 14\n")
    assert run_deploy(site, credentials).is_ok
    assert opens(site, "metalwright", own_password(site))
    assert refused_logins(site) == 1
    check_second_run(site)


def test_ac_02_a_password_that_is_cut_on_the_only_account_is_put_back(make: MakeSite) -> None:
    site = make(account_slots=2, max_password_length=14, is_password_cut=True)
    faults = site.machines["lab-1"].system.faults
    faults.rule("GET", "AccountService$", edit=[{"at": "/MaxPasswordLength", "set": 20}])
    faults.rule("GET", "Accounts$", headers={"Allow": "GET, HEAD"})
    run = run_deploy(site, credentials)
    assert not run.is_ok
    assert "its old password was put back" in run.text
    assert opens(site, "admin", FACTORY_PASSWORD)


def test_ac_03_a_factory_password_that_must_be_changed_is_changed_first(make: MakeSite) -> None:
    """Recognises the demand, changes the password where the BMC says, logs in again and goes on."""
    site = make(must_change_password=True)
    run = run_deploy(site, credentials)
    assert run.is_ok, run.text
    assert opens(site, "metalwright", own_password(site))
    assert not opens(site, "admin", FACTORY_PASSWORD)
    assert site.writes("lab-1")[0] == "PATCH /redfish/v1/AccountService/Accounts/1"
    assert refused_logins(site) == 0
    check_second_run(site)


@pytest.mark.parametrize("has_effect", [True, False], ids=["after-the-change", "before-the-change"])
def test_ac_04_a_change_that_was_cut_off_is_finished_with_one_wrong_login_at_most(
    make: MakeSite, monkeypatch: pytest.MonkeyPatch, has_effect: bool
) -> None:
    """Keeps the new password before the BMC hears of it and tries staged, then old; goes on where it stopped."""
    site = make()
    killed = _killed_at_the_change(site, monkeypatch, has_effect=has_effect)
    assert not killed.is_ok
    assert opens(site, "admin", FACTORY_PASSWORD)
    assert run_deploy(site, credentials).is_ok
    assert opens(site, "metalwright", own_password(site))
    assert refused_logins(site) == (0 if has_effect else 1)
    check_second_run(site)


def _killed_at_the_change(site: LabSite, monkeypatch: pytest.MonkeyPatch, *, has_effect: bool) -> Outcome:
    """Everything after the change is lost, as if the process had died there."""
    faults = site.machines["lab-1"].system.faults
    with monkeypatch.context() as patched:
        patched.setattr("metalwright.connectors.execution.prove_staged", _die)
        if not has_effect:
            faults.rule("POST", "Accounts$", times=1, close="before")
        return run_deploy(site, credentials)


def _die(*_arguments: object) -> list[str]:
    raise RuntimeError("killed")


def test_ac_05_an_account_that_comes_out_disabled_is_enabled(make: MakeSite) -> None:
    """Reads the new account back and corrects what differs before relying on it."""
    site = make()
    site.machines["lab-1"].system.faults.set("account-flag-ignored", times=1)
    run = run_deploy(site, credentials)
    assert run.is_ok, run.text
    made = account(site, "metalwright")
    assert made is not None
    assert made.enabled
    assert "PATCH /redfish/v1/AccountService/Accounts/2" in site.writes("lab-1")


def test_ac_07_a_disabled_account_that_lets_in_fails_the_hardening(make: MakeSite) -> None:
    """Disables default accounts only when its own is proven, then tries each factory password once and wants it
    refused."""
    site = make()
    assert run_deploy(site, credentials).is_ok
    faults = site.machines["lab-1"].system.faults
    faults.set("disabled-login-accepted")
    run = run_deploy(site, harden)
    assert not run.is_ok
    assert "a factory password still opens the BMC as user admin" in run.text
    assert site.open_sessions() == 0
    faults.clear()
    assert run_deploy(site, harden).is_ok
    assert refused_logins(site) == 1
    check_second_run(site, harden)
    assert refused_logins(site) == 1


def test_ac_07_default_accounts_stay_open_before_there_is_an_own_one(make: MakeSite) -> None:
    site = make()
    assert run_deploy(site, harden).is_ok
    assert opens(site, "admin", FACTORY_PASSWORD)


def test_ac_08_a_password_that_the_vendor_refuses_fails_clearly_and_leaves_the_old_one(make: MakeSite) -> None:
    """Makes passwords of four character classes; a refusal is final, in the vendor's words, and nothing is locked."""
    site = make()
    faults = site.machines["lab-1"].system.faults
    faults.set("password-too-simple", times=1)
    run = run_deploy(site, credentials)
    assert not run.is_ok
    assert "SMC.1.0.PasswordComplexity" in run.text
    assert opens(site, "admin", FACTORY_PASSWORD)
    assert run_deploy(site, credentials).is_ok
    assert refused_logins(site) == 0


def test_ac_08_the_account_is_found_by_its_name_and_not_by_a_number(make: MakeSite) -> None:
    site = make(account_slots=6)
    state = site.machines["lab-1"].system.state
    state.accounts.append(Account(id="6", user="metalwright", salt="s", digest="lost", role="ReadOnly", enabled=False))
    assert run_deploy(site, credentials).is_ok
    made = account(site, "metalwright")
    assert made is not None
    assert (made.id, made.role, made.enabled) == ("6", "Administrator", True)


@pytest.mark.parametrize("maker", ["dell", "supermicro"])
def test_ac_09_the_lockdown_comes_last_and_later_changes_open_and_close_it(make: MakeSite, maker: str) -> None:
    """Locks as the last write; a later change unlocks first and locks again, also when it fails."""
    site = make("hardening: {lockdown: true, required: [lockdown]}\n", oem=maker)
    assert run_deploy(site, credentials).is_ok
    assert run_deploy(site, harden).is_ok
    manager = site.machines["lab-1"].system.state.manager
    assert manager.is_locked
    lock = site.writes("lab-1")[-1]
    assert "Oem/" in lock
    check_second_run(site, harden)

    manager.ipmi_enabled = True
    before = len(site.writes("lab-1"))
    assert run_deploy(site, harden).changed == ["BMC protocols", "BMC lockdown"]
    written = site.writes("lab-1")[before:]
    assert (written[0], written[-1]) == (lock, lock)
    assert (manager.is_locked, manager.ipmi_enabled) == (True, False)

    manager.ipmi_enabled = True
    site.machines["lab-1"].system.faults.rule("PATCH", "NetworkProtocol$", close="before")
    assert not run_deploy(site, harden).is_ok
    assert manager.is_locked


def test_ac_09_a_bmc_without_lockdown_is_refused_only_where_the_site_requires_it(make: MakeSite) -> None:
    lenient = make("hardening: {lockdown: true}\n")
    said = run_deploy(lenient, harden)
    assert said.is_ok
    assert "this BMC offers no lockdown" in said.text
    strict = make("hardening: {lockdown: true, required: [lockdown]}\n")
    refused = run_deploy(strict, harden)
    assert not refused.is_ok
    assert "this BMC offers no lockdown, and the site requires it" in refused.text


@pytest.mark.parametrize("status", [400, 200], ids=["refused", "ignored"])
def test_ac_10_lockout_settings_that_cannot_be_changed_are_never_taken_for_applied(make: MakeSite, status: int) -> None:
    """Reads the setting back; says that the platform does not take it, and fails where the site requires it."""
    declared = "lockout: {threshold: 3, duration_s: 120}"
    for required in ("", ", required: [lockout]"):
        site = make(f"hardening: {{{declared}{required}}}\n")
        site.machines["lab-1"].system.faults.set("lockout-read-only", status=status)
        run = run_deploy(site, harden)
        assert run.is_ok is (required == "")
        assert "AccountLockoutThreshold" in run.text
        assert site.machines["lab-1"].bmc.gate.lockout_threshold == 5
    working = make(f"hardening: {{{declared}}}\n")
    assert run_deploy(working, harden).is_ok
    assert (working.machines["lab-1"].bmc.gate.lockout_threshold, working.machines["lab-1"].bmc.gate.lockout_s) == (
        3,
        120,
    )
    check_second_run(working, harden)


@pytest.mark.parametrize("does_ntp_work", [True, False])
def test_ac_11_a_wrong_clock_is_corrected_by_ntp_or_else_by_hand(
    make: MakeSite, monkeypatch: pytest.MonkeyPatch, does_ntp_work: bool
) -> None:
    """Sets the NTP servers and waits for the right time; else sets it by hand with NTP off, and NTP on again."""
    monkeypatch.setattr("metalwright.operations.redfish.manager.CLOCK_S", 6.0 if does_ntp_work else 0.0)
    site = make(is_clock_from_ntp=True)
    system = site.machines["lab-1"].system
    system.state.manager.clock_offset_s = -1_700_000_000.0
    system.faults.set("clock-behind-ntp", times=3 if does_ntp_work else None)
    run = run_deploy(site, credentials)
    assert run.is_ok, run.text
    assert abs(system.state.manager.clock_offset_s) < 5
    assert system.state.manager.ntp_enabled
    clock_writes = [write for write in site.writes("lab-1") if write == "PATCH /redfish/v1/Managers/1"]
    assert len(clock_writes) == (0 if does_ntp_work else 1)
    check_second_run(site)


@pytest.mark.parametrize(("written", "meant"), [("pw\r\n", "pw"), ("pw\n", "pw"), (" p w ", " p w "), ("p\n\n", "p\n")])
def test_ac_12_one_line_end_is_taken_off_a_secret_file_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, written: str, meant: str
) -> None:
    """Takes one line end off and says so; every other blank belongs to the password."""
    (tmp_path / "secret").write_bytes(written.encode())
    with caplog.at_level(logging.WARNING):
        assert read_secret("file:secret", tmp_path).reveal() == meant
    assert ("ends in a line end" in caplog.text) is (written != meant)


def test_ac_12_a_factory_password_from_such_a_file_opens_the_bmc_at_once(make: MakeSite) -> None:
    site = make()
    file = site.root / "factory"
    file.write_bytes(f"{FACTORY_PASSWORD}\r\n".encode())
    inventory = site.root / "inventory/site.yaml"
    inventory.write_text(inventory.read_text().replace("env:FACTORY_PASSWORD", "file:factory"))
    assert run_deploy(site, credentials).is_ok
    assert refused_logins(site) == 0


def test_ac_13_an_address_change_without_an_answer_is_proven_at_the_new_address(make: MakeSite) -> None:
    """Takes a lost answer for "in progress", finds the BMC at its new address with pin and identity, and goes on."""
    site = make()
    site.machines["lab-1"].system.faults.set("drop-after-effect", method="PATCH", path="EthernetInterfaces/1", times=1)
    assert run_deploy(site, address).is_ok
    assert site.machines["lab-1"].url.startswith("https://127.96.64.")
    again = run_deploy(site, address)
    assert (again.is_ok, again.changed) == (True, [])


def test_ac_13_a_read_only_vlan_is_a_refusal_that_names_the_property(make: MakeSite) -> None:
    site = make()
    site.machines["lab-1"].system.faults.rule(
        "PATCH", "EthernetInterfaces/1$", status=400, message="Base.1.8.PropertyNotWritable"
    )
    run = run_deploy(site, address)
    assert not run.is_ok
    assert "Base.1.8.PropertyNotWritable" in run.text


def test_what_the_dry_run_showed_is_what_was_written(make: MakeSite) -> None:
    site = make("hardening: {lockout: {threshold: 3}, syslog: [10.0.0.9], lockdown: true}\n", oem="dell")
    system = site.machines["lab-1"].system
    for deploy, changed in ((credentials, 2), (harden, 5)):
        before = site.writes("lab-1")
        shown = run_deploy(site, deploy, is_dry=True)
        assert site.writes("lab-1") == before
        done = run_deploy(site, deploy)
        assert done.is_ok, done.text
        assert (done.diff, done.changed) == (shown.diff, shown.planned)
        assert len(done.changed) == changed
        check_second_run(site, deploy)
    manager = system.state.manager
    assert shown.diff == [
        "IPMI: on → off",
        "HTTP: on → off",
        "remote syslog: other servers or off → 10.0.0.9",
        "AccountLockoutThreshold: 5 → 3",
        "account admin: on → off",
        "factory passwords of admin: not tried → refused",
        "lockdown: off → on",
    ]
    assert (manager.ipmi_enabled, manager.http_enabled, manager.is_locked) == (False, False, True)
    assert (manager.syslog_servers, system.state.lockout_threshold) == (["10.0.0.9"], 3)
    assert not account(site, "admin").enabled  # type: ignore[union-attr]  # it is there
