"""A site in a folder that cannot be written: what only reads works, the rest says why not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.simulator.discovery.sites import machine, make_site, node_of, run_cli


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site whose folder counts as read-only; tests may run as a user to whom no file is."""
    site = make_site(tmp_path, [node_of(machine(1))])
    for module in ("metalwright.workspace", "metalwright.journal.opening"):
        monkeypatch.setattr(f"{module}.is_writable", lambda directory: False)
    return site.root


@pytest.mark.parametrize("command", ["check", "status", "journal"])
def test_what_only_reads_files_works(command: str, read_only: Path) -> None:
    done = run_cli("--site", str(read_only), command)
    assert done.code == 0, done.err
    assert not (read_only / ".metalwright").exists()


@pytest.mark.parametrize(
    "words", [("plan", "lab-1"), ("match", "lab-1"), ("inspect", "lab-1"), ("discover", "127.85.0.0/30")]
)
def test_what_asks_bmcs_says_in_one_line_why_it_does_not(words: tuple[str, ...], read_only: Path) -> None:
    done = run_cli("--site", str(read_only), *words)
    assert done.code == 1
    assert "this folder is read-only" in done.err.splitlines()[0]
    assert not (read_only / ".metalwright").exists()


def test_a_folder_is_writable_by_the_nearest_one_above_it(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from metalwright.loading.files import is_writable\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "print(is_writable(Path(sys.argv[1])), is_writable(Path(sys.argv[2])))"
    )
    tmp_path.chmod(0o555)
    words = [sys.executable, "-c", code, f"{tmp_path}/a/b", "/tmp/a/b"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_the_plan_says_what_to_do_about_what_it_cannot_see(tmp_path: Path) -> None:
    site = make_site(tmp_path, [node_of(machine(1))])
    (node,) = site.run("plan", "lab-1", "--json").json["nodes"]
    assert node["unknown"][0].startswith("identify: nobody knows where the BMC of this node is; metalwright discover")
