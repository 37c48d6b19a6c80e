"""Who may rebuild is a rule of the site: everybody else is refused before anything is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.review.fleet import edit, write_fleet

from metalwright.cli.app import run

POLICIES = """\
schema: 1
roles: {on-call: [bo, li]}
policies: [{name: on-call-rebuilds, kind: rebuilders, role: on-call}]
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    write_fleet(tmp_path)
    (tmp_path / "inventory/policies.yaml").write_text(POLICIES)
    return tmp_path


def said(site: Path, person: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("SUDO_USER", person)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    capsys.readouterr()
    assert run(["--site", str(site), "rebuild", "g00", "--image", "img@9"]) == 1
    return capsys.readouterr().err


def test_only_the_people_of_the_role_may_rebuild(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = said(site, "amina", monkeypatch, capsys)
    assert "the policy on-call-rebuilds lets only people of the role on-call rebuild" in refused
    assert "expected: one of bo, li" in refused
    assert "found:    amina" in refused
    assert "on-call-rebuilds" not in said(site, "bo", monkeypatch, capsys), "it goes on, to an image that is not there"


def test_a_role_that_nobody_has_is_refused_by_check(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(site, "inventory/policies.yaml", "role: on-call", "role: nights")
    assert run(["--site", str(site), "check"]) == 2
    assert "names the role 'nights', which nobody has" in capsys.readouterr().out
