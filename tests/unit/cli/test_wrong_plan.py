"""``provision --plan`` with a file that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalwright.cli.app import run


@pytest.mark.parametrize(("text", "told"), [('{"schema": 1', "Invalid JSON"), ('{"schema": 1}', "Field required")])
def test_a_file_that_is_no_plan_is_refused_with_what_is_wrong_and_how_to_make_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    assert run(["init", str(tmp_path / "site")]) == 0
    (tmp_path / "plan.json").write_text(text)
    assert run(["--site", str(tmp_path / "site"), "provision", "--plan", str(tmp_path / "plan.json")]) == 1
    said = capsys.readouterr().err
    assert told in said
    assert "metalwright plan NODE -o FILE" in said
