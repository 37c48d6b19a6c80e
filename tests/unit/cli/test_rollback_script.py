"""``runbooks/rollback.py``: back to what was last good, by git's lock file alone when the journal is gone."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from tests.unit.loading.conftest import BLUEPRINT, INVENTORY

from metalwright.loading import write_known_good
from metalwright.model.addresses import KnownGood, KnownGoodLock

SCRIPT = Path(__file__).parents[3] / "runbooks" / "rollback.py"
GOOD = KnownGood(
    node="n1",
    blueprint="box@0.9.0",
    recipe="sha256:" + "5" * 64,
    image="img@0.9",
    image_sha256="3" * 64,
    firmware={"bmc": "1"},
    certificate="sha256:" + "4" * 64,
    ssh_host_key="ssh-ed25519 AAAA",
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Git pins box@1.0.0; box@0.9.0 is there as well, and was good on n1. There is no journal, and no image."""
    for name, text in INVENTORY.items():
        path = tmp_path / "inventory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    blueprints = tmp_path / "blueprints" / "box"
    blueprints.mkdir(parents=True)
    (blueprints / "1.0.0.yaml").write_text(BLUEPRINT)
    (blueprints / "0.9.0.yaml").write_text(BLUEPRINT.replace("version: 1.0.0", "version: 0.9.0"))
    write_known_good(tmp_path / "inventory" / "known-good.lock", KnownGoodLock(nodes=(GOOD,)))
    (tmp_path / "runbooks").mkdir()
    shutil.copy(SCRIPT, tmp_path / "runbooks" / "rollback.py")
    return tmp_path


@pytest.fixture
def script(site: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("rollback", site / "runbooks" / "rollback.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_a_journal_the_lock_file_says_what_was_good(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main(["n1", "--to", "last-known-good"]) == 1, "its BMC is at no address"
    assert "n1: to box@0.9.0, image img@0.9 (last known good, by inventory/known-good.lock)" in capsys.readouterr().err


def test_a_node_that_was_never_good_is_refused(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["n2", "--to", "last-known-good"]) == 1
    told = capsys.readouterr().err
    assert "nothing is known to be good on this node" in told
    assert "--to box@1.0.0" in told


def test_a_named_target_and_the_options_of_rebuild_are_handed_on(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, site: Path
) -> None:
    given: list[list[str]] = []

    def record(arguments: list[str]) -> int:
        given.append(arguments)
        return 0

    monkeypatch.setattr(script, "run", record)
    for to in ("git", "box@0.9.0", "last-known-good"):
        assert script.main(["n1", "--to", to, "--yes", "--overwrite", "n1"]) == 0
    head, tail = ["--site", str(site), "rebuild", "n1"], ["--yes", "--overwrite", "n1"]
    assert given == [
        [*head, "--blueprint", "box@1.0.0", *tail],
        [*head, "--blueprint", "box@0.9.0", *tail],
        [*head, *tail],
    ]


def test_a_damaged_journal_is_kept_under_another_name(
    script: ModuleType, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = site / ".metalwright"
    state.mkdir(mode=0o700)
    (state / "journal.sqlite").write_bytes(b"torn")
    assert script.main(["n1"]) == 1
    assert "journal" in capsys.readouterr().err
    assert (state / "journal.sqlite").read_bytes() == b"torn"

    script.main(["n1", "--set-journal-aside"])
    assert "n1: to box@0.9.0" in capsys.readouterr().err
    (aside,) = state.glob("set-aside-*-journal.sqlite")
    assert aside.read_bytes() == b"torn"
