"""``kill -9`` at the journal's points, then provision again: one verified write, one allocation, the same end.

A seeded handful runs always (METALWRIGHT_KILL_SEED repeats one), every point in ``make test-lab``. The variable is
inherited, so that the process that dies is whichever reaches the point first: the runner, a pyinfra child, or the
boot server; or the runner alone, whose orphans then live on.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import socket
import time
from pathlib import Path

import pytest
from tests.simulator.provision.world import World, world

import metalwright.journal
from metalwright.loading import read_addresses

pytestmark = pytest.mark.timeout(900)

BY_THE_RUNNER = {
    "begin_phase",
    "bmc_address",
    "event",
    "finish_phase",
    "finish_run",
    "issue_grant",
    "release_lease",
    "set_node",
    "set_state",
    "start_node",
    "start_run",
    "take_lease",
}
BY_OTHERS = {
    "ask_go",
    "bind_client",
    "create_deployment",
    "finish_deployment",
    "latch_login",
    "medium_read",
    "record_hello",
    "record_progress",
}
"""Writes of the pyinfra children and of the boot server."""
NOT_ON_THE_WAY = {
    "add_tables",
    "announce_pin",
    "clear_latch",
    "create",
    "expire_deployment",
    "expire_grant",
    "host_key",
    "keep_forms",
    "pin_certificate",
    "prove_pin",
    "reset_attempts",
    "set_known_good",
    "spend_grant",
    "take_over",
    "use_grant",
    "withdraw_pin",
}
"""Writes that an undisturbed run to the end of the image does not make, or not as one of their own."""
SEED = int(os.environ.get("METALWRIGHT_KILL_SEED") or random.SystemRandom().randrange(1_000_000))
HANDFUL = 2
MIDDLE = range(20, 75)
"""The runner passes about ninety points on its way to the end of the image phase."""


def write_names() -> set[str]:
    """The names of all durable writes, read from the journal's source."""
    source = Path(metalwright.journal.__file__).parent
    return {name for file in source.glob("*.py") for name in re.findall(r'\.write\("(\w+)"[,)]', file.read_text())}


def provision_until_free(site: World, *options: str, only_runner: bool = False, **environment: str) -> tuple[int, str]:
    """Provision; where an orphan of a killed run still holds the node, be told so, and try again.

    With ``only_runner`` the kill point is for the runner alone.
    """
    deadline = time.monotonic() + 120
    while True:
        code, text = site.provision(*options, only_runner=only_runner, **environment)
        if "a child of it still works" not in text or time.monotonic() > deadline:
            return code, text
        time.sleep(1)


def kill_at_each_point(site: World, *options: str, share: str = "0/1") -> int:
    """Provision until one run comes through; each one before it dies at a point where none has died yet.

    ``share``: ``1/4`` for the second quarter of the points. Returns how many died. A run that ends otherwise must say
    why, and the next one goes on: a firmware image that nobody knows to have arrived is one reason.
    """
    deaths, code, text, alive = 0, 1, "", 0
    while code != 0:
        retry = ["--retry"] if "--retry" in text else []
        code, text = provision_until_free(site, *options, *retry, METALWRIGHT_KILL_AT=f"each:{share}")
        died = len(site.kills()) - deaths
        alive += not died
        assert code == 0 or alive < 6, f"nothing died, and yet exit code {code}\n{text}"
        deaths += died
    assert len({(name, of) for _, name, what, of in site.passed_points() if what == "killed"}) == deaths
    return deaths


def is_listening(site: World) -> bool:
    ports = re.findall(r"https?_port: (\d+)", (site.demo.root / "inventory/site.yaml").read_text())
    for port in ports:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", int(port))) == 0:
                return True
    return False


def await_silence(site: World) -> None:
    """The boot server of a killed run ends with it."""
    deadline = time.monotonic() + 15
    while is_listening(site):
        assert time.monotonic() < deadline, "the boot server outlived its run"
        time.sleep(0.2)


def check_the_end(site: World, told: str) -> None:
    """One verified write and no other; the disk, the stamp and the allocation are as after an undisturbed run."""
    machine = site.machine
    stamp = site.stamp(machine)
    assert stamp is not None, told
    assert stamp["image"] == f"sha256:{site.image.file_sha256}"
    assert site.is_untouched(machine, machine.data_disk)
    assert site.count("deployments where state = 'done'") == 1, told
    written = site.count("events where what = 'disk overwritten'")
    begun = 1 + site.count("deployments where state in ('expired', 'failed') and go_request_id is not null")
    assert (site.disk_writes(machine, machine.system_disk), written) == (begun, begun), told
    assert site.boots(machine, "disk") >= 1
    allocations = read_addresses(site.demo.root / "inventory/addresses.lock", root=site.demo.root)
    assert len(allocations.of_node(machine.name)) == 2
    await_silence(site)


def finish(site: World, told: str) -> None:
    """Provision again to the end; then once more, which writes nothing.

    Where a child died twice at the same place, the runner wants to be told that acting again is meant.
    """
    text = ""
    for _ in range(3):
        options = ["--retry"] if "--retry" in text else []
        code, text = provision_until_free(site, *options)
        if code == 0:
            break
    assert code == 0, f"{told}\n{text}"
    check_the_end(site, told)
    disk = site.disk(site.machine, site.machine.system_disk)
    before = (disk.stat().st_mtime_ns, site.boots(site.machine, "cd"))
    code, text = site.provision()
    assert code == 0, text
    assert (disk.stat().st_mtime_ns, site.boots(site.machine, "cd")) == before


def test_st_02_after_kills_at_random_points_the_node_ends_as_if_nothing_had_happened(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    """Writes each intent down first, and after a restart looks at BMC, disk and update task before it acts again."""
    points = sorted(random.Random(SEED).sample(MIDDLE, HANDFUL))
    print(f"METALWRIGHT_KILL_SEED={SEED}: points {points}")  # noqa: T201 - pytest shows it when the test fails
    with world(tmp_path, "127.126", tiny_image) as site:
        for point in points:
            provision_until_free(site, METALWRIGHT_KILL_AT=str(point))
        assert site.kills(), f"METALWRIGHT_KILL_SEED={SEED}: nothing died at {points}"
        finish(site, f"METALWRIGHT_KILL_SEED={SEED}")


def holders(lock: Path) -> set[int]:
    """The processes that have a file open."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # one that ended meanwhile
            if any(fd.readlink() == lock for fd in (process / "fd").iterdir()):
                found.add(int(process.name))
    return found


@pytest.mark.long
def test_a_child_that_outlives_its_runner_keeps_the_node_and_the_disk_is_written_once(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    with world(tmp_path, "127.127", tiny_image) as site:
        lock = (site.state / "locks" / "lab-1.lock").resolve()
        site.lab.set_fault("lab-1", "slow", method="POST", path="InsertMedia", seconds=25)
        killed = site.start("provision", "lab-1", "--until", "image", "--yes")
        while not (site.state / "journal.sqlite").exists() or site.count("deployments") == 0:
            assert killed.poll() is None
            time.sleep(0.05)
        killed.kill()
        killed.wait(timeout=60)
        await_silence(site)
        orphans = holders(lock)
        assert orphans, "the child of the killed runner ended with it"

        code, text = site.provision()
        assert (code, f"pid {killed.pid}" in text, "a child of it still works" in text) == (1, True, True), text
        assert orphans & holders(lock), "the child ended before the next run was refused"
        assert site.is_untouched(site.machine, site.machine.system_disk)

        deadline = time.monotonic() + 120
        while orphans & holders(lock):
            assert time.monotonic() < deadline, "the child never ends"
            time.sleep(0.2)
        killed.communicate(timeout=60)
        site.lab.clear_faults("lab-1")
        finish(site, "the runner was killed while its child started the ramdisk")
        assert site.disk_writes(site.machine, site.machine.system_disk) == 1


def test_every_durable_write_is_on_the_list_of_those_that_are_killed_or_says_that_it_is_not() -> None:
    assert write_names() == BY_THE_RUNNER | BY_OTHERS | NOT_ON_THE_WAY


@pytest.mark.long
def test_the_writes_on_the_way_to_the_image_are_those_that_are_killed(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    with world(tmp_path, "127.150", tiny_image) as site:
        code, text = site.provision()
        assert code == 0, text
        passed: dict[int, set[str]] = {}
        for pid, name, _, _ in site.passed_points():
            passed.setdefault(pid, set()).add(name.partition(".")[0])
        runner, *others = passed.values()
        assert runner == BY_THE_RUNNER
        assert set().union(*others) - runner == BY_OTHERS


SEPARATE = {"record_progress"}
"""Writes that a run which is taken up again may not come by: the agent has nothing more to tell."""
POINTS = {name: [f"{name}.before", f"{name}.after"] for name in sorted(BY_THE_RUNNER | BY_OTHERS)}
CASES = [
    *(pytest.param(POINTS[name], False, id=f"{name}-anybody") for name in POINTS if name not in SEPARATE),
    *(pytest.param([point], False, id=f"{point}-anybody") for name in sorted(SEPARATE) for point in POINTS[name]),
    *(pytest.param(POINTS[name], True, id=f"{name}-runner") for name in sorted(BY_THE_RUNNER)),
]


@pytest.mark.long
@pytest.mark.parametrize(("points", "only_runner"), CASES)
def test_st_02_after_kills_before_and_after_each_durable_write(
    tmp_path: Path, tiny_image: tuple[Path, str], points: list[str], only_runner: bool
) -> None:
    with world(tmp_path, "127.128", tiny_image) as site:
        for point in points:
            provision_until_free(site, METALWRIGHT_KILL_AT=point, only_runner=only_runner)
            assert site.kills()[-1:] == [point], f"nothing died at {point}"
        finish(site, " ".join(points))
