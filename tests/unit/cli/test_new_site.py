"""A new site repository works as it is made: git, hooks before commits and pushes, jobs of code hosts, owners."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from metalwright.cli.app import run

ROOT = Path(__file__).parents[3]
MARK = "<!-- metalwright review -->"


class NewSite:
    """A directory fresh from ``init``, its git, and the programs of this environment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        programs = str(Path(sys.executable).parent)
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("METALWRIGHT", "GIT_"))},
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(root.parent),
            "PRE_COMMIT_HOME": str(root.parent / "pre-commit"),
            **{f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }

    def sh(self, *command: str, code: int = 0, **environment: str) -> str:
        """Run a program in the site; all that it said."""
        done = subprocess.run(
            command,
            cwd=self.root,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.root / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def yaml(self, name: str) -> Any:
        return YAML(typ="safe").load((self.root / name).read_text())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> NewSite:
    made = NewSite(tmp_path_factory.mktemp("new") / "my site")
    assert run(["init", str(made.root)]) == 0
    made.sh("git", "init", "-q", "-b", "main")
    made.sh("git", "add", "-A")
    made.sh("git", "commit", "-qm", "a new site")
    return made


def test_the_hint_of_init_can_be_typed_where_a_path_has_blanks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(tmp_path / "a site")]) == 0
    command = capsys.readouterr().err.rpartition("then: metalwright ")[2]
    assert run(shlex.split(command)) == 0


def test_it_is_valid_and_nothing_of_it_is_left_to_make(site: NewSite) -> None:
    assert "valid" in site.sh("metalwright", "check")
    site.sh("metalwright", "addresses", "allocate", "--check")
    assert site.sh("git", "status", "--porcelain") == ""


def test_its_hooks_stop_a_bad_commit_and_show_a_push(site: NewSite, tmp_path: Path) -> None:
    site.sh("pre-commit", "install")
    said = site.sh("pre-commit", "run", "--all-files")
    assert said.count("Passed") == 2, said
    remote = str(tmp_path / "remote.git")
    site.sh("git", "init", "-q", "--bare", remote)
    site.sh("git", "push", "-q", remote, "main")
    site.sh("git", "remote", "add", "origin", remote)
    site.sh("git", "fetch", "-q", "origin")

    site.edit("inventory/racks/rack-1.yaml", "site: my-site", "site: other")
    assert "rack rack-1 belongs to another site" in site.sh("git", "commit", "-qam", "wrong", code=1)
    site.sh("git", "checkout", "-q", "--", "inventory")

    site.edit("inventory/site.yaml", "ntp.example.net", "time.example.net")
    site.sh("git", "commit", "-qam", "another time server")
    said = site.sh("git", "push", "origin", "main")
    assert MARK in said
    assert "/etc/chrony/chrony.conf" in said


def test_the_published_hooks_are_those_of_a_new_site(site: NewSite) -> None:
    published = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    own = site.yaml(".pre-commit-config.yaml")["repos"][0]["hooks"]
    ignored = ("description", "language")
    assert [{key: value for key, value in hook.items() if key not in ignored} for hook in published] == [
        {key: value for key, value in hook.items() if key not in ignored} for hook in own
    ]
    assert {hook["language"] for hook in published} == {"python"}


def test_the_job_of_github_writes_comment_and_findings(site: NewSite, tmp_path: Path) -> None:
    site.sh("git", "switch", "-qC", "change", "main")
    site.edit("inventory/site.yaml", "domain: example.net", "domain: example.org")
    site.sh("git", "commit", "-qam", "another domain", SKIP="metalwright-check")
    site.sh("git", "update-ref", "refs/remotes/origin/main", "main")
    steps = site.yaml(".github/workflows/review.yaml")["jobs"]["review"]["steps"]
    (script,) = [step["run"] for step in steps if step.get("name") == "Review"]
    (site.root / "approved").write_text("amina\n")
    output = tmp_path / "output"
    site.sh("bash", "-e", "-c", script, BASE="origin/main", GITHUB_OUTPUT=str(output))
    assert (site.root / "review.md").read_text().startswith(MARK)
    assert '"version": "2.1.0"' in (site.root / "review.sarif").read_text()
    assert output.read_text() in ("code=0\n", "code=2\n")
    for left in ("approved", "review.md", "review.sarif"):
        (site.root / left).unlink()


def test_on_github_an_approval_goes_with_its_commit_and_one_that_was_taken_back_is_none(tmp_path: Path) -> None:
    job = YAML(typ="safe").load((ROOT / "src/metalwright/starter/github-review.yaml").read_text())["jobs"]["review"]
    (script,) = [step["run"] for step in job["steps"] if step.get("name") == "Who approved"]
    said = ["amina APPROVED", "li APPROVED", "bo APPROVED", "li CHANGES_REQUESTED", "cy CHANGES_REQUESTED"]
    said = [f"{line} {'1' * 40}" for line in said] + [f"bo DISMISSED {'1' * 40}", f"cy APPROVED {'2' * 40}"]
    (tmp_path / "said").write_text("\n".join([*said, ""]))
    (tmp_path / "gh").write_text("#!/bin/sh\ncat said\n")
    (tmp_path / "gh").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "REVIEWS": "reviews"}
    subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=environment, check=True)
    assert sorted((tmp_path / "approved").read_text().split()) == [f"amina@{'1' * 40}", f"cy@{'2' * 40}"]


def test_the_job_of_gitlab_writes_the_note(site: NewSite) -> None:
    script = site.yaml(".gitlab-ci.yml")["review"]["script"]
    check, approved, review, send = [line for line in script if not line.startswith(("pip", "exit"))]
    note = """
import http.server, json, sys
def at(hour): return f"2026-11-30T{hour}:00:00.000Z"
VERSIONS = [{"head_commit_sha": sys.argv[1], "created_at": at(12)}, {"head_commit_sha": "a" * 40, "created_at": at(10)}]
APPROVALS = {"approved_by": [{"user": {"username": "reviewer-1"}, "approved_at": at(13)},
                             {"user": {"username": "reviewer-2"}, "approved_at": at(11)}]}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({"/mr/approvals": APPROVALS, "/mr/versions": VERSIONS}.get(self.path, []))
    def do_POST(self):
        print(self.rfile.read(int(self.headers["Content-Length"])).decode(), flush=True); self.answer({})
    def answer(self, body):
        self.send_response(200); self.end_headers(); self.wfile.write(json.dumps(body).encode())
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.108.7.1", 0), Handler)
print(server.server_address[1], flush=True)
for _ in range(4): server.handle_request()
"""
    site.sh("git", "switch", "-qC", "bios", "main")
    site.sh("metalwright", "blueprint", "bump", "gpu-h100-8x")
    site.edit("blueprints/gpu-h100-8x/1.1.0.yaml", "NUMA_003B: Enabled", "NUMA_003B: Disabled")
    site.sh("metalwright", "blueprint", "release", "gpu-h100-8x@1.1.0")
    site.edit("inventory/racks/rack-1.yaml", "gpu-h100-8x@1.0.0", "gpu-h100-8x@1.1.0")
    site.sh("git", "add", "-A")
    site.sh("git", "commit", "-qm", "another BIOS setting", SKIP="metalwright-check")
    site.sh("git", "update-ref", "refs/remotes/origin/main", "main")
    head = site.sh("git", "rev-parse", "HEAD").strip()
    server = subprocess.Popen([sys.executable, "-c", note, head], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    notes = f"http://127.108.7.1:{server.stdout.readline().strip()}/mr/notes"
    job = "\n".join([check, approved, review, send])
    site.sh("bash", "-e", "-c", job, CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main", NOTES=notes, REVIEW_TOKEN="t")
    posted = server.communicate(timeout=20)[0]
    assert posted.startswith("body=%3C%21--+metalwright+review")
    assert "did%3A+reviewer-1%3B+approved+another+commit+than+this+head%3A+reviewer-2+" in posted
    for left in ("approved", "review.md"):
        (site.root / left).unlink()
    site.sh("git", "switch", "-q", "main")


def test_every_path_of_the_owners_file_is_there(site: NewSite) -> None:
    lines = (site.root / ".github/CODEOWNERS").read_text().splitlines()
    paths = [line.split()[0] for line in lines if line and not line.startswith("#")]
    assert paths
    assert [path for path in paths if not (site.root / path.strip("/")).exists()] == []
