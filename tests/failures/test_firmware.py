"""Known failures of firmware updates, with the real deploy on simulated BMCs, judged by what those saw and run."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.operations.redfish.in_process import Outcome, run_deploy
from tests.operations.redfish.site import LabSite, lab_site

from metalwright.deploys.credentials import credentials
from metalwright.deploys.firmware import firmware
from metalwright.model.firmware import FirmwareUpdate

MakeSite = Callable[..., LabSite]
_octets = count(100)
UPDATE_PATHS = ("SimpleUpdate", "/update", "/update-multipart")


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MakeSite]:
    """Make a site whose blueprint wants ``wanted`` and whose catalogue has ``images``; tasks take a moment."""
    opened: list[AbstractContextManager[LabSite]] = []

    def make_site(
        wanted: str = '{bmc: ">=2.0"}',
        images: str = "",
        downgrades: str = "[]",
        settle_minutes: float = 10,
        **changes: Any,
    ) -> LabSite:
        number = next(_octets)
        root = tmp_path / f"site-{number}"
        limits = f"limits: {{bmc_settle_minutes: {settle_minutes}}}\n"
        context = lab_site(root, 1, number, prefix="127.145", site=limits, **changes)
        opened.append(context)
        site = context.__enter__()
        pin_firmware(root, wanted, downgrades)
        add_images(root, images or image("bmc", "2.0"))
        site.machines["lab-1"].bmc.update_s = 0.02
        return site

    yield make_site
    for context in opened:
        context.__exit__(None, None, None)


def pin_firmware(root: Path, wanted: str, downgrades: str) -> None:
    blueprint = root / "blueprints/lab-vm/1.0.0.yaml"
    lines = [line for line in blueprint.read_text().splitlines() if not line.startswith("firmware")]
    blueprint.write_text("\n".join([*lines, f"firmware: {wanted}", f"firmware_downgrades: {downgrades}"]) + "\n")
    (root / "blueprints/blueprints.lock").unlink(missing_ok=True)


def image(component: str, version: str, *, identity: str | None = None, more: str = "") -> str:
    """One image of the catalogue: its YAML; the file's name tells what is in it."""
    content = content_of(identity or component.upper(), version)
    sha256 = hashlib.sha256(content).hexdigest()
    name = f"{identity or component.upper()}_{version}.bin"
    return f'  - {{component: {component}, version: "{version}", file: {name}, file_sha256: {sha256}{more}}}\n'


def content_of(identity: str, version: str) -> bytes:
    return f"metalwright-firmware {identity} {version}\n".encode() + b"\0" * 2048


def add_images(root: Path, images: str) -> None:
    files = root / "firmware/files"
    files.mkdir(parents=True)
    (root / "firmware/lab.yaml").write_text(f"schema: 1\nmodels: [Lab VM]\nimages:\n{images}")
    for name in [word.rstrip(",") for word in images.split() if word.rstrip(",").endswith(".bin")]:
        identity, _, version = name.removesuffix(".bin").rpartition("_")
        (files / name).write_bytes(content_of(identity, version))


def installed(site: LabSite, name: str = "BMC") -> str:
    machine = site.machines["lab-1"]
    return machine.system.state.firmware.get(name, machine.spec.firmware[name])


def sent(site: LabSite) -> list[str]:
    """The requests that carried an image or told where to fetch one."""
    return [write for write in site.writes("lab-1") if write.endswith(UPDATE_PATHS)]


def newest(site: LabSite, component: str = "bmc") -> FirmwareUpdate:
    workspace = site.workspace()
    found = {item.component: item for item in workspace.journal.firmware.newest("lab-1")}
    workspace.journal.close()
    return found[component]


def newest_or_none(site: LabSite) -> FirmwareUpdate | None:
    workspace = site.workspace()
    with workspace.journal as journal:
        return next(iter(journal.firmware.newest("lab-1")), None)


def run_until_settled(site: LabSite, times: int = 30) -> Outcome:
    """Run the deploy again and again, as a person would, while it says that something is under way."""
    run = run_deploy(site, firmware)
    for _ in range(times):
        if not run.is_ok or not (run.changed or "under way" in run.text):
            return run
        run = run_deploy(site, firmware)
    raise AssertionError(run.text)


def check_second_run(site: LabSite) -> None:
    before = site.writes("lab-1")
    again = run_deploy(site, firmware)
    assert (again.is_ok, again.planned, again.changed) == (True, [], []), again.text
    assert site.writes("lab-1") == before


@pytest.mark.parametrize("has_worked", [True, False], ids=["new-version", "old-version"])
def test_fw_01_a_task_that_is_gone_proves_nothing_and_the_version_decides(make: MakeSite, has_worked: bool) -> None:
    """Takes a vanished task for "unknown", and the version for the proof: equal is success, else failure."""
    site = make(settle_minutes=10 if has_worked else 0.02)
    assert run_deploy(site, credentials).is_ok
    faults = site.machines["lab-1"].system.faults
    faults.rule("GET", "/Tasks/", edit=[{"at": "/TaskState", "set": "Running"}])
    assert run_deploy(site, firmware).changed == ["Firmware"]
    faults.clear()
    if not has_worked:
        faults.rule("GET", "Managers/1$", edit=[{"at": "/FirmwareVersion", "set": "1.0.0"}])
        faults.rule("GET", "FirmwareInventory/BMC$", edit=[{"at": "/Version", "set": "1.0.0"}])
    faults.rule("GET", close="before", times=4)
    faults.rule("GET", "/Tasks/", status=404)
    assert "hint: check the address" in run_deploy(site, firmware).text
    with patience_of_tasks(0.0):
        run = run_until_settled(site)
    assert run.is_ok is has_worked
    assert newest(site).outcome == ("proven" if has_worked else "failed")
    assert len(sent(site)) == 1
    if has_worked:
        check_second_run(site)
    else:
        assert "task Gone, but the version stays 1.0.0" in run.text


def test_an_image_that_never_arrived_is_sent_again_by_the_next_run(make: MakeSite) -> None:
    site = make(settle_minutes=0.01)
    assert run_deploy(site, credentials).is_ok
    faults = site.machines["lab-1"].system.faults
    faults.rule("POST", "UpdateService|/update", close="before")
    run_deploy(site, firmware)
    assert (newest(site).is_accepted, newest(site).outcome) == (False, None)
    faults.clear()
    run = run_until_settled(site)
    assert (run.is_ok, "nothing shows that the image arrived" in run.text) == (False, True), run.text
    assert (newest(site).outcome, installed(site)) == ("failed", "1.0.0")
    assert run_until_settled(site).is_ok
    assert (newest(site).outcome, installed(site)) == ("proven", "2.0")


def test_while_a_task_runs_that_may_be_the_update_no_second_image_is_sent(make: MakeSite) -> None:
    site = make(settle_minutes=0.001)
    assert run_deploy(site, credentials).is_ok
    machine = site.machines["lab-1"]
    machine.bmc.update_s = 6.0
    machine.system.faults.rule("POST", "UpdateService|/update", close="after")
    run_deploy(site, firmware)
    machine.system.faults.clear()
    assert "task Running" in run_deploy(site, firmware).text
    machine.bmc.update_s = 0.02
    assert run_until_settled(site, times=200).is_ok
    assert (newest(site).outcome, len(sent(site))) == ("proven", 1)


def test_fw_03_unknown_words_are_not_an_end(make: MakeSite) -> None:
    """Waits on every state that it does not know, showing the BMC's word, until the deadline."""
    site = make()
    assert run_deploy(site, credentials).is_ok
    faults = site.machines["lab-1"].system.faults
    assert run_deploy(site, firmware).changed == ["Firmware"]
    for word in ("New", "Downloaded", "UserIntervention", "Frobnicating"):
        faults.clear()
        faults.rule("GET", "Managers/1$", edit=[{"at": "/FirmwareVersion", "set": "1.0.0"}])
        faults.rule("GET", "/Tasks/", edit=[{"at": "/TaskState", "set": word}])
        assert f"task {word}" in run_deploy(site, firmware).text
        assert newest(site).outcome is None
    faults.clear()
    assert run_until_settled(site).is_ok
    assert newest(site).outcome == "proven"
    assert len(sent(site)) == 1


def test_fw_04_a_task_that_does_not_show_yet_is_waited_for(make: MakeSite) -> None:
    """Takes a task that is missing in its first moments for one that does not show yet."""
    site = make()
    assert run_deploy(site, credentials).is_ok
    faults = site.machines["lab-1"].system.faults
    faults.rule("GET", "Managers/1$", edit=[{"at": "/FirmwareVersion", "set": "1.0.0"}])
    faults.rule("GET", "/Tasks/", status=404)
    with patience_of_tasks(600.0):
        assert run_deploy(site, firmware).changed == ["Firmware"]
        assert "the task does not show yet" in run_deploy(site, firmware).text
    faults.clear()
    assert run_until_settled(site).is_ok
    assert (newest(site).outcome, len(sent(site))) == ("proven", 1)


@pytest.mark.parametrize(
    ("offered", "way"),
    [
        (("MultipartHttpPushUri", "HttpPushUri"), "/update-multipart"),
        (("HttpPushUri",), "/update"),
        (("Actions",), "SimpleUpdate"),
    ],
)
def test_fw_05_the_way_to_update_is_chosen_by_what_is_offered(
    make: MakeSite, offered: tuple[str, ...], way: str
) -> None:
    """Chooses among multipart push, download by the BMC and bare push, and names the protocol where it is wanted."""
    site = make()
    assert run_deploy(site, credentials).is_ok
    faults = site.machines["lab-1"].system.faults
    hidden = {"MultipartHttpPushUri", "HttpPushUri", "Actions"} - set(offered)
    faults.rule("GET", "UpdateService$", edit=[{"at": f"/{name}", "drop": True} for name in sorted(hidden)])
    if way == "SimpleUpdate":
        faults.rule(
            "POST",
            "SimpleUpdate$",
            when={"body_not": "TransferProtocol"},
            status=400,
            message="Base.1.8.ActionParameterMissing",
        )
    with socket.create_server(("127.83.9.1", 8480)):  # where the site's boot server would listen; it serves no file
        run = run_deploy(site, firmware)
    assert run.is_ok, run.text
    assert [path.endswith(way) for path in sent(site)] == [True]
    if way != "SimpleUpdate":
        assert run_until_settled(site).is_ok
        assert installed(site) == "2.0"


def test_fw_05_a_download_by_the_bmc_needs_a_boot_server_that_runs(make: MakeSite) -> None:
    site = make()
    assert run_deploy(site, credentials).is_ok
    before = site.writes("lab-1")
    edits: list[dict[str, Any]] = [{"at": f"/{name}", "drop": True} for name in ("MultipartHttpPushUri", "HttpPushUri")]
    site.machines["lab-1"].system.faults.rule("GET", "UpdateService$", edit=edits)
    run = run_deploy(site, firmware)
    assert not run.is_ok
    assert "the boot server, and that does not run; nothing was sent" in run.text
    assert "hint: keep `metalwright serve` running" in run.text
    assert (site.writes("lab-1"), newest_or_none(site)) == (before, None)


def test_fw_05_nothing_is_sent_where_nothing_fits(make: MakeSite) -> None:
    site = make()
    assert run_deploy(site, credentials).is_ok
    before = site.writes("lab-1")
    edits: list[dict[str, Any]] = [{"at": f"/{name}", "drop": True} for name in ("MultipartHttpPushUri", "HttpPushUri")]
    allowed = "/Actions/#UpdateService.SimpleUpdate/TransferProtocol@Redfish.AllowableValues"
    edits.append({"at": allowed, "set": ["TFTP"]})
    site.machines["lab-1"].system.faults.rule("GET", "UpdateService$", edit=edits)
    run = run_deploy(site, firmware)
    assert not run.is_ok
    assert "SimpleUpdate by TFTP" in run.text
    assert site.writes("lab-1") == before


@pytest.mark.parametrize("state", ["Exception", "Killed", "Cancelled"])
def test_fw_06_an_aborted_task_is_a_failure_in_its_own_words(make: MakeSite, state: str) -> None:
    """Fails with the task's state and messages; the next run may try again."""
    site = make()
    assert run_deploy(site, credentials).is_ok
    faults = site.machines["lab-1"].system.faults
    faults.rule("GET", "Managers/1$", edit=[{"at": "/FirmwareVersion", "set": "1.0.0"}])
    messages = [{"MessageId": "Update.1.0.VerificationFailed", "Message": "the signature is wrong"}]
    edit = [{"at": "", "merge": {"TaskState": state, "TaskStatus": "Critical", "Messages": messages}}]
    faults.rule("GET", "/Tasks/", edit=edit)
    run = run_until_settled(site)
    assert not run.is_ok
    assert f"task {state}" in run.text
    assert "Update.1.0.VerificationFailed the signature is wrong" in run.text
    assert (newest(site).outcome, len(sent(site))) == ("failed", 1)
    faults.clear()
    assert run_until_settled(site).is_ok


@pytest.mark.parametrize(
    ("found", "wanted", "is_ok"),
    [("4.10", ">=4.2", True), ("5.3.010", "==5.3.10", True), ("2.9", ">=2.12", False)],
)
def test_fw_07_versions_are_compared_by_their_parts(make: MakeSite, found: str, wanted: str, is_ok: bool) -> None:
    """Compares part by part; what cannot be compared is unknown, starts no update and never passes as good."""
    site = make(f'{{bios: "{wanted}"}}', firmware={"BMC": "1.0.0", "BIOS": found})
    run = run_deploy(site, firmware)
    assert run.is_ok is is_ok
    assert sent(site) == []
    assert "no image in firmware/ fits" in run.text or is_ok


def test_fw_07_a_version_that_cannot_be_compared_is_said_and_starts_nothing(make: MakeSite) -> None:
    odd = {"BMC": "1.0.0", "BIOS": "U32 v2.10 (05/2024)"}
    site = make('{bios: ">=2.0"}', image("bios", "2.20"), firmware=odd)
    run = run_deploy(site, firmware)
    assert run.is_ok
    assert "cannot tell whether U32 v2.10 (05/2024) is >=2.0" in run.text
    assert sent(site) == []


def test_fw_07_a_downgrade_needs_the_word_of_the_blueprint(make: MakeSite) -> None:
    newer = {"BMC": "3.0", "BIOS": "1.0.0"}
    refused = make('{bmc: "==2.0"}', firmware=newer)
    run = run_deploy(refused, firmware)
    assert not run.is_ok
    assert "3.0 → 2.0 is a downgrade" in run.text
    assert sent(refused) == []
    allowed = make('{bmc: "==2.0"}', downgrades="[bmc]", firmware=newer)
    assert run_deploy(allowed, credentials).is_ok
    shown = run_deploy(allowed, firmware, is_dry=True)
    assert shown.diff == ["firmware bmc (downgrade): 3.0 → 2.0"]
    assert run_until_settled(allowed).is_ok
    assert installed(allowed) == "2.0"


def test_fw_08_an_empty_version_after_the_update_is_waited_for_and_never_flashed_again(make: MakeSite) -> None:
    """Reads an unknown version again within a time; no image is sent while the first is unproven."""
    site = make()
    assert run_deploy(site, credentials).is_ok
    faults = site.machines["lab-1"].system.faults
    assert run_deploy(site, firmware).changed == ["Firmware"]
    faults.rule("GET", "Managers/1$", edit=[{"at": "/FirmwareVersion", "set": ""}])
    faults.rule("GET", "FirmwareInventory/BMC$", edit=[{"at": "/Version", "set": ""}])
    for _ in range(3):
        assert "under way" in run_deploy(site, firmware).text
    faults.clear()
    assert run_until_settled(site).is_ok
    assert (newest(site).outcome, len(sent(site))) == ("proven", 1)


def test_fw_09_a_push_without_a_task_is_followed_by_the_version(make: MakeSite) -> None:
    """Polls the version where the BMC names no task, with a deadline."""
    site = make()
    assert run_deploy(site, credentials).is_ok
    faults = site.machines["lab-1"].system.faults
    edits: list[dict[str, Any]] = [{"at": f"/{name}", "drop": True} for name in ("MultipartHttpPushUri", "Actions")]
    faults.rule("GET", "UpdateService$", edit=edits)
    faults.rule("POST", "/update$", status=200, effect=True, message="Base.1.4.Success", headers={"Location": None})
    first_reads = {"method": "GET", "path": "Managers/1$", "count": 5}
    faults.rule("GET", "Managers/1$", when={"before": first_reads}, edit=[{"at": "/FirmwareVersion", "set": "1.0.0"}])
    assert run_deploy(site, firmware).changed == ["Firmware"]
    assert newest(site).task is None
    assert run_until_settled(site).is_ok
    assert (newest(site).outcome, installed(site), len(sent(site))) == ("proven", "2.0", 1)
    assert sent(site)[0].endswith("/update")


# -- what no single failure is about --------------------------------------------------------------------------------


def test_an_image_that_is_not_the_approved_one_is_not_sent(make: MakeSite) -> None:
    site = make()
    assert run_deploy(site, credentials).is_ok
    (site.root / "firmware/files/BMC_2.0.bin").write_bytes(b"something else")
    run = run_deploy(site, firmware)
    assert not run.is_ok
    assert "this is not the firmware image that was approved" in run.text
    assert sent(site) == []


def test_one_restart_brings_all_staged_images_into_force(make: MakeSite) -> None:
    staged = ", activation: host-reset"
    images = image("bios", "2.0", more=staged) + image("nic-bios", "5.1", identity="NIC_BIOS", more=staged)
    site = make('{bios: ">=2.0", nic-bios: ">=5.0"}', images, firmware={"BMC": "1.0", "BIOS": "1.0", "NIC_BIOS": "4.0"})
    assert run_deploy(site, credentials).is_ok
    machine = site.machines["lab-1"]
    turn_on(site)
    power_ons = machine.system.state.power_ons
    shown = run_deploy(site, firmware, is_dry=True).diff
    assert shown == [
        "firmware bios: 1.0 → 2.0 (with a restart of the host)",
        "firmware nic-bios: 4.0 → 5.1 (with a restart of the host)",
    ]
    assert run_until_settled(site).is_ok
    assert (installed(site, "BIOS"), installed(site, "NIC_BIOS")) == ("2.0", "5.1")
    assert machine.system.state.power_ons == power_ons + 1
    check_second_run(site)


def test_what_an_image_needs_is_installed_first(make: MakeSite) -> None:
    needs = ', needs: {bmc: ">=1.5"}'
    site = make('{bmc: ">=2.0"}', image("bmc", "2.0", more=needs) + image("bmc", "1.5"))
    assert run_deploy(site, credentials).is_ok
    shown = run_deploy(site, firmware, is_dry=True)
    assert shown.diff == ["firmware bmc: 1.0.0 → 1.5", "firmware bmc: 1.5 → 2.0"]
    assert run_until_settled(site).is_ok
    assert [event.args[1] for event in site.machines["lab-1"].system.log.of_kind("FirmwareInstalled")] == ["1.5", "2.0"]


def turn_on(site: LabSite) -> None:
    from metalwright.deploys.power import power

    assert run_deploy(site, power, power="On").is_ok


def patience_of_tasks(seconds: float) -> AbstractContextManager[pytest.MonkeyPatch]:
    context = pytest.MonkeyPatch.context()
    patched = context.__enter__()
    patched.setattr("metalwright.firmware.progress.JUST_CREATED_S", seconds)

    class _Restore:
        def __enter__(self) -> pytest.MonkeyPatch:
            return patched

        def __exit__(self, *_error: object) -> None:
            context.__exit__(None, None, None)

    return _Restore()
