"""Deployments: one medium, one client, one *go*, and only for the run that holds the node.

The first part is the contract of every store; the in-memory one must keep it too.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.journal.conftest import HandClock

from metalwright.errors import GrantError, JournalError, LockHeldError
from metalwright.imaging.memory_store import MemoryDeploymentStore
from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_sqlite
from metalwright.model.agent_protocol import (
    BootIdentity,
    Disk,
    DiskContent,
    DiskRule,
    Done,
    ExpectedIdentity,
    Failure,
    FailureCode,
    Hello,
    ImageTask,
    Progress,
    ProgressStep,
    Seed,
    Task,
)
from metalwright.model.deployment import Deployment, DeploymentState, DeploymentStore
from metalwright.model.grant import Grant
from metalwright.model.image import Stamp

IMAGE = "1a" * 32
CONTENT = "2b" * 32
NONCE = "0123456789abcdef0123456789abcdef"
DISK = Disk(path="/dev/nvme0n1", serial="SYS1", size_bytes=4 << 30, content=DiskContent(state="blank"))
HELLO = Hello(
    nonce=NONCE, identity=BootIdentity(serial="LAB0001"), memory_bytes=1 << 30, boot_id="boot-1", disks=(DISK,)
)
DONE = Done(disk=DISK, content_sha256=CONTENT, read_back_sha256=CONTENT, ssh_host_key="ssh-ed25519 AAAA root@lab-1")
FAILURE = Failure(code=FailureCode.NO_DISK, what="no disk fits", wrote=False)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def deployment(clock: HandClock, name: str = "d1", *, node: str = "lab-1", run: str = "r1") -> Deployment:
    stamp = Stamp(
        node=node, run=run, recipe="sha256:r", image=f"sha256:{IMAGE}", journal="journal-1", written=clock.now
    )
    image = ImageTask(
        name="debian",
        version="12",
        format="raw",
        file_sha256=IMAGE,
        file_size_bytes=10,
        content_sha256=CONTENT,
        content_size_bytes=10,
        chunk_bytes=10,
        chunk_sha256=(IMAGE,),
    )
    task = Task(
        run=run,
        node=node,
        expect=ExpectedIdentity(keys=("serial",), serial="LAB0001"),
        image=image,
        disk=DiskRule(role="system"),
        stamp=stamp,
        seed=Seed(hostname=node, fqdn=f"{node}.example"),
    )
    return Deployment(
        deployment_id=name,
        run=run,
        node=node,
        created=clock.now,
        expires=clock.now + timedelta(hours=1),
        token_sha256=sha256(f"token {name}"),
        nonce_sha256=sha256(NONCE),
        media_secret_sha256=sha256(f"media {name}"),
        image_secret_sha256=sha256(f"image {name}"),
        media_path=Path("/media.iso"),
        image_path=Path("/image.raw"),
        task=task,
    )


def agree(_deployment: Deployment, _disk: Disk) -> int:
    return 7


def refuse(_deployment: Deployment, _disk: Disk) -> int:
    raise GrantError("no")


@pytest.fixture(params=["journal", "memory"])
def store(request: pytest.FixtureRequest, journal: Journal) -> DeploymentStore:
    return journal.deployments if request.param == "journal" else MemoryDeploymentStore()


@pytest.fixture
def greeted(store: DeploymentStore, clock: HandClock) -> DeploymentStore:
    store.create(deployment(clock))
    store.record_hello("d1", HELLO, clock.now)
    return store


def test_it_is_found_by_each_of_its_secrets_hashes(store: DeploymentStore, clock: HandClock) -> None:
    made = deployment(clock)
    store.create(made)
    assert store.get("d1", clock.now) == made
    assert store.get_by_token_hash(sha256("token d1"), clock.now) == made
    assert store.get_by_media_secret_hash(sha256("media d1"), clock.now) == made
    assert store.get_by_image_secret_hash(sha256("image d1"), clock.now) == made
    assert store.get_by_token_hash(sha256("media d1"), clock.now) is None


def test_an_unknown_id_is_an_error(store: DeploymentStore, clock: HandClock) -> None:
    with pytest.raises(JournalError):
        store.get("d9", clock.now)
    with pytest.raises(JournalError):
        store.record_progress("d9", Progress(step=ProgressStep.FETCH, done_bytes=0, total_bytes=1), clock.now)


def test_a_new_one_ends_the_earlier_one_of_its_node_only(store: DeploymentStore, clock: HandClock) -> None:
    store.create(deployment(clock, "d1"))
    store.create(deployment(clock, "d2", node="lab-2"))
    store.create(deployment(clock, "d3"))
    states = [store.get(name, clock.now).state for name in ("d1", "d2", "d3")]
    assert states == [DeploymentState.EXPIRED, DeploymentState.PREPARED, DeploymentState.PREPARED]


def test_the_first_client_key_is_the_only_one(store: DeploymentStore, clock: HandClock) -> None:
    store.create(deployment(clock))
    assert store.bind_client("d1", sha256("first"), clock.now)
    assert not store.bind_client("d1", sha256("second"), clock.now)
    assert store.bind_client("d1", sha256("first"), clock.now)


def test_hello_is_taken_once(store: DeploymentStore, clock: HandClock) -> None:
    store.create(deployment(clock))
    assert store.record_hello("d1", HELLO, clock.now).state is DeploymentState.HELLO
    again = store.record_hello("d1", HELLO.model_copy(update={"boot_id": "boot-2"}), clock.now)
    assert again.hello is not None
    assert again.hello.boot_id == "boot-1"


def test_go_is_said_once_and_repeated_for_the_same_request(greeted: DeploymentStore, clock: HandClock) -> None:
    assert greeted.ask_go("d1", DISK, "a" * 64, clock.now, agree) == 7
    assert greeted.ask_go("d1", DISK, "a" * 64, clock.now, refuse) == 7
    with pytest.raises(GrantError):
        greeted.ask_go("d1", DISK, "b" * 64, clock.now, agree)
    kept = greeted.get("d1", clock.now)
    assert (kept.state, kept.go_disk, kept.lease_epoch) == (DeploymentState.GO, DISK, 7)


def test_go_needs_hello(store: DeploymentStore, clock: HandClock) -> None:
    store.create(deployment(clock))
    with pytest.raises(GrantError):
        store.ask_go("d1", DISK, "a" * 64, clock.now, agree)


def test_a_refusal_leaves_the_deployment_as_it_was(greeted: DeploymentStore, clock: HandClock) -> None:
    with pytest.raises(GrantError):
        greeted.ask_go("d1", DISK, "a" * 64, clock.now, refuse)
    assert greeted.get("d1", clock.now).state is DeploymentState.HELLO


def test_an_expired_one_allows_nothing(greeted: DeploymentStore, clock: HandClock) -> None:
    clock.move(hours=1)
    assert greeted.get("d1", clock.now).state is DeploymentState.EXPIRED
    assert not greeted.bind_client("d1", sha256("first"), clock.now)
    assert not greeted.record_progress("d1", Progress(step=ProgressStep.FETCH, done_bytes=1, total_bytes=2), clock.now)
    with pytest.raises(GrantError):
        greeted.ask_go("d1", DISK, "a" * 64, clock.now, agree)
    assert greeted.finish("d1", FAILURE, clock.now).state is DeploymentState.EXPIRED


def test_progress_goes_on_until_it_is_told_to_stop(greeted: DeploymentStore, clock: HandClock) -> None:
    progress = Progress(step=ProgressStep.WRITE, done_bytes=5, total_bytes=10)
    assert greeted.record_progress("d1", progress, clock.now)
    assert greeted.get("d1", clock.now).progress == progress
    assert greeted.expire("d1", clock.now).state is DeploymentState.EXPIRED
    assert not greeted.record_progress("d1", progress, clock.now)


def test_done_needs_go(greeted: DeploymentStore, clock: HandClock) -> None:
    with pytest.raises(GrantError):
        greeted.finish("d1", DONE, clock.now)
    greeted.ask_go("d1", DISK, "a" * 64, clock.now, agree)
    assert greeted.finish("d1", DONE, clock.now).done == DONE
    assert greeted.finish("d1", FAILURE, clock.now).state is DeploymentState.DONE
    assert greeted.expire("d1", clock.now).state is DeploymentState.DONE


def test_a_failure_is_kept(greeted: DeploymentStore, clock: HandClock) -> None:
    failed = greeted.finish("d1", FAILURE, clock.now)
    assert (failed.state, failed.failure) == (DeploymentState.FAILED, FAILURE)


def test_of_many_that_ask_at_once_one_may_go(greeted: DeploymentStore, clock: HandClock) -> None:
    answers: list[str] = []

    def ask(number: int) -> None:
        try:
            greeted.ask_go("d1", DISK, f"{number:064x}", clock.now, agree)
            answers.append("go")
        except GrantError:
            answers.append("refused")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == ["go"] + ["refused"] * 7


# --- what the journal adds -------------------------------------------------------------------------------------------


@pytest.fixture
def held(journal: Journal, clock: HandClock) -> Journal:
    """Run r1 holds lab-1, has a grant, and its ramdisk has said hello."""
    journal.leases.take("lab-1", "r1")
    journal.grants.issue(grant(clock))
    journal.deployments.create(deployment(clock))
    journal.deployments.record_hello("d1", HELLO, clock.now)
    return journal


def grant(clock: HandClock, name: str = "g1", **changes: object) -> Grant:
    values: dict[str, object] = {
        "id": name,
        "node": "lab-1",
        "disk_serial": "SYS1",
        "image_sha256": IMAGE,
        "plan": "sha256:plan",
        "how": "plan",
        "by": "ada@console",
        "issued": clock.now,
        "expires": clock.now + timedelta(minutes=30),
    }
    return Grant.model_validate({**values, **changes})


def ask(journal: Journal, clock: HandClock, disk: Disk = DISK, request: str = "a") -> int:
    return journal.deployments.ask_go("d1", disk, request * 64, clock.now, journal.go_guard())


def test_go_is_refused_where_the_grant_does_not_name_every_disk_that_would_be_erased(
    journal: Journal, clock: HandClock
) -> None:
    wanted = deployment(clock)
    wanted = wanted.model_copy(update={"task": wanted.task.model_copy(update={"wipe": ("SYS1", "DATA1")})})
    journal.leases.take("lab-1", "r1")
    journal.deployments.create(wanted)
    journal.deployments.record_hello("d1", HELLO, clock.now)
    journal.grants.issue(grant(clock, wipe=("SYS1",)))
    with pytest.raises(GrantError) as caught:
        ask(journal, clock)
    assert caught.value.where == "lab-1 disk DATA1"
    clock.move(seconds=1)
    journal.grants.issue(grant(clock, "g2", wipe=("SYS1", "DATA1")))
    assert ask(journal, clock) == 1


def test_go_is_refused_on_a_disk_of_another_customer_whatever_was_granted(held: Journal, clock: HandClock) -> None:
    stamp = deployment(clock).task.stamp.model_copy(update={"customer": "acme"})
    theirs = DISK.model_copy(update={"content": DiskContent(state="ours", stamp=stamp)})
    clock.move(seconds=1)
    held.grants.issue(grant(clock, "g2", overwrite=True))
    with pytest.raises(GrantError, match="another customer"):
        ask(held, clock, theirs)


def test_go_binds_the_grant_and_leaves_who_why_and_which_plan(held: Journal, clock: HandClock) -> None:
    assert ask(held, clock) == 1
    (record,) = held.grants.of_node("lab-1")
    assert (record.used_run, record.spent) == ("r1", None)
    act = held.events.of(node="lab-1")[-1]
    assert (act.what, act.who, act.plan, act.run, act.is_act) == (
        "disk overwritten",
        "ada@console",
        "sha256:plan",
        "r1",
        True,
    )


def test_a_verified_write_spends_the_grant_and_keeps_the_host_key(held: Journal, clock: HandClock) -> None:
    ask(held, clock)
    held.deployments.finish("d1", DONE, clock.now)
    assert held.grants.of_node("lab-1")[0].spent == clock.now
    key = held.host_keys.current("lab-1")
    assert key is not None
    assert (key.key, key.deployment_id) == ("ssh-ed25519 AAAA", "d1")


def test_a_write_that_reads_back_differently_spends_nothing(held: Journal, clock: HandClock) -> None:
    ask(held, clock)
    held.deployments.finish("d1", DONE.model_copy(update={"read_back_sha256": "3c" * 32}), clock.now)
    assert held.grants.of_node("lab-1")[0].spent is None


def test_without_a_grant_nothing_is_written(held: Journal, clock: HandClock) -> None:
    held.grants.expire("g1", "changed my mind")
    with pytest.raises(GrantError) as caught:
        ask(held, clock)
    assert caught.value.hint == "`metalwright plan lab-1 --grant` makes one"
    assert held.deployments.get("d1", clock.now).state is DeploymentState.HELLO


def test_a_grant_for_another_disk_does_not_do(held: Journal, clock: HandClock) -> None:
    with pytest.raises(GrantError) as caught:
        ask(held, clock, DISK.model_copy(update={"serial": "DATA1"}))
    assert (caught.value.expected, caught.value.found) == ("disk serial SYS1", "disk serial DATA1")


@pytest.mark.parametrize("is_allowed", [False, True])
def test_foreign_content_needs_overwrite(held: Journal, clock: HandClock, is_allowed: bool) -> None:
    held.grants.expire("g1", "replaced")
    held.grants.issue(grant(clock, "g2", overwrite=is_allowed))
    foreign = DISK.model_copy(update={"content": DiskContent(state="foreign", summary=("ext4 on p2",))})
    if is_allowed:
        assert ask(held, clock, foreign) == 1
        return
    with pytest.raises(GrantError) as caught:
        ask(held, clock, foreign)
    assert caught.value.found == "ext4 on p2"
    assert caught.value.hint == "if it may be destroyed: --overwrite lab-1"


@pytest.mark.parametrize("other", [{"journal": "lost"}, {"node": "lab-9"}])
def test_a_disk_of_another_journal_or_node_needs_overwrite(
    held: Journal, clock: HandClock, other: dict[str, str]
) -> None:
    stamp = held.deployments.get("d1", clock.now).task.stamp
    ours = DISK.model_copy(update={"content": DiskContent(state="ours", stamp=stamp.model_copy(update=other))})
    with pytest.raises(GrantError) as caught:
        ask(held, clock, ours)
    assert next(iter(other.values())) in (caught.value.found or "")
    held.grants.expire("g1", "replaced")
    held.grants.issue(grant(clock, "g2", overwrite=True))
    assert ask(held, clock, ours) == 1


def test_a_ramdisk_of_an_earlier_run_is_refused(held: Journal, clock: HandClock) -> None:
    held.leases.take("lab-1", "r2")
    with pytest.raises(LockHeldError) as caught:
        ask(held, clock)
    assert caught.value.expected == "run r1"
    assert held.grants.of_node("lab-1")[0].used is None


def test_an_older_epoch_is_refused_even_for_the_same_run(held: Journal, clock: HandClock) -> None:
    held.leases.take("lab-1", "r1")
    with pytest.raises(LockHeldError) as caught:
        ask(held, clock)
    assert caught.value.found == "lease epoch 2"
    assert held.grants.of_node("lab-1")[0].used is None


def test_a_run_that_ended_may_not_write(held: Journal, clock: HandClock) -> None:
    lease = held.leases.get("lab-1")
    assert lease is not None
    held.leases.release(lease)
    with pytest.raises(LockHeldError):
        ask(held, clock)


def test_the_newest_of_a_node_is_found(held: Journal, clock: HandClock) -> None:
    clock.move(seconds=1)
    held.deployments.create(deployment(clock, "d2"))
    newest = held.deployments.newest_of_node("lab-1", clock.now)
    assert newest is not None
    assert newest.deployment_id == "d2"


def test_it_says_whether_it_is_of_the_present_lease(held: Journal) -> None:
    assert held.deployments.is_of_current_lease("d1")
    held.leases.take("lab-1", "r2")
    assert not held.deployments.is_of_current_lease("d1")
    assert not held.deployments.is_of_current_lease("d9")


def test_it_says_when_the_ramdisk_was_last_heard_of(journal: Journal, clock: HandClock) -> None:
    journal.deployments.create(deployment(clock))
    assert journal.deployments.heard("d1") is None
    times = []
    journal.deployments.record_hello("d1", HELLO, clock.move(seconds=5))
    times.append(journal.deployments.heard("d1"))
    journal.deployments.ask_go("d1", DISK, "a" * 64, clock.move(seconds=5), agree)
    times.append(journal.deployments.heard("d1"))
    progress = Progress(step=ProgressStep.WRITE, done_bytes=5, total_bytes=10)
    journal.deployments.record_progress("d1", progress, clock.move(seconds=5))
    times.append(journal.deployments.heard("d1"))
    assert times == [clock.now - timedelta(seconds=back) for back in (10, 5, 0)]


def test_the_nonce_is_in_no_file(held: Journal, journal_file: Path) -> None:
    held.close()
    assert all(NONCE.encode() not in file.read_bytes() for file in journal_file.parent.iterdir() if file.is_file())


def test_what_was_allowed_survives_a_restart(held: Journal, clock: HandClock, journal_file: Path) -> None:
    ask(held, clock)
    held.close()
    with Journal(open_sqlite(journal_file, clock)) as journal:
        assert journal.deployments.get("d1", clock.now).state is DeploymentState.GO
        assert ask(journal, clock) == 1


def test_a_row_altered_by_hand_is_no_deployment(held: Journal, clock: HandClock, journal_file: Path) -> None:
    connection = sqlite3.connect(journal_file)
    connection.execute("UPDATE deployments SET document = '{}'")
    connection.commit()
    connection.close()
    with pytest.raises(JournalError, match="cannot be read"):
        held.deployments.get("d1", clock.now)


def test_a_network_boot_is_armed_only_while_the_run_that_ordered_it_holds_the_node(
    journal: Journal, clock: HandClock
) -> None:
    def armed() -> list[str]:
        return [item.deployment_id for item in journal.deployments.prepared(clock.now)]

    journal.deployments.create(deployment(clock, "other", node="lab-2"))
    lease = journal.leases.take("lab-1", "r1")
    journal.deployments.create(deployment(clock))
    assert armed() == ["d1"]
    journal.leases.release(lease)
    assert armed() == []
    journal.leases.take("lab-1", "r2")
    assert armed() == []
