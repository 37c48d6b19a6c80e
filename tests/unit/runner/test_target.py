"""What a rebuild brings a node to: what was asked for, else what was last good on it, else what git lists or pins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.loading.conftest import BLUEPRINT, INVENTORY

from metalwright.connectors.bmcs import repository_at
from metalwright.errors import ImageError, PlanError, UsageError
from metalwright.loading import load_site
from metalwright.model.addresses import KnownGood, KnownGoodLock
from metalwright.model.image import Image
from metalwright.model.phase import NodeState
from metalwright.model.target import TARGET_VARIABLE
from metalwright.runner.calls import pyinfra_call
from metalwright.runner.provisioning import left_alone
from metalwright.runner.target import Wish, at_targets, begun_targets, choose_target, keep_target
from metalwright.workspace import Workspace, open_workspace

OLD, NEW = "1" * 64, "2" * 64


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Node n1 is pinned to box@2.0.0 (image 2.0); box@1.0.0 (image 1.0) is there as well, and both images."""
    for name, text in INVENTORY.items():
        path = tmp_path / "inventory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("box@1.0.0", "box@2.0.0"))
    blueprints = tmp_path / "blueprints" / "box"
    blueprints.mkdir(parents=True)
    (blueprints / "1.0.0.yaml").write_text(BLUEPRINT)
    newer = BLUEPRINT.replace("version: 1.0.0", "version: 2.0.0").replace("version: 1.0,", "version: 2.0,")
    (blueprints / "2.0.0.yaml").write_text(newer.replace(OLD, NEW))
    (tmp_path / "deploys").mkdir()
    (tmp_path / "deploys" / "image.py").write_text("")
    for version, sha256 in (("1.0", OLD), ("2.0", NEW)):
        entry = tmp_path / "images" / "img" / version
        entry.mkdir(parents=True)
        (entry / "image.json").write_text(image(version, sha256).model_dump_json(by_alias=True))
    with open_workspace(tmp_path) as opened:
        yield opened


def image(version: str, sha256: str) -> Image:
    digests = {"file_sha256": sha256, "content_sha256": sha256, "file_size_bytes": 1, "content_size_bytes": 1}
    values = {"schema": 1, "name": "img", "version": version, "file": "image.raw", "format": "raw"}
    return Image.model_validate(values | digests)


def good(version: str, sha256: str, blueprint: str) -> KnownGood:
    return KnownGood(
        node="n1",
        blueprint=blueprint,
        recipe="sha256:r",
        image=f"img@{version}",
        image_sha256=sha256,
        firmware={},
        certificate="sha256:c",
        ssh_host_key="ssh-ed25519 AAAA",
    )


def locked(workspace: Workspace, known: KnownGood) -> Workspace:
    repository = workspace.repository.model_copy(update={"known_good": KnownGoodLock(nodes=(known,))})
    return Workspace(workspace.paths, repository, workspace.journal, workspace.bmc_credentials)


def test_a_node_that_was_never_accepted_becomes_what_git_pins(workspace: Workspace) -> None:
    target = choose_target(workspace, "n1", Wish())
    assert (target.blueprint, target.image) == ("box@2.0.0", None)
    assert at_targets(workspace, [target]).targets == {}


def test_the_journal_comes_before_the_lock_file(workspace: Workspace) -> None:
    from_lock = locked(workspace, good("1.0", OLD, "box@1.0.0"))
    assert choose_target(from_lock, "n1", Wish()).blueprint == "box@1.0.0"
    assert "known-good.lock" in choose_target(from_lock, "n1", Wish()).source

    workspace.journal.nodes.set_known_good(good("2.0", NEW, "box@2.0.0"))
    target = choose_target(from_lock, "n1", Wish())
    assert (target.blueprint, target.is_pinned_in(workspace.repository)) == ("box@2.0.0", True)


def test_a_blueprints_list_names_the_image_of_a_node_that_was_never_accepted(workspace: Workspace) -> None:
    pin = workspace.blueprint("n1").image.model_copy(update={"known_good": ("0.9", "1.0")})
    repository = workspace.repository.with_blueprint("n1", workspace.blueprint("n1").model_copy(update={"image": pin}))
    listed = Workspace(workspace.paths, repository, workspace.journal, workspace.bmc_credentials)
    target = choose_target(listed, "n1", Wish())
    assert target.image is not None
    assert (target.image.version, target.image.file_sha256) == ("1.0", OLD)


def test_what_was_last_good_is_what_the_run_and_its_children_see_and_the_other_nodes_keep_their_pin(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.journal.nodes.set_known_good(good("1.0", OLD, "box@1.0.0"))
    aimed = at_targets(workspace, [choose_target(workspace, "n1", Wish())])
    assert (aimed.blueprint("n1").ref, aimed.blueprint("n1").image.file_sha256) == ("box@1.0.0", OLD)
    assert aimed.blueprint("n2").ref == "box@2.0.0"
    assert aimed.recipe("n1") != workspace.recipe("n1")
    aimed.require_unchanged("n1")

    call = pyinfra_call(aimed, "n1", "image", run="r1")
    monkeypatch.setenv(TARGET_VARIABLE, call.environment[TARGET_VARIABLE])
    repository_at.cache_clear()
    child = repository_at(workspace.paths.root)
    repository_at.cache_clear()
    assert child.blueprint_of("n1") == aimed.blueprint("n1")
    assert pyinfra_call(workspace, "n1", "image", run="r1").environment[TARGET_VARIABLE] == ""


def test_an_image_of_the_same_name_but_other_bytes_is_not_taken_for_the_pin(workspace: Workspace) -> None:
    workspace.journal.nodes.set_known_good(good("2.0", OLD, "box@2.0.0"))
    target = choose_target(workspace, "n1", Wish())
    assert not target.is_pinned_in(workspace.repository)
    assert target.blueprint_in(workspace.repository).image.file_sha256 == OLD


@pytest.mark.parametrize(
    ("wish", "blueprint", "sha256"),
    [
        (Wish(image="img@1.0"), "box@2.0.0", OLD),
        (Wish(blueprint="box@1.0.0"), "box@1.0.0", OLD),
        (Wish("box@1.0.0", "img@2.0"), "box@1.0.0", NEW),
        (Wish(image="img@2.0"), "box@2.0.0", NEW),
    ],
)
def test_what_a_person_names_comes_before_what_was_good(
    workspace: Workspace, wish: Wish, blueprint: str, sha256: str
) -> None:
    workspace.journal.nodes.set_known_good(good("1.0", OLD, "box@1.0.0"))
    target = choose_target(workspace, "n1", wish)
    found = target.blueprint_in(workspace.repository)
    assert (found.ref, found.image.file_sha256) == (blueprint, sha256)
    assert target.is_pinned_in(workspace.repository) == (wish == Wish(image="img@2.0"))


def test_what_cannot_be_meant_is_refused(workspace: Workspace) -> None:
    for wish in (Wish(blueprint="box@9.0.0"), Wish(image="img")):
        with pytest.raises(UsageError):
            choose_target(workspace, "n1", wish)
    with pytest.raises(ImageError, match="not in the catalogue"):
        choose_target(workspace, "n1", Wish(image="img@9"))
    workspace.journal.nodes.set_known_good(good("1.0", OLD, "box@0.1.0"))
    with pytest.raises(PlanError) as caught:
        choose_target(workspace, "n1", Wish())
    assert "--blueprint" in (caught.value.hint or "")


def test_a_run_that_is_taken_up_again_has_the_target_that_it_began_with(workspace: Workspace) -> None:
    aimed = at_targets(workspace, [choose_target(workspace, "n1", Wish(image="img@1.0"))])
    run = workspace.journal.runs.start("rebuild", ["n1"]).id
    workspace.journal.runs.start_node(run, "n1", blueprint="box@2.0.0", recipe=aimed.recipe("n1"))
    keep_target(aimed, "n1", run)
    assert at_targets(workspace, begun_targets(workspace, ["n1", "n2"])).targets == aimed.targets
    workspace.journal.runs.set_node(run, "n1", "ok")
    assert begun_targets(workspace, ["n1", "n2"]) == ()


def test_a_held_node_may_be_rebuilt_and_is_provisioned_again_once_git_pins_what_it_has(workspace: Workspace) -> None:
    workspace.journal.nodes.set_known_good(good("1.0", OLD, "box@1.0.0"))
    workspace.journal.nodes.set_state("n1", NodeState.HELD, "accepted with box@1.0.0")
    assert left_alone(workspace, "n1", "provision") is not None
    assert left_alone(workspace, "n1", "rebuild") is None

    rack = workspace.paths.root / "inventory" / "racks" / "r1.yaml"
    rack.write_text(rack.read_text().replace("box@2.0.0", "box@1.0.0"))
    repinned = Workspace(workspace.paths, load_site(workspace.paths.root), workspace.journal, workspace.bmc_credentials)
    assert left_alone(repinned, "n1", "provision") is None

    workspace.journal.nodes.set_state("n1", NodeState.QUARANTINED, "tampered with")
    assert left_alone(repinned, "n1", "rebuild") is not None
