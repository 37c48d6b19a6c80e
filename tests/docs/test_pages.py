"""What the pages say is what the code is: links, words, dependencies, failure codes, phases."""

from __future__ import annotations

import re
import subprocess
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from scripts import generate_reference
from tests.docs.console_blocks import PAGES, ROOT

from metalwright import errors
from metalwright.lifecycle import decisions
from metalwright.loading.schemas import SCHEMA_NAMES, json_schema
from metalwright.model.agent_protocol import FailureCode
from metalwright.model.phase import NodeState, Phase
from metalwright.runner.turn import failure_code

EXPLANATION = ROOT / "docs" / "explanation"
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
FENCED = re.compile(r"^\s*```.*?^\s*```$", re.MULTILINE | re.DOTALL)
FOREIGN_WORDS = re.compile(
    "|".join(
        [
            r"/work/",
            r"/tmp/w/",
            r"\b(?:pypi|npmjs)\.(?:org|com)\b",
            r"pythonhosted",
            r"deb\.debian\.org",
            r"\bthis session\b",
            r"\bsub-?agent\b",
            r"\bAI[- ]assist",
            r"(?<![\w.])\.\./shared",
        ]
    )
)
MAY_NAME_SHARED = {".ci/run", "tests/docs/test_pages.py"}


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    prose = FENCED.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(prose):
        assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_the_readme_leads_to_every_page() -> None:
    linked = set(LINK.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    pages = {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")}
    assert pages - linked == {"docs/index.md"}


def test_no_file_speaks_of_another_place_than_the_project() -> None:
    found = []
    for path in tracked_files():
        name = str(path.relative_to(ROOT))
        if name in MAY_NAME_SHARED:
            continue
        for number, line in enumerate(path.read_bytes().decode("utf-8", "ignore").splitlines(), 1):
            if FOREIGN_WORDS.search(line):
                found.append(f"{name}:{number}: {line.strip()[:120]}")
    assert found == []


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {
        re.split(r"[\[<>=~; ]", text)[0]
        for text in [
            *project["project"]["dependencies"],
            *chain.from_iterable(project["project"]["optional-dependencies"].values()),
            *project["dependency-groups"]["dev"],
        ]
    }
    rows = [line for line in (EXPLANATION / "dependencies.md").read_text(encoding="utf-8").splitlines() if "|" in line]
    explained = {name for row in rows for name in re.findall(r"`([\w.-]+)`", row.split("|")[1])}
    assert explained == wanted


EDGE_ERRORS: tuple[type[errors.MetalwrightError], ...] = (
    errors.AcceptanceError,
    errors.AddressError,
    errors.BmcAnswerError,
    errors.BmcAuthError,
    errors.BmcCertificateError,
    errors.BmcNoAnswerError,
    errors.BmcRefusedError,
    errors.BmcUnreachableError,
    errors.DeployError,
    errors.GrantError,
    errors.IdentityError,
    errors.ImageError,
    errors.JournalError,
    errors.LockHeldError,
    errors.ReadBackError,
    errors.SecretError,
    errors.SshAuthError,
    errors.SshHostKeyError,
    errors.SshTimeoutError,
    errors.SshUnreachableError,
)


def test_the_playbook_knows_every_failure_code() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in Path(decisions.__file__).parent.glob("*.py"))
    codes = set(re.findall(r'code="([a-z-]+)"', source)) | {code.value for code in FailureCode}
    codes |= {failure_code(kind("x")) for kind in EDGE_ERRORS}
    assert len(codes) > 20
    playbook = (EXPLANATION / "states.md").read_text(encoding="utf-8").partition("playbook")[2]
    assert {code for code in codes if f"`{code}`" not in playbook} == set()


def test_the_states_page_names_every_state_and_phase() -> None:
    page = (EXPLANATION / "states.md").read_text(encoding="utf-8")
    assert {state.value for state in NodeState if f"| `{state.value}` |" not in page} == set()
    assert {phase.value for phase in Phase if f"\n| {phase.value} |" not in page} == set()


def test_generated_pages_are_fresh() -> None:
    assert generate_reference.stale() == [], "run `make reference`"


def test_every_page_stands_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert pages == set(re.findall(r"[\w/-]+\.md", navigation))


def test_the_documentation_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [ROOT / "scripts" / "build-docs", tmp_path / "site"]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    loads = re.compile(r"""<(?:script|link|img)[^>]*\s(?:src|href)=["']?https?://""")
    assert [
        page for page in (tmp_path / "site").rglob("*.html") if loads.search(page.read_text(encoding="utf-8"))
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_a_page_names_exists(page: Path) -> None:
    commands = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^## metalwright ([\w-]+)", commands, re.MULTILINE))
    named = set(re.findall(r"`metalwright ([a-z-]+)", page.read_text(encoding="utf-8")))
    assert named - known == set()


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_every_field_of_a_schema_has_a_sentence_and_an_example(name: str) -> None:
    schema = json_schema(name)
    bare = [
        f"{title}.{field}"
        for title, part in {name: schema, **schema.get("$defs", {})}.items()
        for field, value in part.get("properties", {}).items()
        if not value.get("description") or not value.get("examples")
    ]
    assert bare == [], "write them into src/metalwright/loading/field_texts/*.toml"
