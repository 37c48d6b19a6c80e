"""The software phase: the deploys, a restart of the system where they ask for it, then the deploys once more."""

from __future__ import annotations

from metalwright.lifecycle.decisions import Act, Decision, Done, Effect, Failed, History, Wait
from metalwright.lifecycle.observations import RestartView, SoftwareObservation
from metalwright.lifecycle.timing import Timing

RESTART = "restart"


def decide_software(seen: SoftwareObservation, history: History, timing: Timing) -> Decision:
    """Every invocation applies the recipe, since only the machine knows what it lacks; it restarts at most once."""
    applied, restarted, view = history.count("software"), history.count(RESTART), seen.restart
    if not applied:
        return Act("software", "apply the software recipe", Effect.WRITE)
    if view.reasons is None:
        return _silent(view, restarted > 0, timing)
    if not view.reasons:
        if restarted and applied == restarted:
            return Act("software", "apply what had to wait for the restart", Effect.WRITE)
        return Done({"restarted": True} if restarted else {})
    if not restarted:
        return Act(RESTART, f"restart the system: {'; '.join(view.reasons)}", Effect.RESET)
    if not view.is_new_boot:
        return Wait(5.0, "the system goes down", timing.os_boot_s, _not_restarted(view))
    return Failed(
        code="restart-again",
        what="the system was restarted and still asks for a restart",
        expected="nothing that waits for a restart",
        found="; ".join(view.reasons),
        hint="on the node: journalctl --boot; dkms status; repair the cause, then run provision again",
    )


def _silent(view: RestartView, was_restarted: bool, timing: Timing) -> Wait:
    limit_s = timing.os_boot_s if was_restarted else timing.system_answers_s
    failed = Failed(
        code="os-silent",
        what="the system does not answer" + (" after its restart" if was_restarted else ""),
        expected="SSH with the known host key",
        found=view.detail or "nothing answers",
        hint="`metalwright console NODE` shows how far it boots",
    )
    return Wait(5.0, "the system boots" if was_restarted else "the system is busy", limit_s, failed)


def _not_restarted(view: RestartView) -> Failed:
    return Failed(
        code="not-restarted",
        what="the system was told to restart and still runs the same boot",
        expected="another boot id",
        found="; ".join(view.reasons or ()),
        hint="on the node: systemctl list-jobs; what blocks the shutdown?",
    )
