"""Known failures of BIOS settings: one pyinfra run over a fleet in which each machine misbehaves in its own way.

Judged by what the BMCs saw and by what is in force on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.failures.bios_fleet import SHORT_WAIT, Case, Fleet, Misbehave, fleet_of

from metalwright.simulator.running import RunningService
from metalwright.simulator.state import Job

SETTINGS = "Bios/Settings$"
ACTIVE = "Systems/1/Bios$"
REGISTRY = r"BiosAttributeRegistry.*\.json$"
RESET = {"method": "POST", "path": "ComputerSystem.Reset$"}
QUIET = {"QuietBoot": True}
SECURE_BOOT = "/redfish/v1/Systems/1/SecureBoot"
Rule = tuple[tuple[str, ...], dict[str, Any]]


def rule(*arguments: str, **do: Any) -> Rule:
    return arguments, do


def rules(*wanted: Rule) -> Misbehave:
    def misbehave(service: RunningService) -> None:
        for arguments, do in wanted:
            service.system.faults.rule(*arguments, **do)

    return misbehave


def jobs(*wanted: Job, **pending: str | int | bool) -> Misbehave:
    def misbehave(service: RunningService) -> None:
        service.system.state.jobs.extend(wanted)
        service.system.state.bios_pending.update(pending)

    return misbehave


def fault(name: str, body: object) -> Misbehave:
    return lambda service: service.system.faults.set(name, body=body)


def drop(at: str) -> list[dict[str, Any]]:
    return [{"at": at, "drop": True}]


def secure_boot(in_force: str) -> dict[str, Any]:
    return {
        "@odata.id": "/redfish/v1/Systems/1/SecureBoot",
        "SecureBootEnable": True,
        "SecureBootCurrentBoot": in_force,
    }


STUCK = (
    Job(id="JID_1", state="Running"),
    Job(id="RID_2", kind="RebootNoForce", name="Reboot", state="Running", is_deletable=False),
)
ODD = {"SetupPassword": "hunter2", "Odd": {"a": 1}, "Nul": None}
PASSWORD = {"AttributeName": "SetupPassword", "Type": "Password", "ReadOnly": False}
NO_LINK = [{"at": "/@Redfish.Settings", "set": {"@odata.type": "x"}}]
TAKEN = {"@Message.ExtendedInfo": [{"MessageId": "Base.1.8.Success"}]}
NEEDS_RESET = {"error": {"@Message.ExtendedInfo": [{"MessageId": "iLO.2.14.SystemResetRequired"}]}}

CASES = {
    "no-apply-time": Case(
        QUIET, "dell", rules(rule("GET", ACTIVE, edit=drop("/@Redfish.Settings/SupportedApplyTimes")))
    ),
    "apply-time": Case(QUIET, "dell"),
    "job-waits": Case(QUIET, "dell", jobs(Job(id="JID_7"), QuietBoot=True)),
    "foreign-job": Case(QUIET, "dell", jobs(Job(id="JID_8"), BootTimeout=9)),
    "no-location": Case(
        QUIET,
        misbehave=rules(
            rule("PATCH", SETTINGS, status=200, body=TAKEN, effect=True),
            rule("GET", SETTINGS, edit=[{"at": "/Attributes", "set": {}}]),
        ),
    ),
    "secure-boot": Case(
        QUIET,
        misbehave=rules(
            rule("GET", "Systems/1$", edit=[{"at": "", "merge": {"SecureBoot": {"@odata.id": SECURE_BOOT}}}]),
            rule("GET", "Systems/1/SecureBoot$", when={"before": RESET}, status=200, body=secure_boot("Disabled")),
            rule("GET", "Systems/1/SecureBoot$", when={"after": RESET}, status=200, body=secure_boot("Enabled")),
            rule("PATCH", SETTINGS, when={"before": RESET}, status=400, message="IDRAC.2.8.SYS011"),
        ),
    ),
    "one-ignored": Case({"QuietBoot": True, "BootTimeout": 7}, misbehave=fault("bios-ignored", ["QuietBoot"])),
    "read-only": Case(
        {"SystemBiosVersion": "9"},
        misbehave=rules(
            rule("GET", REGISTRY, edit=[{"at": "/RegistryEntries/Attributes/*/ReadOnly", "rename": "Readonly"}])
        ),
    ),
    "two-stages": Case(
        {"AcPwrRcvryUserDelay": 90, "AcPwrRcvryDelay": "User"},
        misbehave=rules(
            rule(
                "PATCH",
                SETTINGS,
                when={"body": "UserDelay", "before": RESET},
                status=400,
                message="Base.1.8.PropertyNotWritable",
            )
        ),
    ),
    "types": Case({"BootTimeout": "7", "QuietBoot": "true", "NumaNodesPerSocket": 2}),
    "wrong-type": Case({"QuietBoot": "maybe", "BootTimeout": "soon"}),
    "no-flag": Case(
        QUIET, misbehave=rules(rule("GET", REGISTRY, edit=drop("/RegistryEntries/Attributes/*/ResetRequired")))
    ),
    "no-annotation": Case(
        QUIET, misbehave=rules(rule("GET", ACTIVE, edit=drop("/@Redfish.Settings")), rule("GET", SETTINGS, status=404))
    ),
    "no-link": Case(QUIET, misbehave=rules(rule("GET", ACTIVE, edit=NO_LINK))),
    "no-settings": Case(
        QUIET,
        misbehave=rules(
            rule("GET", ACTIVE, edit=drop("/@Redfish.Settings")), rule("GET", "Bios/(Settings|SD)$", status=404)
        ),
    ),
    "no-attributes": Case(QUIET, misbehave=rules(rule("GET", ACTIVE, edit=drop("/Attributes")))),
    "letter-case": Case({"LogicalProc": "disabled"}),
    "unknown": Case({"NoSuchSetting": 1, "QuietBoot": True}),
    "stuck-jobs": Case(QUIET, "dell", jobs(*STUCK)),
    "odd-values": Case(
        QUIET,
        misbehave=rules(
            rule("GET", ACTIVE, edit=[{"at": "/Attributes", "merge": ODD}]),
            rule("GET", REGISTRY, edit=[{"at": "/RegistryEntries/Attributes", "append": [PASSWORD]}]),
        ),
    ),
    "reset-required": Case(QUIET, misbehave=rules(rule("PATCH", SETTINGS, status=200, body=NEEDS_RESET, effect=True))),
    "flips-boot-mode": Case(QUIET, misbehave=fault("bios-overwritten", {"BootMode": "LegacyBios"})),
    "flips-another": Case(QUIET, misbehave=fault("bios-overwritten", {"SysProfile": "Custom"})),
}
REFUSED = {"read-only", "wrong-type", "no-settings", "no-attributes", "letter-case", "unknown", "stuck-jobs"}
FAILED = {"one-ignored", "flips-boot-mode"}
GOOD = CASES.keys() - REFUSED - FAILED
PREVIEW, FIRST, SECOND = 0, 1, 2


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """The machines after a preview and two runs of the deploy."""
    with fleet_of(tmp_path_factory.mktemp("bios") / "site", CASES, "127.95.1") as made:
        made.run("--dry", "--diff", "-vv")
        made.run("-y", "--json", "-vv", *SHORT_WAIT)
        made.run("-y", "--json", *SHORT_WAIT)
        yield made


def test_a_preview_writes_nothing(fleet: Fleet) -> None:
    assert {name: fleet.steps(name, PREVIEW) for name in CASES} == {name: [] for name in CASES}


def test_only_the_machines_that_cannot_be_right_fail(fleet: Fleet) -> None:
    assert {name for name in CASES if not fleet.is_ok(name, FIRST)} == REFUSED | FAILED
    assert fleet.site.open_sessions() == 0


def test_what_the_preview_showed_is_what_was_written(fleet: Fleet) -> None:
    for name in GOOD:
        said = fleet.said(name, PREVIEW)
        shown = re.findall(r"\]\s+(\w+): [^→\n]+ → (\w+)(?: \(reset \d\))?$", said, re.MULTILINE)
        written = {key: value for sent in fleet.patched(name, FIRST) for key, value in sent.items()}
        assert dict(shown) == {key: "true" if value is True else str(value) for key, value in written.items()}, name
        restarts = re.search(r"restarts: (\d)", said)
        assert restarts is not None
        assert fleet.steps(name, FIRST).count("Reset") == int(restarts[1])


def test_bi_01_a_change_gets_its_apply_time_or_its_job(fleet: Fleet) -> None:
    """Sends the apply time where the BMC offers it, else makes the job in the queue that the settings name."""
    assert fleet.steps("no-apply-time", FIRST) == ["PATCH", "POST Jobs", "Reset"]
    assert fleet.steps("apply-time", FIRST) == ["PATCH", "Reset"]
    with_time, without = fleet.writes("apply-time", FIRST)[0].body, fleet.writes("no-apply-time", FIRST)[0].body
    assert with_time["@Redfish.SettingsApplyTime"] == {"ApplyTime": "OnReset"}
    assert list(without) == ["Attributes"]
    assert fleet.bios("no-apply-time")["QuietBoot"] is fleet.bios("apply-time")["QuietBoot"] is True


def test_bi_02_a_job_that_waits_is_adopted_and_nobodys_job_is_deleted(fleet: Fleet) -> None:
    """Adopts a scheduled job with the wanted values; lets another one go first, with a restart of its own."""
    assert fleet.steps("job-waits", FIRST) == ["Reset"]
    assert fleet.steps("foreign-job", FIRST) == ["Reset", "PATCH", "Reset"]
    assert (fleet.bios("foreign-job")["BootTimeout"], fleet.bios("foreign-job")["QuietBoot"]) == (9, True)
    assert "job JID_8 (BIOSConfiguration, Scheduled) holds other BIOS changes" in fleet.said("foreign-job", PREVIEW)


def test_bi_03_an_accepted_change_needs_no_location(fleet: Fleet) -> None:
    """Takes a 200 without Location as accepted and judges by what is in force after the restart."""
    assert fleet.steps("no-location", FIRST) == ["PATCH", "Reset"]
    assert fleet.bios("no-location")["QuietBoot"] is True


def test_bi_05_one_writer_per_restart(fleet: Fleet) -> None:
    """Sees a Secure Boot change that waits, restarts for it first, and says how many restarts it takes."""
    assert fleet.steps("secure-boot", FIRST) == ["Reset", "PATCH", "Reset"]
    assert [record.status for record in fleet.writes("secure-boot", FIRST)] == [204, 204, 204]
    assert "restarts: 2 (the first because a Secure Boot change waits" in fleet.said("secure-boot", PREVIEW)


def test_bi_06_everything_that_was_written_is_read_back(fleet: Fleet) -> None:
    """Reads back each attribute that was written; one that was not taken fails the machine by its name."""
    assert fleet.bios("one-ignored")["BootTimeout"] == 7
    said = fleet.said("one-ignored", FIRST)
    assert "Attributes/QuietBoot = True" in said
    assert "Attributes/BootTimeout = 7" not in said


def test_bi_07_read_only_is_believed_in_every_spelling(fleet: Fleet) -> None:
    """Reads ``Readonly`` as ``ReadOnly`` and refuses the attribute before anything is sent."""
    assert "SystemBiosVersion: is read-only by the registry" in fleet.said("read-only", FIRST)
    assert fleet.steps("read-only") == []


def test_bi_08_what_another_attribute_unlocks_is_written_after_its_restart(fleet: Fleet) -> None:
    """Orders the attributes over as many restarts as the registry's dependencies ask for."""
    assert fleet.patched("two-stages", FIRST) == [{"AcPwrRcvryDelay": "User"}, {"AcPwrRcvryUserDelay": 90}]
    assert fleet.steps("two-stages", FIRST) == ["PATCH", "Reset", "PATCH", "Reset"]
    assert "AcPwrRcvryUserDelay: 60 → 90 (reset 2)" in fleet.said("two-stages", PREVIEW)


def test_bi_09_values_are_sent_in_the_type_of_the_registry(fleet: Fleet) -> None:
    """Converts text, numbers and flags to the registry's type; what cannot be converted is refused."""
    (sent,) = fleet.patched("types", FIRST)
    assert sent == {"BootTimeout": 7, "QuietBoot": True, "NumaNodesPerSocket": "2"}
    assert sent["QuietBoot"] is True
    said = fleet.said("wrong-type", FIRST)
    assert "QuietBoot: takes true or false, not 'maybe'" in said
    assert "BootTimeout: takes a whole number, not 'soon'" in said
    assert fleet.steps("wrong-type") == []


def test_bi_10_a_restart_follows_from_values_that_differ(fleet: Fleet) -> None:
    """Restarts because pending differs from what is in force; the registry's flag is not asked."""
    assert fleet.steps("no-flag", FIRST) == ["PATCH", "Reset"]
    assert fleet.bios("no-flag")["QuietBoot"] is True


def test_bi_11_the_settings_resource_is_found_without_its_link(fleet: Fleet) -> None:
    """Tries the known places of the settings resource; where there is none it says so."""
    assert fleet.writes("no-annotation", FIRST)[0].path.endswith("/Bios/SD")
    assert fleet.writes("no-link", FIRST)[0].path.endswith("/Bios/Settings")
    assert "this BMC offers no place for BIOS changes" in fleet.said("no-settings", FIRST)
    assert fleet.steps("no-settings") == []


def test_nothing_is_written_to_a_bios_that_shows_no_attributes(fleet: Fleet) -> None:
    said = fleet.said("no-attributes", FIRST)
    assert "this BMC shows no BIOS attributes, so nothing would prove a change" in said
    assert "hint: start the host once" in said
    assert fleet.steps("no-attributes") == []


def test_bi_13_another_letter_case_is_refused_with_the_right_spelling(fleet: Fleet) -> None:
    """Refuses the value before anything is sent, with the right spelling and all allowed values."""
    wanted = "LogicalProc: has no value 'disabled'; did you mean 'Disabled'? it has Enabled, Disabled"
    assert wanted in fleet.said("letter-case", FIRST)
    assert fleet.steps("letter-case") == []


def test_bi_14_an_unknown_attribute_stops_everything_of_its_machine(fleet: Fleet) -> None:
    """Refuses the whole profile of the machine, the good attributes too, before anything is written or restarted."""
    assert "NoSuchSetting: unknown attribute" in fleet.said("unknown", FIRST)
    assert fleet.steps("unknown") == []


def test_bi_15_stuck_jobs_are_named_and_removed_only_on_demand(fleet: Fleet) -> None:
    """Names the jobs that block, removes them only when told to, and looks at the queue afterwards."""
    said = fleet.said("stuck-jobs", FIRST)
    assert "job JID_1 (BIOSConfiguration, Running), job RID_2 (RebootNoForce, Running)" in said
    assert fleet.steps("stuck-jobs") == []
    one = fleet.run("-y", "--json", "--limit", "stuck-jobs", "--data", "clear_jobs=RID_2", *SHORT_WAIT)
    assert one.code == 1
    assert "RID_2" in fleet.said("stuck-jobs")
    fleet.run("-y", "--json", "--limit", "stuck-jobs", "--data", "clear_jobs=all", *SHORT_WAIT)
    last = len(fleet.marks) - 1
    assert fleet.steps("stuck-jobs", last) == ["POST DellJobService.DeleteJobQueue", "PATCH", "Reset"]
    assert fleet.bios("stuck-jobs")["QuietBoot"] is True


def test_bi_16_passwords_stay_hidden_and_one_odd_value_hides_no_other(fleet: Fleet) -> None:
    """Shows no password at any verbosity; a value without usable form is passed over alone, and said."""
    assert fleet.bios("odd-values")["QuietBoot"] is True
    assert all("hunter2" not in run.text for run in fleet.runs)
    assert "Odd: its value has no usable form and was skipped" in fleet.said("odd-values", PREVIEW)


def test_bi_17_a_system_reset_is_asked_of_the_host(fleet: Fleet) -> None:
    """Restarts the host, never the BMC, when a change asks for a system reset."""
    assert fleet.steps("reset-required", FIRST) == ["PATCH", "Reset"]
    assert fleet.bios("reset-required")["QuietBoot"] is True


def test_bi_18_only_declared_attributes_are_sent_and_undeclared_changes_are_told(fleet: Fleet) -> None:
    """Sends declared attributes alone; tells what else changed, and fails where the machine may not start any more."""
    for name, case in CASES.items():
        assert all(sent.keys() <= case.attributes.keys() for sent in fleet.patched(name)), name
    assert "BootMode: Uefi → LegacyBios" in fleet.said("flips-boot-mode", FIRST)
    assert "BootMode: is LegacyBios, but the system is installed for UEFI" in fleet.said("flips-boot-mode", SECOND)
    assert "undeclared BIOS attribute changed: SysProfile: Balanced → Custom" in fleet.said("flips-another", FIRST)


def test_bi_19_the_plan_shows_both_values_and_the_second_run_changes_nothing(fleet: Fleet) -> None:
    """Previews each attribute as current → desired with the restarts; a second run writes nothing."""
    assert "QuietBoot: false → true" in fleet.said("apply-time", PREVIEW)
    assert "restarts: 1" in fleet.said("apply-time", PREVIEW)
    assert {name: fleet.steps(name, SECOND) for name in GOOD} == {name: [] for name in GOOD}
    assert all(fleet.is_ok(name, SECOND) for name in GOOD)
