"""``image gc`` never takes an image that somebody counts on, and takes the others: a site with a journal of its own."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.disk_images import put, sha256, write_disk
from tests.failures.image_sites import ImageSite

from metalwright.cli.app import run
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.loading.locks import write_known_good
from metalwright.model.addresses import KnownGood, KnownGoodLock
from metalwright.model.image import Image
from metalwright.model.phase import NodeState
from metalwright.model.target import RebuildTarget, TargetImage
from metalwright.runner.target import keep_target
from metalwright.workspace import Workspace, open_workspace

BLUEPRINT = "gpu-h100-8x@1.0.0"
NODE = "gpu-1"
OTHER = "0" * 64


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ImageSite:
    assert run(["init", str(tmp_path / "site")]) == 0
    made = ImageSite(tmp_path / "site", capsys)
    disk = write_disk(tmp_path / "disk.raw")
    for version in ("1", "2"):
        put(disk, 15 << 20, version.encode())
        code, said = made.add(disk, "--sha256", sha256(disk), "--vouch", "test", version=version)
        assert code == 0, said
    return made


def image(site: ImageSite, version: str = "1") -> Image:
    return ImageCatalogue(site.root / "images").get("tiny", version)


@pytest.fixture
def workspace(site: ImageSite) -> Iterator[Workspace]:
    with open_workspace(site.root) as opened:
        yield opened


def verdicts(site: ImageSite) -> dict[str, list[str]]:
    code, said = site("image", "gc", "--json")
    assert code == 0, said
    return {item["image"]: item["stays_because"] for item in json.loads(said)["images"]}


def pin(site: ImageSite, found: Image, more: str = "") -> None:
    path = site.root / "blueprints/gpu-h100-8x/1.0.0.yaml"
    pinned = f"image: {{name: {found.name}, version: '{found.version}', file_sha256: {found.file_sha256}{more}}}\n"
    path.write_text(re.sub(r"(?m)^image:.*\n(?:  .*\n)*", pinned, path.read_text()))
    (site.root / "blueprints/blueprints.lock").unlink(missing_ok=True)


def known_good(found: Image, node: str = NODE) -> KnownGood:
    return KnownGood(
        node=node, blueprint=BLUEPRINT, recipe="sha256:1", image=found.ref, image_sha256=found.file_sha256,
        firmware={}, certificate="sha256:2", ssh_host_key="ssh-ed25519 AAAA",
    )  # fmt: skip


def by_known_good(workspace: Workspace, found: Image) -> str:
    workspace.journal.nodes.set_known_good(known_good(found))
    return "known good on gpu-1 (journal)"


def by_a_node_that_git_lost(workspace: Workspace, found: Image) -> str:
    workspace.journal.nodes.set_state("gone-1", NodeState.READY, "test")
    workspace.journal.nodes.set_known_good(known_good(found, "gone-1"))
    return "known good on gone-1 (journal)"


def by_grant(workspace: Workspace, found: Image) -> str:
    grant = workspace.journal.grants.make(
        NODE, image_sha256=found.file_sha256, plan="p", how="typed", valid_for=timedelta(hours=1)
    )
    return f"grant {grant.id} allows to write it to gpu-1"


def by_target_of_a_run(workspace: Workspace, found: Image) -> str:
    started = workspace.journal.runs.start("rebuild", [NODE])
    pinned = TargetImage(name=found.name, version=found.version, file_sha256=found.file_sha256)
    target = RebuildTarget(node=NODE, blueprint=BLUEPRINT, image=pinned, source="test")
    keep_target(workspace.with_targets({NODE: target}), NODE, started.id)
    return f"run {started.id} on gpu-1 is not finished"


@pytest.mark.parametrize("by", [by_known_good, by_a_node_that_git_lost, by_grant, by_target_of_a_run])
def test_what_the_journal_names_is_never_collected(
    site: ImageSite, workspace: Workspace, by: Callable[[Workspace, Image], str]
) -> None:
    why = by(workspace, image(site))
    assert verdicts(site) == {"tiny@1": [why], "tiny@2": []}
    code, said = site("image", "gc", "--delete")
    assert (code, "tiny@2" in said) == (0, True), said
    assert [found.ref for found in ImageCatalogue(site.root / "images").list()] == ["tiny@1"]


def test_what_blueprints_and_lock_file_name_is_never_collected(site: ImageSite) -> None:
    pin(site, image(site), ", known_good: ['2']")
    assert verdicts(site) == {
        "tiny@1": [f"pinned by {BLUEPRINT}, which nodes use"],
        "tiny@2": [f"listed as known good by {BLUEPRINT}"],
    }
    pin(site, image(site))
    lock = site.root / "inventory/known-good.lock"
    write_known_good(lock, KnownGoodLock(nodes=(known_good(image(site, "2")),)))
    assert verdicts(site)["tiny@2"] == ["known good on gpu-1 (known-good.lock)"]


def test_an_image_of_the_same_bytes_under_another_name_stays_as_well(site: ImageSite, workspace: Workspace) -> None:
    workspace.journal.nodes.set_known_good(known_good(image(site)).model_copy(update={"image": "other@9"}))
    workspace.journal.nodes.set_known_good(
        known_good(image(site, "2"), "gpu-1").model_copy(update={"image_sha256": OTHER})
    )
    assert verdicts(site)["tiny@2"] == ["known good on gpu-1 (journal)"]


def test_nothing_is_deleted_without_being_told_to_nor_with_a_damaged_journal(site: ImageSite) -> None:
    code, said = site("image", "gc")
    assert (code, "may go" in said, "--delete frees" in said) == (0, True, True), said
    assert len(ImageCatalogue(site.root / "images").list()) == 2
    (site.root / ".metalwright/journal.sqlite").write_bytes(b"noise" * 4096)
    assert site("image", "gc", "--delete")[0] == 1
    assert len(ImageCatalogue(site.root / "images").list()) == 2


def test_leftovers_of_killed_commands_go_and_those_in_use_stay(site: ImageSite) -> None:
    left, young, deleting = (
        site.root / "images" / name for name in ("tiny/.adding-a", "tiny/.adding-b", ".deleting-c")
    )
    for path in (left, young, deleting):
        path.mkdir()
        (path / "part").write_bytes(b"x")
    os.utime(left, (time.time() - 3600,) * 2)
    code, said = site("image", "gc", "--delete")
    assert (code, "a killed command left it" in said) == (0, True), said
    assert [path.exists() for path in (left, young, deleting)] == [False, True, False]


def test_a_catalogue_without_images_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", str(tmp_path / "site")]) == 0
    empty = ImageSite(tmp_path / "site", capsys)
    for command in ("verify", "gc"):
        assert empty("image", command) == (
            0,
            "no image is in the catalogue; `metalwright image build` or `image add` brings one\n",
        )
