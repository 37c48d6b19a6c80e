"""The row that can destroy: every way in which it must not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.lifecycle import Act, Done, Effect, Failed, History, Timing, Wait, decide
from metalwright.lifecycle.observations import ImageObservation, OsView
from metalwright.model.agent_protocol import (
    Disk,
    DiskContent,
    DiskRule,
    ExpectedIdentity,
    Failure,
    FailureCode,
    ImageTask,
    Progress,
    ProgressStep,
    Seed,
    Task,
)
from metalwright.model.agent_protocol import Done as AgentDone
from metalwright.model.boot import BootChoice
from metalwright.model.deployment import Deployment, DeploymentState
from metalwright.model.image import Stamp

NOW = datetime(2026, 11, 1, tzinfo=UTC)
WANTED, OTHER = "a" * 64, "b" * 64
TIMING = Timing()
SILENT = OsView("silent")


def stamp(run: str = "run-1", image: str = WANTED) -> Stamp:
    return Stamp(node="n1", run=run, recipe="sha256:r", image=f"sha256:{image}", journal="j1", written=NOW)


def deployment(state: DeploymentState, run: str = "run-1", image: str = WANTED, wrote: bool = False) -> Deployment:
    disk = Disk(path="/dev/nvme0n1", serial="S1", size_bytes=4 << 30, content=DiskContent(state="blank"))
    task = Task(
        run=run,
        node="n1",
        expect=ExpectedIdentity(keys=("serial", "uuid"), serial="A", uuid="B"),
        image=ImageTask(
            name="debian",
            version="1",
            format="raw",
            file_sha256=image,
            file_size_bytes=10,
            content_sha256=image,
            content_size_bytes=10,
            chunk_bytes=10,
            chunk_sha256=(image,),
        ),
        disk=DiskRule(role="system"),
        stamp=stamp(run, image),
        seed=Seed(hostname="n1", fqdn="n1.example"),
    )
    return Deployment(
        deployment_id="d1",
        run=run,
        node="n1",
        state=state,
        created=NOW,
        expires=NOW + timedelta(hours=1),
        token_sha256="0" * 64,
        nonce_sha256="0" * 64,
        media_secret_sha256="0" * 64,
        image_secret_sha256="0" * 64,
        media_path=Path("m.iso"),
        image_path=Path("i.raw"),
        task=task,
        done=AgentDone(disk=disk, content_sha256=image, read_back_sha256=image)
        if state is DeploymentState.DONE
        else None,
        failure=Failure(code=FailureCode.FOREIGN_DISK, what="not ours", wrote=wrote)
        if state is DeploymentState.FAILED
        else None,
    )


def seen(**changes: object) -> ImageObservation:
    base = ImageObservation(
        wanted_image="debian@1",
        wanted_sha256=WANTED,
        journal_id="j1",
        is_rebuild=False,
        os=SILENT,
        power="Off",
        is_medium_inserted=False,
        deployment=None,
        is_own_deployment=True,
        has_grant=True,
        may_overwrite=False,
        was_ready=False,
    )
    return replace(base, **changes)  # type: ignore[arg-type]  # test shorthand


def test_a_silent_blank_node_with_a_grant_is_written() -> None:
    assert decide(seen(), History(), TIMING) == Act("image", "write debian@1", Effect.DESTROY, "eject")


def test_without_a_grant_nothing_is_written_and_the_hint_names_the_command() -> None:
    decision = decide(seen(has_grant=False), History(), TIMING)
    assert isinstance(decision, Failed)
    assert decision.code == "grant"
    assert "metalwright plan NODE --grant" in (decision.hint or "")


def test_a_node_that_runs_the_wanted_image_is_left_alone() -> None:
    decision = decide(seen(os=OsView("ours", stamp(), boot_id="b"), power="On"), History(), TIMING)
    assert isinstance(decision, Done)
    assert decision.evidence["written"] is False


@pytest.mark.parametrize("rebuild", [False, True])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_node_that_goes_to_another_customer_is_erased_or_refused(rebuild: bool, overwrite: bool) -> None:
    changes = {"is_rebuild": rebuild, "may_overwrite": overwrite, "other_customers": ("acme",)}
    decision = decide(seen(**changes), History(), TIMING)
    assert isinstance(decision, Failed)
    assert (decision.code, decision.found) == ("customer", "written for customer acme")
    assert "--wipe" in (decision.hint or "")
    running = seen(**changes, os=OsView("ours", stamp()), power="On")
    assert isinstance(decide(running, History(), TIMING), Failed)
    assert isinstance(decide(seen(**changes, may_wipe=True), History(), TIMING), Act)


def test_an_erasure_that_takes_longer_than_its_grant_goes_on() -> None:
    erasing = deployment(DeploymentState.GO)
    erasing = erasing.model_copy(update={"task": erasing.task.model_copy(update={"wipe": ("S1", "S2")})})
    found = seen(other_customers=("acme",), deployment=erasing, has_grant=False, power="On", progress_age_s=1.0)
    decision = decide(found, History({"image": 1}, 80_000.0), TIMING)
    assert isinstance(decision, Wait)
    assert decision.limit_s > 80_000.0
    over = replace(found, power="Off", is_own_deployment=False)
    assert isinstance(decide(over, History(), TIMING), Failed)


def test_a_rebuild_writes_a_node_that_runs_the_wanted_image() -> None:
    decision = decide(seen(os=OsView("ours", stamp()), power="On", is_rebuild=True), History(), TIMING)
    assert isinstance(decision, Act)
    assert decision.effect is Effect.DESTROY


@pytest.mark.parametrize("rebuild", [False, True])
def test_an_operating_system_that_cannot_be_authenticated_needs_overwrite(rebuild: bool) -> None:
    view = OsView("answers", detail="SSH-2.0-OpenSSH_9.2")
    decision = decide(seen(os=view, power="On", is_rebuild=rebuild), History(), TIMING)
    assert isinstance(decision, Failed)
    assert decision.code == "os-answers"
    assert isinstance(decide(seen(os=view, is_rebuild=rebuild, may_overwrite=True), History(), TIMING), Act)


def test_provision_never_replaces_another_image_of_ours_that_answers() -> None:
    decision = decide(seen(os=OsView("ours", stamp(image=OTHER)), power="On"), History(), TIMING)
    assert isinstance(decision, Failed)
    assert "rebuild" in (decision.hint or "")


def test_provision_never_re_images_a_node_that_was_ready_and_is_silent_now() -> None:
    decision = decide(seen(was_ready=True), History(), TIMING)
    assert isinstance(decision, Failed)
    assert decision.code == "was-ready"
    assert isinstance(decide(seen(was_ready=True, is_rebuild=True), History(), TIMING), Act)


def test_a_verified_write_is_booted_and_never_repeated() -> None:
    view = seen(deployment=deployment(DeploymentState.DONE), has_grant=False)
    assert decide(view, History(), TIMING) == Act(
        "boot_disk", "eject the medium and boot the written disk", Effect.RESET
    )
    booting = replace(view, power="On")
    assert isinstance(decide(booting, History({"boot_disk": 1}), TIMING), Wait)
    done = decide(replace(booting, os=OsView("ours", stamp(), boot_id="b2")), History({"boot_disk": 1}), TIMING)
    assert isinstance(done, Done)
    assert done.evidence["read_back_sha256"] == WANTED


def test_a_verified_write_is_not_taken_from_the_stamp_of_another_run() -> None:
    view = seen(
        deployment=deployment(DeploymentState.DONE, run="run-2"), power="On", os=OsView("ours", stamp(run="run-1"))
    )
    assert isinstance(decide(view, History(), TIMING), Wait)


def test_a_write_under_way_is_watched_and_not_started_again() -> None:
    for state in (DeploymentState.HELLO, DeploymentState.GO):
        view = seen(deployment=deployment(state), power="On", is_medium_inserted=True, has_grant=False)
        assert isinstance(decide(view, History(), TIMING), Wait)


@pytest.mark.parametrize(
    ("state", "said"), [(DeploymentState.HELLO, "nothing was written"), (DeploymentState.GO, "part of the disk")]
)
def test_power_lost_during_a_deployment_says_whether_the_disk_was_touched(state: DeploymentState, said: str) -> None:
    decision = decide(seen(deployment=deployment(state), power="Off"), History({"image": 1}), TIMING)
    assert isinstance(decision, Failed)
    assert said in (decision.found or "")
    assert decision.cleanup == "eject"


@pytest.mark.parametrize("state", [DeploymentState.PREPARED, DeploymentState.HELLO])
def test_a_medium_of_an_earlier_lease_is_replaced_and_needs_a_grant_of_its_own(state: DeploymentState) -> None:
    view = seen(deployment=deployment(state), is_own_deployment=False)
    assert isinstance(decide(view, History(), TIMING), Act)
    refused = decide(replace(view, has_grant=False), History(), TIMING)
    assert isinstance(refused, Failed)
    assert refused.code == "grant"


def test_a_write_that_an_earlier_run_was_allowed_is_watched_to_its_end() -> None:
    view = seen(deployment=deployment(DeploymentState.GO), is_own_deployment=False, power="On", has_grant=False)
    assert isinstance(decide(view, History(), TIMING), Wait)


def test_a_write_of_an_earlier_run_that_stopped_half_way_is_done_again_with_a_grant() -> None:
    view = seen(deployment=deployment(DeploymentState.GO), is_own_deployment=False, power="Off")
    assert isinstance(decide(view, History(), TIMING), Act)
    refused = decide(replace(view, has_grant=False), History(), TIMING)
    assert isinstance(refused, Failed)
    assert refused.code == "grant"


def test_a_node_that_powers_off_without_reporting_is_a_failure_that_wrote_nothing() -> None:
    failed = decide(seen(deployment=deployment(DeploymentState.PREPARED)), History({"image": 1}), TIMING)
    assert isinstance(failed, Failed)
    assert failed.code == "ramdisk-silent"
    assert failed.found == "nothing was written"


def test_bv_18_a_medium_that_is_never_fetched_is_tried_once_more_and_then_told() -> None:
    """Sees that the override was used up and nobody fetched the medium, tries once more, then stops and says so."""
    elsewhere = seen(
        deployment=deployment(DeploymentState.PREPARED),
        power="On",
        is_medium_inserted=True,
        boot_progress="OSRunning",
        is_override_set=False,
    )
    assert isinstance(decide(elsewhere, History({"image": 1}, 10), TIMING), Wait)
    again = decide(elsewhere, History({"image": 1}, 61), TIMING)
    assert isinstance(again, Act)
    assert again.name == "power_off"
    off = replace(elsewhere, power="Off", is_medium_inserted=False, boot_progress="None")
    second = decide(off, History({"image": 1, "power_off": 1}), TIMING)
    assert isinstance(second, Act)
    assert second.name == "image"
    over = decide(elsewhere, History({"image": 2, "power_off": 1}, 61), TIMING)
    assert isinstance(over, Failed)
    assert (over.code, over.cleanup) == ("medium-not-booted", "power_off")
    assert TIMING.ramdisk_boot_s > 61


@pytest.mark.parametrize("sign", [{"is_medium_read": True}, {"is_override_set": True}, {"boot_progress": None}])
def test_bv_18_a_boot_that_may_still_come_is_waited_for(sign: dict[str, object]) -> None:
    """Sees that the override was used up and nobody fetched the medium, tries once more, then stops and says so."""
    elsewhere: dict[str, object] = {"power": "On", "boot_progress": "OSRunning", "is_override_set": False, **sign}
    view = seen(deployment=deployment(DeploymentState.PREPARED), **elsewhere)
    assert isinstance(decide(view, History({"image": 1}, 61), TIMING), Wait)


def test_a_failure_that_the_ramdisk_reported_is_shown_as_it_was_said() -> None:
    decision = decide(seen(deployment=deployment(DeploymentState.FAILED)), History({"image": 1}), TIMING)
    assert isinstance(decision, Failed)
    assert (decision.code, decision.what) == ("foreign-disk", "not ours")
    assert "`metalwright rebuild n1 --overwrite n1`" in str(decision.addressed("n1", "metalwright rebuild n1").hint)


def test_a_deployment_of_another_image_is_not_mistaken_for_the_wanted_one() -> None:
    view = seen(deployment=deployment(DeploymentState.DONE, image=OTHER), has_grant=False)
    decision = decide(view, History(), TIMING)
    assert isinstance(decision, Failed)
    assert decision.code == "grant"


def test_a_ramdisk_that_stops_reporting_is_fenced_by_power_off() -> None:
    view = seen(
        deployment=deployment(DeploymentState.GO).model_copy(
            update={"progress": Progress(step=ProgressStep.WRITE, done_bytes=5, total_bytes=10)}
        ),
        power="On",
        is_medium_inserted=True,
        progress_age_s=TIMING.stall_s + 1,
    )
    decision = decide(view, History({"image": 1}), TIMING)
    assert isinstance(decision, Failed)
    assert decision.cleanup == "power_off"


observations = st.builds(
    seen,
    is_rebuild=st.booleans(),
    os=st.sampled_from(
        [SILENT, OsView("answers", detail="x"), OsView("ours", stamp()), OsView("ours", stamp(image=OTHER))]
    ),
    power=st.sampled_from(["On", "Off", None, "PoweringOn"]),
    is_medium_inserted=st.booleans(),
    deployment=st.one_of(
        st.none(),
        st.builds(deployment, st.sampled_from(list(DeploymentState)), image=st.sampled_from([WANTED, OTHER])),
    ),
    is_own_deployment=st.booleans(),
    has_grant=st.booleans(),
    may_overwrite=st.booleans(),
    was_ready=st.booleans(),
    progress_age_s=st.one_of(st.none(), st.floats(0, 1000)),
)
histories = st.builds(
    History, st.dictionaries(st.sampled_from(["image", "boot_disk"]), st.integers(0, 3)), st.floats(0, 1e4)
)


@given(observations, histories)
def test_no_state_of_the_world_starts_a_new_write_without_a_grant(view: ImageObservation, history: History) -> None:
    decision = decide(view, history, TIMING)
    if isinstance(decision, Act) and decision.effect is Effect.DESTROY:
        assert view.has_grant


@given(observations, histories)
def test_nothing_that_answers_is_overwritten_by_provision_unless_told(view: ImageObservation, history: History) -> None:
    decision = decide(replace(view, is_rebuild=False, deployment=None), history, TIMING)
    if view.os.kind != "silent" and not view.may_overwrite:
        assert not isinstance(decision, Act)


@given(observations, histories)
def test_every_failure_explains_itself(view: ImageObservation, history: History) -> None:
    decision = decide(view, history, TIMING)
    if isinstance(decision, Failed):
        assert decision.what
        assert decision.hint


def test_a_bmc_that_offers_none_of_the_declared_boot_methods_is_refused_with_each_reason() -> None:
    offered = BootChoice(
        None, (("virtual-media", "this BMC has no virtual CD"), ("pxe", "site.yaml does not allow it"))
    )
    decision = decide(seen(boot=offered), History(), TIMING)
    assert isinstance(decision, Failed)
    assert decision.code == "boot-method"
    assert decision.found == "virtual-media: this BMC has no virtual CD; pxe: site.yaml does not allow it"


def test_the_act_and_the_plan_say_by_which_way_the_ramdisk_starts_and_why_not_by_another() -> None:
    view = seen(boot=BootChoice("uefi-http", (("virtual-media", "this BMC has no virtual CD"),)))
    decision = decide(view, History(), TIMING)
    assert isinstance(decision, Act)
    assert decision.why == "write debian@1 by uefi-http (virtual-media: this BMC has no virtual CD)"
    assert [change.to for change in view.changes()][1:] == ["by uefi-http (virtual-media: this BMC has no virtual CD)"]


def test_im_15_a_system_that_has_not_finished_its_start_is_waited_for_and_not_for_ever() -> None:
    """Goes on when systemd has finished the start, whatever ran in it; names what still runs at the deadline."""
    at_it = OsView("ours", stamp(), "boot-1", starting="first-boot.service")
    observed = seen(os=at_it, power="On", deployment=deployment(DeploymentState.DONE))
    waiting = decide(observed, History(), TIMING)
    assert isinstance(waiting, Wait)
    assert waiting.why == "the written system starts: first-boot.service"
    assert waiting.limit_s == TIMING.os_boot_s
    assert (waiting.when_over.code, waiting.when_over.found) == ("os-boot", "first-boot.service")
    up = decide(replace(observed, os=replace(at_it, starting="", boot_id="boot-2")), History(), TIMING)
    assert isinstance(up, Done)
    assert up.evidence["boot_id"] == "boot-2"
