"""Known failures of reviews and of the files that are reviewed, through the real command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.unit.review.fleet import GIVEN, edit, fleet

from metalwright.cli.app import run
from metalwright.loading import load_site
from metalwright.loading.document import parse_document
from metalwright.reviewing import review_states

__all__ = ["fleet"]


@pytest.fixture
def site(fleet: Path, tmp_path: Path) -> Path:
    shutil.copytree(fleet, tmp_path / "site")
    return tmp_path / "site"


def checked(site: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    code = run(["--site", str(site), "check"])
    return code, capsys.readouterr().out.replace(f"{site}/", "")


def test_rv_03_text_that_looks_like_another_type_stays_text(site: Path) -> None:
    """Keeps the text that was written wherever the schema says text: versions, serials, On and no."""
    edit(site, "inventory/racks/a01.yaml", "serial: G-00", "serial: 5319E7")
    edit(site, "inventory/racks/a01.yaml", "serial: G-01", "serial: 0123")
    source = (site / "blueprints/gpu/1.0.0.yaml").read_text()
    text = source.replace("version: 1.0.0", "version: 1.1.0", 1).replace('version: "1"', "version: 1.10")
    text = text.replace("tier: gold", "tier: no, power: On")
    text = text.replace("registry: metalwright/lab-vm-1.0.0", "registry: other/x").replace("Performance", "No")
    (site / "blueprints/gpu/1.1.0.yaml").write_text(text)
    repository = load_site(site)
    blueprint = repository.blueprints["gpu@1.1.0"]
    assert (repository.node("g00").serial, repository.node("g01").serial) == ("5319E7", "0123")
    assert blueprint.image.version == "1.10"
    assert blueprint.policy.labels == {"tier": "no", "power": "On"}
    assert blueprint.bios is not None
    assert blueprint.bios.attributes["SysProfile"] == "No"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: a\nname: b\n", "the key 'name' is written twice"),
        ("feeds:\n  volts: 1\n  volts: 2\n", "the key 'volts' is written twice"),
        ("base: &b {name: a}\nrack:\n  <<: *b\n  name: c\n", "merge keys are not part of YAML 1.2"),
    ],
    ids=["top", "nested", "merge"],
)
def test_rv_04_a_key_written_twice_is_refused_with_both_lines(
    site: Path, capsys: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    """Refuses the file and names both lines; merge keys are refused as well."""
    (site / "inventory/racks/a03.yaml").write_text(text)
    code, out = checked(site, capsys)
    assert (code, told in out) == (2, True), out
    if "twice" in told:
        assert "line " in out.partition(told)[2]


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "---\n", "schema: 1\nname: a01\nsite: s1\nnodes: []\n"])
def test_rv_05_an_emptied_inventory_is_an_error_and_removes_nothing(
    site: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """Takes an empty file for a mistake, never for the wish to retire everything."""
    (site / "inventory/racks/a02.yaml").unlink()
    (site / "inventory/racks/a01.yaml").write_text(text)
    code, out = checked(site, capsys)
    assert code == 2
    assert "error: inventory/racks" in out


def test_rv_05_removing_many_nodes_needs_their_number(fleet: Path, site: Path) -> None:
    """Refuses a change that removes more than three nodes until the number is given."""
    (site / "inventory/racks/a02.yaml").unlink()
    review = review_states(fleet, site, ("base", "head"), GIVEN)
    (refused,) = [item for item in review.refused if item.rule == "removals"]
    assert refused.what.startswith("20 nodes leave the inventory, more than 3")
    assert refused.hint == "if that is meant: --may-remove 20"


def test_rv_06_a_blueprint_that_would_fit_everything_takes_no_node_over(fleet: Path, site: Path) -> None:
    """Never assigns by hardware: a node stands on what its rack file names, so a new class touches no node."""
    general = (fleet / "blueprints/box/1.0.0.yaml").read_text().replace("name: box", "name: any", 1)
    (site / "blueprints/any").mkdir()
    (site / "blueprints/any/1.0.0.yaml").write_text(general)
    review = review_states(fleet, site, ("base", "head"), GIVEN)
    assert (review.nodes, review.changes, review.refused) == ((), (), ())


@pytest.mark.parametrize(
    ("old", "new"),
    [('version: "1"', "version: latest"), ("version: 1.6.20", "version: main"), (", file_sha256", ", sha256")],
    ids=["image", "runtime", "without a digest"],
)
def test_rv_07_a_name_that_moves_is_refused(site: Path, capsys: pytest.CaptureFixture[str], old: str, new: str) -> None:
    """Takes exact versions and digests only."""
    source = (site / "blueprints/gpu/1.0.0.yaml").read_text()
    assert old in source
    (site / "blueprints/gpu/1.1.0.yaml").write_text(
        source.replace("version: 1.0.0", "version: 1.1.0", 1).replace(old, new)
    )
    code, out = checked(site, capsys)
    assert (code, "blueprints/gpu/1.1.0.yaml:" in out) == (2, True), out


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (BOMB.encode(), "the file has too many values"),
        (b"x" * (3 * 1024 * 1024), "the file is too large"),
        ("name: a03\n".encode("utf-16"), "the file is not UTF-8"),
        ("name: caf\u00e9\n".encode("latin-1"), "the file is not UTF-8"),
        (b"name: a03\nsite:\n\t- s1\n", "never with tabs"),
        (b"name: a03\0\0\0", "NUL bytes"),
        (b"[" * 100_000, "error:"),
    ],
    ids=["bomb", "large", "utf-16", "latin-1", "tabs", "torn", "deep"],
)
def test_a_file_that_is_no_rack_is_refused_with_its_place(
    site: Path, capsys: pytest.CaptureFixture[str], content: bytes, told: str
) -> None:
    (site / "inventory/racks/a03.yaml").write_bytes(content)
    code, out = checked(site, capsys)
    assert (code, told in out, "inventory/racks/a03.yaml" in out) == (2, True, True), out


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(fleet: Path, site: Path) -> None:
    for path in site.rglob("*.yaml"):
        mark = b"" if path.is_relative_to(site / "blueprints") else b"\xef\xbb\xbf"
        path.write_bytes(mark + path.read_bytes().replace(b"\n", b"\r\n"))
    assert load_site(site) == load_site(fleet)


def test_names_that_look_like_numbers_stay_names() -> None:
    tree = parse_document("007: x\n1e3: y\n", "f")
    assert [entry.key for entry in getattr(tree, "entries", ())] == ["007", "1e3"]
