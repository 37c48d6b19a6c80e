"""``init``, ``check``, ``schema``, ``blueprint`` and ``addresses`` as a person runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from metalwright.cli.app import run
from metalwright.loading import load_site, read_addresses
from metalwright.loading.schemas import SCHEMA_NAMES, json_schema
from metalwright.starter.site import create_site


def cli(site: Path, *arguments: str) -> int:
    return run(["--site", str(site), *arguments])


@pytest.fixture
def site(tmp_path: Path) -> Path:
    assert run(["init", str(tmp_path / "site")]) == 0
    return tmp_path / "site"


def read_json(capsys: pytest.CaptureFixture[str], site: Path, *arguments: str) -> Any:
    capsys.readouterr()
    cli(site, *arguments)
    return json.loads(capsys.readouterr().out)


def fill_in(site: Path) -> None:
    """Replace what a new site shows as examples."""
    for name, shown in (("site.yaml", "replace-me@example"), ("racks/rack-1.yaml", "REPLACE-ME-1")):
        path = site / "inventory" / name
        path.write_text(path.read_text().replace(shown, "SN00123456"))


def test_a_new_site_is_valid_and_warns_of_the_examples_that_only_its_owner_can_replace(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(site, "addresses", "allocate", "--check") == 0
    assert cli(site, "check") == 0
    out = capsys.readouterr().out
    assert "inventory/site.yaml:21:9: the SSH key of operator is the example of a new site" in out
    assert "inventory/racks/rack-1.yaml:29:13: the serial of gpu-1 is the example of a new site" in out
    assert "2 warnings, 1 note: valid" in out
    assert cli(site, "check", "--strict") == 2
    fill_in(site)
    capsys.readouterr()
    assert cli(site, "check", "--strict") == 0
    assert "0 warnings, 1 note: valid" in capsys.readouterr().out


def test_a_new_site_keeps_state_and_images_out_of_git(site: Path) -> None:
    subprocess.run(["git", "-C", str(site), "init", "-q"], check=True)
    (site / "images").mkdir()
    (site / "images/x").write_text("x")
    done = subprocess.run(
        ["git", "-C", str(site), "status", "--short", "-uall"], capture_output=True, text=True, check=True
    )
    names = {line[3:].partition("/")[0] for line in done.stdout.splitlines()}
    assert {"inventory", "blueprints", "templates", "schemas", ".gitignore"} <= names
    assert not names & {".metalwright", "images"}


def test_init_never_writes_into_a_directory_with_content(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("x")
    assert run(["init", str(tmp_path)]) == 64
    assert "not empty" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [tmp_path / "mine"]


def test_a_site_with_its_own_inventory_replaces_the_starter(tmp_path: Path) -> None:
    inventory = {"site.yaml": "a", "racks/lab.yaml": "b"}
    create_site(tmp_path / "s", inventory=inventory)
    assert (tmp_path / "s/inventory/racks/lab.yaml").read_text() == "b"
    assert not (tmp_path / "s/inventory/racks/rack-1.yaml").exists()
    (tmp_path / "s/inventory/mine.yaml").write_text("kept")
    create_site(tmp_path / "s", inventory={"site.yaml": "c"}, refresh=True)
    assert (tmp_path / "s/inventory/site.yaml").read_text() == "c"
    assert (tmp_path / "s/inventory/mine.yaml").read_text() == "kept"


def test_check_lists_everything_with_places_and_exits_2(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rack = site / "inventory/racks/rack-1.yaml"
    rack.write_text(rack.read_text().replace("gpu-h100-8x@1.0.0", "gpu-h100-8@1.0.0").replace("height_u", "heigth_u"))
    site_yaml = site / "inventory/site.yaml"
    site_yaml.write_text(site_yaml.read_text() + "limits: {parallel_nodes: many}\n")
    assert cli(site, "check") == 2
    out = capsys.readouterr().out
    assert f"{rack}:5:1: unknown key 'heigth_u'" in out
    assert "hint: did you mean 'height_u'?" in out
    assert f"{site_yaml}:" in out


def test_check_as_json_gives_file_line_and_column(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    networks = site / "inventory/networks.yaml"
    networks.write_text(networks.read_text().replace("vlan: 20", "vlan: 4096"))
    answer = read_json(capsys, site, "check", "--json")
    assert answer["valid"] is False
    (error,) = answer["errors"]
    assert (error["file"], error["line"], error["column"]) == (str(networks), 7, 48)
    assert error["found"] == "4096"


def test_check_refuses_bios_attributes_that_the_registry_at_hand_refuses(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (site / "blueprints/lab-vm/1.0.0.yaml").read_text()
    changed = source.replace("version: 1.0.0\n", "version: 1.0.1\n", 1).replace("SysProfile: Perf", "SysProfile: perf")
    path = site / "blueprints/lab-vm/1.0.1.yaml"
    path.write_text(changed)
    line = changed.splitlines().index("    SysProfile: performance") + 1
    assert cli(site, "check") == 2
    out = capsys.readouterr().out
    assert f"{path}:{line}:5: this BIOS would refuse it: SysProfile has no value 'performance'" in out
    assert "did you mean 'Performance'?" in out


def test_a_note_is_printed_and_never_fails(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill_in(site)
    capsys.readouterr()
    assert cli(site, "check", "--strict") == 0
    out = capsys.readouterr().out
    path = site / "blueprints/gpu-h100-8x/1.0.0.yaml"
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if "registry:" in text)
    assert f"note: {path}:{line}:13: 6 BIOS attributes of gpu-h100-8x@1.0.0 not judged" in out
    assert "hint: metalwright bios registry pull gpu-1, on a node with this BIOS version" in out
    (note,) = read_json(capsys, site, "check", "--strict", "--json")["notes"]
    assert (note["file"], note["line"]) == (str(path), line)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{test: gpu-to-gpu, floor: 300, unit: GB/s}", "expected: a blueprint with hardware.gpus"),
        ("{test: iperf3, floor: 5, unit: Gbit/s}", "expected: acceptance_peer in inventory/site.yaml"),
        ("{test: power, record: true, seconds: 30}", "power runs no command that could last so long"),
        (
            "{test: nccl-all-reduce, record: true, seconds: 30}",
            "nccl-all-reduce lasts as long as its work, whatever is asked",
        ),
        ("{test: time-sync, record: true, seconds: 30}", "time-sync lasts as long as its work"),
        ("{test: time-sync, floor: 50, unit: ms}", "less is better"),
        ("{test: fio-read, floor: 5}", "expected: MB/s"),
    ],
)
def test_check_refuses_acceptance_tests_that_can_never_run(
    site: Path, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    source = (site / "blueprints/lab-vm/1.0.0.yaml").read_text()
    changed = source.replace("version: 1.0.0\n", "version: 1.0.1\n", 1).replace(
        "acceptance:\n", f"acceptance:\n  - {line}\n"
    )
    path = site / "blueprints/lab-vm/1.0.1.yaml"
    path.write_text(changed)
    number = changed.splitlines().index(f"  - {line}") + 1
    assert cli(site, "check") == 2
    out = capsys.readouterr().out
    assert f"{path}:{number}:" in out
    assert said in out


def test_check_warns_of_a_floor_that_lets_broken_nodes_pass_and_new_says_what_is_published(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(site, "blueprint", "new", "own", "--from", "gpu-h100-8x") == 0
    said = capsys.readouterr().err
    assert "nccl-all-reduce: the floor is 440 GB/s; published for 8 x H100 SXM is 460 GB/s" in said
    path = site / "blueprints/own/1.0.0.yaml"
    path.write_text(path.read_text().replace("floor: 440", "floor: 44"))
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if "floor: 44" in text)
    cli(site, "check")
    out = capsys.readouterr().out + capsys.readouterr().err
    assert f"{path}:{line}:" in out
    assert "the floor of nccl-all-reduce is far below what such a system reaches" in out
    assert "azurehpc-health-checks" in out


def test_check_outside_of_a_site_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(tmp_path, "check") == 1
    assert "metalwright init DIR" in capsys.readouterr().err


def test_a_released_blueprint_that_changes_is_refused_by_check(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = site / "blueprints/gpu-h100-8x/1.0.0.yaml"
    path.write_text(path.read_text() + "# one more comment\n")
    assert cli(site, "check") == 2
    assert "was changed" in capsys.readouterr().out
    assert cli(site, "blueprint", "release", "gpu-h100-8x@1.0.0") == 1


def test_a_new_version_is_released_once(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = (site / "blueprints/gpu-h100-8x/1.0.0.yaml").read_text()
    (site / "blueprints/gpu-h100-8x/1.1.0.yaml").write_text(source.replace("version: 1.0.0\n", "version: 1.1.0\n", 1))
    assert cli(site, "blueprint", "release", "gpu-h100-8x@1.1.0") == 0
    assert "gpu-h100-8x@1.1.0 released: sha256:" in capsys.readouterr().out
    assert cli(site, "blueprint", "release", "gpu-h100-8x@1.2.0") == 64
    fill_in(site)
    assert cli(site, "check", "--strict") == 0


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_every_schema_is_printed_and_written(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", name]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert run(["schema", "--out", str(tmp_path)]) == 0
    assert json.loads((tmp_path / f"{name}.json").read_text()) == printed == json_schema(name)


def test_schemas_have_the_keys_that_people_write() -> None:
    assert {"schema", "class", "hardware", "acceptance"} <= json_schema("blueprint")["properties"].keys()
    assert json_schema("blueprint")["additionalProperties"] is False
    assert "schema" in json_schema("match")["properties"]
    assert {"from", "to"} <= json_schema("plan")["$defs"]["Change"]["properties"].keys()


def test_an_unknown_schema_is_wrong_usage_with_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "blueprnt"]) == 64
    assert "did you mean 'blueprint'?" in capsys.readouterr().err


def test_addresses_are_explained_and_exported(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explained = read_json(capsys, site, "addresses", "explain", "gpu-1", "--json")
    host = next(item for item in explained["addresses"] if item["purpose"] == "host-management")
    assert (host["interface"], host["vlan"], host["gateway"]) == ("10.30.0.32/22", 30, "10.30.0.1")
    assert (
        read_json(capsys, site, "addresses", "export", "--format", "json")["nodes"]["gpu-1"] == explained["addresses"]
    )
    assert cli(site, "addresses", "export") == 0
    assert "10.30.0.32\tgpu-1.example.net gpu-1\n" in capsys.readouterr().out


def test_a_lock_that_is_behind_is_told_by_check_and_allocate_check_and_written_by_allocate(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill_in(site)
    rack = site / "inventory/racks/rack-1.yaml"
    rack.write_text(
        rack.read_text()
        + "  - {name: gpu-2, unit: 9, serial: X2, bmc_mac: 00:00:5e:00:53:02, blueprint: gpu-h100-8x@1.0.0}\n"
    )
    before = (site / "inventory/addresses.lock").read_text()
    assert cli(site, "addresses", "allocate", "--check") == 2
    assert cli(site, "check") == 0
    assert cli(site, "check", "--strict") == 2
    assert "addresses.lock is not up to date" in capsys.readouterr().out
    assert (site / "inventory/addresses.lock").read_text() == before
    assert cli(site, "addresses", "allocate") == 0
    assert "+ 10.20.0.33 oob gpu-2" in capsys.readouterr().out
    assert cli(site, "check", "--strict") == 0


def test_a_damaged_lock_is_never_overwritten(site: Path) -> None:
    path = site / "inventory/addresses.lock"
    path.write_bytes(b"\0" * 100)
    assert cli(site, "addresses", "allocate") == 1
    assert path.read_bytes() == b"\0" * 100


def test_many_allocations_at_once_give_every_node_one_address(site: Path) -> None:
    (site / "inventory/addresses.lock").unlink()
    command = [sys.executable, "-m", "metalwright.cli", "--site", str(site), "addresses", "allocate"]

    def allocate(_: int) -> int:
        return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(allocate, range(4))) == [0] * 4
    lock = read_addresses(site / "inventory/addresses.lock", root=site)
    assert load_site(site).addresses == lock
    assert len({item.address for item in lock.allocations}) == len(lock.allocations) == 4
