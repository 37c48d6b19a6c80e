"""The jobs for GitHub and GitLab, ours and those of a new site, against the schemas that the code hosts publish."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STARTER = ROOT / "src" / "metalwright" / "starter"
WORKFLOWS = (*sorted((ROOT / ".github" / "workflows").glob("*.y*ml")), STARTER / "github-review.yaml")
GITLAB = (STARTER / "gitlab-ci.yml",)


def lint(schema: str, *files: Path) -> subprocess.CompletedProcess[str]:
    """check-jsonschema with one of the schemas that it brings; asks nobody."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    return subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("schema", "files"), [("github-workflows", WORKFLOWS), ("gitlab-ci", GITLAB)])
def test_jobs_are_what_the_code_host_takes(schema: str, files: tuple[Path, ...]) -> None:
    done = lint(schema, *files)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("schema", "file", "old", "new"),
    [
        ("github-workflows", STARTER / "github-review.yaml", "runs-on:", "run-on:"),
        ("gitlab-ci", STARTER / "gitlab-ci.yml", "script:", "scripts:"),
    ],
)
def test_a_misspelt_key_of_a_job_is_seen(tmp_path: Path, schema: str, file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    broken = tmp_path / file.name
    broken.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert lint(schema, broken).returncode == 1


def test_hooks_are_what_pre_commit_takes() -> None:
    ours, new = ROOT / ".pre-commit-config.yaml", STARTER / "pre-commit-config.yaml"
    for words in (("validate-manifest", ROOT / ".pre-commit-hooks.yaml"), ("validate-config", ours, new)):
        command = [sys.executable, "-m", "pre_commit", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
