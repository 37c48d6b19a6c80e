"""Hooks: what carries work is drained before it is disturbed, what is ready again is given back, all journalled."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.unit.runner.test_target import OLD, good, workspace

from metalwright.lifecycle import Act, Effect, Failed, Wait
from metalwright.loading import load_site
from metalwright.model.hooks import Hook, NodeHooks
from metalwright.runner.draining import Draining, hooks_of, is_given_away
from metalwright.workspace import Workspace

__all__ = ["workspace"]

WRITE, RESET, READ = (Act("a", "write it", effect) for effect in (Effect.WRITE, Effect.RESET, Effect.READ))
RECORDER = """\
#!/usr/bin/env python3
import json, os, sys, time
told = {name: value for name, value in os.environ.items() if name.startswith("METALWRIGHT") or "WORD" in name}
with open("called.jsonl", "a") as file:
    file.write(json.dumps({"argv": sys.argv[1:], **told}) + "\\n")
print("said", os.environ.get("SLURM_TOKEN", "nothing"), flush=True)
time.sleep(float(os.environ.get("LASTS", "0")))
sys.exit(int(os.environ.get("ENDS", "0")))
"""


@pytest.fixture
def hooked(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Workspace]:
    """Gives the site hooks; node n1 was accepted once."""
    root = workspace.paths.root
    (root / "hooks").mkdir()
    script = root / "hooks" / "recorder"
    script.write_text(RECORDER)
    script.chmod(0o755)
    workspace.journal.nodes.set_known_good(good("1.0", OLD, "box@1.0.0"))
    monkeypatch.setenv("SLURM_TOKEN", "very-secret-token")

    def with_hooks(text: str) -> Workspace:
        site = root / "inventory" / "site.yaml"
        site.write_text(site.read_text() + text)
        return Workspace(workspace.paths, load_site(root), workspace.journal, workspace.bmc_credentials)

    return with_hooks


HOOKS = """\
hooks:
  - drain: {command: [hooks/recorder, drain], timeout_s: 30}
    undrain: {command: [hooks/recorder, "--node={fqdn}", "{reason}"], timeout_s: 30}
"""


def begun(workspace: Workspace, *, is_rebuild: bool = True, undrained: str | None = None) -> Draining:
    run = workspace.journal.runs.start("rebuild", ["n1"]).id
    return Draining(workspace, "n1", run, is_rebuild, undrained)


def settled(draining: Draining, act: Act) -> Wait | Failed | None:
    """What the way is in the end."""
    for _ in range(300):
        found = draining.clear_way(act)
        if not isinstance(found, Wait):
            return found
        time.sleep(0.02)
    raise AssertionError("it never ends")


def calls(workspace: Workspace) -> list[dict[str, object]]:
    path = workspace.paths.root / "called.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def events(workspace: Workspace) -> list[str]:
    names = ("drain", "drained", "drain failed", "undrained", "undrain failed", "not drained")
    return [event.what for event in workspace.journal.events.of(node="n1") if event.what in names]


def test_a_rebuild_drains_before_its_first_write_and_once(hooked: Callable[[str], Workspace]) -> None:
    site = hooked(HOOKS)
    draining = begun(site)
    assert draining.clear_way(READ) is None
    assert calls(site) == []
    assert settled(draining, WRITE) is None
    assert settled(draining, RESET) is None
    (call,) = calls(site)
    assert call["argv"] == ["drain", "n1", draining.run, "write it (rebuild)"]
    assert call["METALWRIGHT_NODE"] == "n1"
    assert call["METALWRIGHT_RUN"] == draining.run
    assert call["METALWRIGHT_REASON"] == "write it (rebuild)"
    assert call["METALWRIGHT_HOOK"] == "drain"
    assert events(site) == ["drain", "drained"]


def test_provision_drains_before_a_restart_and_not_before_a_setting(hooked: Callable[[str], Workspace]) -> None:
    site = hooked(HOOKS)
    draining = begun(site, is_rebuild=False)
    assert draining.clear_way(WRITE) is None
    assert calls(site) == []
    assert settled(draining, RESET) is None
    assert len(calls(site)) == 1


def test_a_node_that_never_joined_the_pool_is_not_drained(hooked: Callable[[str], Workspace]) -> None:
    site = hooked(HOOKS)
    assert Draining(site, "n2", "run", is_rebuild=True).clear_way(RESET) is None
    assert calls(site) == []


def test_a_failing_drain_says_what_it_printed_without_secrets(
    hooked: Callable[[str], Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = hooked(HOOKS)
    monkeypatch.setenv("ENDS", "3")
    failure = settled(begun(site), RESET)
    assert isinstance(failure, Failed)
    assert failure.what == "the drain hook ended with exit status 3"
    assert failure.found == "said ***"
    assert "--undrained" in (failure.hint or "")
    assert events(site) == ["drain", "drain failed"]
    assert not any("very-secret" in str(event.detail) for event in site.journal.events.of(node="n1"))


def test_a_drain_that_takes_too_long_is_ended_with_all_that_it_started(
    hooked: Callable[[str], Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = hooked("hooks:\n  - drain: {command: [sh, -c, 'sleep 600 & echo $! >child; wait'], timeout_s: 0.6}\n")
    failure = settled(begun(site), RESET)
    assert isinstance(failure, Failed)
    assert failure.what == "the drain hook did not end in time"
    child = int((site.paths.root / "child").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_a_program_that_is_not_there_stops_the_node(hooked: Callable[[str], Workspace]) -> None:
    failure = settled(begun(hooked("hooks:\n  - drain: {command: [hooks/nothing]}\n")), RESET)
    assert isinstance(failure, Failed)
    assert failure.what == "the hook cannot be run"
    assert failure.found == "No such file or directory"


def test_the_override_is_kept_with_its_reason_and_holds_for_the_run_that_is_taken_up_again(
    hooked: Callable[[str], Workspace],
) -> None:
    site = hooked(HOOKS)
    draining = begun(site, undrained="the scheduler is down")
    assert draining.clear_way(RESET) is None
    again = Draining(site, "n1", draining.run, is_rebuild=True)
    assert again.clear_way(RESET) is None
    assert calls(site) == []
    (told,) = [event for event in site.journal.events.of(node="n1") if event.what == "not drained"]
    assert (told.is_act, told.why) == (True, "the scheduler is down")


def test_a_drained_node_is_given_back_once_by_whichever_run_makes_it_ready(
    hooked: Callable[[str], Workspace],
) -> None:
    site = hooked(HOOKS)
    assert settled(begun(site), RESET) is None
    assert is_given_away(site.journal, "n1")
    assert not is_given_away(site.journal, "n2")
    later = begun(site, is_rebuild=False)
    assert later.undrain_view().step == "due"
    later.undrain()
    while later.undrain_view().step == "running":
        time.sleep(0.02)
    assert later.undrain_view().step == "none"
    assert calls(site)[-1]["argv"] == ["--node=n1.example.net", f"ready in run {later.run}"]
    assert begun(site).undrain_view().step == "none"
    assert not is_given_away(site.journal, "n1")
    assert events(site) == ["drain", "drained", "undrained"]


def test_an_undrain_that_fails_is_told_and_due_again_next_time(
    hooked: Callable[[str], Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = hooked(HOOKS)
    assert settled(begun(site), RESET) is None
    monkeypatch.setenv("ENDS", "1")
    draining = begun(site)
    draining.undrain()
    while draining.undrain_view().step == "running":
        time.sleep(0.02)
    view = draining.undrain_view()
    assert (view.step, view.told, view.found) == ("failed", "the undrain hook ended with exit status 1", "said ***")
    assert begun(site).undrain_view().step == "due"


def test_a_hook_gets_no_secret_of_the_site(hooked: Callable[[str], Workspace], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTORY_WORD", "factory-pass")
    monkeypatch.setenv("OTHER_WORD", "fine")
    monkeypatch.setenv("METALWRIGHT_BMC_PASSWORD", "bmc-pass")
    site = hooked(HOOKS + "factory_credentials: [{user: admin, password: 'env:FACTORY_WORD'}]\n")
    assert settled(begun(site), RESET) is None
    (call,) = calls(site)
    assert call["OTHER_WORD"] == "fine"
    assert "FACTORY_WORD" not in call
    assert "METALWRIGHT_BMC_PASSWORD" not in call


def test_the_first_entry_that_fits_the_blueprint_counts(hooked: Callable[[str], Workspace]) -> None:
    site = hooked(
        "hooks:\n"
        "  - {roles: [training], drain: {command: [slurm]}}\n"
        "  - {blueprints: [box], labels: {tier: gold}, drain: {command: [gold]}}\n"
        "  - {roles: [box], undrain: {command: [box]}}\n"
        "  - {drain: {command: [rest]}}\n"
    )
    found = hooks_of(site, "n1")
    assert found is not None
    assert (found.drain, found.undrain and found.undrain.command) == (None, ("box",))


@pytest.mark.parametrize("command", [["drain", "{nodes}"], ["{node}", "x"], []])
def test_a_command_that_cannot_be_filled_in_is_refused(command: list[str]) -> None:
    with pytest.raises(ValidationError):
        Hook.model_validate({"command": command})
    with pytest.raises(ValidationError):
        NodeHooks.model_validate({"roles": ["training"]})


def test_braces_that_name_nothing_stay_as_they_are() -> None:
    hook = Hook(command=("kubectl", "patch", '{"spec": {}}', "{node}"))
    assert hook.arguments({"node": "n1", "fqdn": "", "run": "", "reason": ""})[2:] == ('{"spec": {}}', "n1")


def test_stopping_ends_a_hook_that_runs(hooked: Callable[[str], Workspace], monkeypatch: pytest.MonkeyPatch) -> None:
    site = hooked("hooks:\n  - drain: {command: [sh, -c, 'echo $$ >pid; exec sleep 600']}\n")
    draining = begun(site)
    assert isinstance(draining.clear_way(RESET), Wait)
    while not (site.paths.root / "pid").exists() or not (site.paths.root / "pid").read_text().strip():
        time.sleep(0.02)
    draining.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(int((site.paths.root / "pid").read_text()), 0)
