"""``image packages`` as a person runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalwright.cli.app import run


@pytest.fixture
def site(tmp_path: Path) -> Path:
    assert run(["init", str(tmp_path / "site")]) == 0
    return tmp_path / "site"


def test_an_unknown_blueprint_is_wrong_usage_and_the_known_ones_are_named(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--site", str(site), "image", "packages", "lab-vm@9.9.9"]) == 64
    assert "lab-vm@1.0.0" in capsys.readouterr().err


def test_without_the_image_nobody_knows_what_is_missing(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--site", str(site), "image", "packages", "lab-vm@1.0.0"]) == 1
    assert "debian-12" in capsys.readouterr().err
