"""A whole site: cross references hold, and everything that is wrong is told at once, at its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.loading.conftest import BrokenSite

from metalwright.errors import InvalidFilesError, LoadingError
from metalwright.loading import load_site, read_site, release

RACK = "inventory/racks/r1.yaml"
BOX = "blueprints/box/1.0.0.yaml"
NETWORKS = "inventory/networks.yaml"
TWICE = "[{port: host-0, to: leaf-1}, {port: host-0, to: leaf-2}]"
AMD = "{count: 8, vendor: amd, model: MI300X}"
EXPORTER = "{agents: {dcgm_exporter: 4.8.2}}"


def test_a_valid_site_becomes_one_value(site: BrokenSite) -> None:
    repository = load_site(site.root)
    assert [node.name for node in repository.nodes()] == ["n1", "n2"]
    assert repository.blueprint_of("n1").ref == "box@1.0.0"
    assert repository.tree_digest.startswith("sha256:")


def test_a_directory_that_is_no_site_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(LoadingError, match="not a site repository") as caught:
        load_site(tmp_path / "nowhere")
    assert "metalwright init" in str(caught.value.hint)


def test_errors_of_all_files_are_told_together(site: BrokenSite) -> None:
    site.edit("inventory/site.yaml", "domain", "domian")
    site.edit(NETWORKS, "vlan: 20", "vlan: 4095")
    site.edit(RACK, "box@1.0.0", "bok@1.0.0")
    site.write("inventory/addresses.lock", "")
    with pytest.raises(InvalidFilesError) as caught:
        load_site(site.root)
    places = {Path(error.where.partition(":")[0]).name for error in caught.value.errors}
    assert places == {"site.yaml", "networks.yaml", "r1.yaml", "addresses.lock"}
    assert str(caught.value).count("hint:") >= 2


@pytest.mark.parametrize(
    ("file", "old", "new", "what", "line"),
    [
        (RACK, "name: n2", "name: n1", "the node name n1 is used twice", 8),
        (RACK, "serial: S-2", "serial: s-1", "the serial s-1 (n2) is used twice", 8),
        (RACK, "00:02,", "00:01,", "the MAC address 52:54:00:00:00:01 (n2) is used twice", 8),
        (RACK, "unit: 3", "unit: 2", "node n2 overlaps node n1", 8),
        (RACK, "unit: 3", "unit: 10", "node n2 does not fit into rack r1", 8),
        (RACK, "site: s1", "site: s2", "rack r1 belongs to another site", 3),
        (RACK, "name: r1", "name: r2", "a rack file is named as its rack", 2),
        (NETWORKS, "10.1.0.0/24", "10.0.0.128/25", "networks oob and hosts overlap", 4),
        (NETWORKS, "vlan: 30", "vlan: 20", "the VLAN 20 is used twice", 4),
        (NETWORKS, "name: hosts", "name: oob", "the network name oob is used twice", 4),
        (
            BOX,
            "[host-management]",
            "[workload]",
            "needs a network with the purpose workload",
            14,
        ),
        (BOX, "{secure_boot: false}", "{secure_boot: true, method: [pxe]}", "starts from virtual media alone", 13),
        (BOX, "version: 1.0,", "version: latest,", "image.version names a version that moves", 15),
        (BOX, "cpu-hash", "cpu-hsah", "unknown acceptance test 'cpu-hsah'", 16),
        (BOX, "unit: MB/s", "unit: GB/s", "acceptance test cpu-hash measures in another unit", 16),
        (BOX, "[general]", "[training]", "the workload 'training' has no acceptance test", 4),
        (BOX, "[general]", "[mining]", "no acceptance test is known for the workload 'mining'", 4),
        (BOX, "floor: 10", "floor: 0", "acceptance[0].floor is not valid", 16),
        (BOX, "floor: 10", "floor: -1", "acceptance[0].floor is not valid", 16),
        (BOX, "image:", "cabling: [{port: hots-0, to: leaf-1}]\nimage:", "cabling names a port that hardware.nics", 15),
        (BOX, "image:", "cabling: [{port: host-1, to: leaf-1}]\nimage:", "cabling names a port that hardware.nics", 15),
        (BOX, "image:", f"cabling: {TWICE}\nimage:", "the port host-0 is plugged into two places", 15),
        (BOX, "  nics:", "  alternates: {nic: [X]}\n  nics:", "alternates of 'nic', which is no section", 10),
        (BOX, "hardware:", f"software: {EXPORTER}\nhardware:\n  gpus: {AMD}", "dcgm_exporter tells of other GPUs", 5),
    ],
)
def test_what_no_single_file_can_know_is_refused_at_its_place(
    site: BrokenSite, file: str, old: str, new: str, what: str, line: int
) -> None:
    site.edit(file, old, new)
    found = [(error.what, error.where) for error in site.errors() if what in error.what]
    assert len(found) == 1
    assert found[0][1].startswith(f"{site.root}/{file}:{line}:")


def test_a_second_use_names_both_places(site: BrokenSite) -> None:
    site.edit(RACK, "serial: S-2", "serial: S-1")
    (error,) = site.errors()
    assert error.where == f"{site.root}/{RACK}:8:33"
    assert error.found == f"first used at {site.root}/{RACK}:7:33, for S-1 (n1)"


def test_one_uuid_in_two_byte_orders_is_one_uuid(site: BrokenSite) -> None:
    site.edit(RACK, "serial: S-1", "serial: S-1, uuid: 8953ba36-0857-4bca-a1f4-0a3ebf77ab8d")
    site.edit(RACK, "serial: S-2", "serial: S-2, uuid: 36ba5389-5708-ca4b-a1f4-0a3ebf77ab8d")
    assert "UUID" in site.only_error()[0]


def test_an_unknown_blueprint_is_told_with_the_nearest(site: BrokenSite) -> None:
    site.edit(RACK, "box@1.0.0}\n  - ", "box@1.0.1}\n  - ")
    (error,) = site.errors()
    assert error.what == "no blueprint box@1.0.1"
    assert error.hint == "did you mean 'box@1.0.0'?"


def test_a_blueprint_that_does_not_load_is_told_once(site: BrokenSite) -> None:
    site.edit(BOX, "schema: 1", "schema: 2")
    assert [error.where for error in site.errors()] == [f"{site.root}/{BOX}:1:9"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "schema: 1\nname: r1\nsite: s1\nnodes: []\n"])
def test_an_emptied_inventory_is_an_error(site: BrokenSite, text: str) -> None:
    site.write(RACK, text)
    assert len(site.errors()) == 1


def test_a_site_without_a_rack_is_an_error(site: BrokenSite) -> None:
    (site.root / RACK).unlink()
    assert site.only_error()[0] == "the inventory has no node"


def test_a_file_that_leads_out_of_the_repository_is_refused(
    site: BrokenSite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "r2.yaml"
    outside.write_text((site.root / RACK).read_text())
    (site.root / "inventory/racks/r2.yaml").symlink_to(outside)
    assert site.only_error() == ("the file lies outside of the site repository", "inventory/racks/r2.yaml")


def test_a_blueprint_lies_where_its_name_and_version_say(site: BrokenSite) -> None:
    (site.root / "blueprints/box/1.0.0.yaml").rename(site.root / "blueprints/box/1.0.1.yaml")
    whats = {error.what for error in site.errors()}
    assert "the file does not lie where its name and version say" in whats


def test_a_released_blueprint_never_changes(site: BrokenSite) -> None:
    release(site.root, ["box@1.0.0"])
    assert site.read().warnings == ()
    site.edit(BOX, "total_gib: 4", "total_gib: 8")
    what, where = site.only_error()
    assert (what, where) == ("the released blueprint box@1.0.0 was changed", BOX)


def test_a_released_blueprint_with_crlf_is_the_same(site: BrokenSite) -> None:
    release(site.root, ["box@1.0.0"])
    path = site.root / BOX
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert site.errors() == ()


def test_a_released_blueprint_that_is_gone_is_an_error(site: BrokenSite) -> None:
    site.write("blueprints/box/1.1.0.yaml", (site.root / BOX).read_text().replace("1.0.0", "1.1.0"))
    release(site.root, ["box@1.1.0"])
    (site.root / "blueprints/box/1.1.0.yaml").unlink()
    assert site.only_error()[0] == "the released blueprint box@1.1.0 is gone"


def test_a_release_is_never_replaced_unless_asked(site: BrokenSite) -> None:
    before = release(site.root, ["box@1.0.0"])
    site.edit(BOX, "total_gib: 4", "total_gib: 8")
    with pytest.raises(InvalidFilesError, match="was changed"):
        release(site.root, ["box@1.0.0"])
    assert release(site.root, ["box@1.0.0"], replace=True) != before
    assert site.errors() == ()


def test_an_unreleased_blueprint_in_use_is_a_warning(site: BrokenSite) -> None:
    (warning,) = site.read().warnings
    assert warning.hint == "metalwright blueprint release box@1.0.0"


def test_an_image_pin_must_equal_the_catalogue(site: BrokenSite) -> None:
    image = (
        '{"schema":1,"name":"img","version":"1.0","file":"f","format":"raw","file_sha256":"%s","file_size_bytes":1,'
        '"content_sha256":"%s","content_size_bytes":1}'
    )
    site.write("images/img/1.0/image.json", image % ("1" * 64, "3" * 64))
    assert site.errors() == ()
    site.write("images/img/1.0/image.json", image % ("2" * 64, "3" * 64))
    what, where = site.only_error()
    assert what == "box@1.0.0 pins another img 1.0 than the catalogue holds"
    assert where.startswith(f"{BOX}:15:")


def test_a_rack_that_loses_a_feed_is_told_in_watts(site: BrokenSite, warning_of: Callable[[], LoadingError]) -> None:
    site.edit(BOX, "max_w: 1000", "max_w: 2000")
    warning = warning_of()
    assert "not redundant" in warning.what
    assert (warning.expected, warning.found) == (
        "at most 2.9 kW with one feed lost",
        "4.0 kW at full load (5.9 kW with all feeds)",
    )


def test_a_rack_that_overloads_all_feeds_is_told(site: BrokenSite, warning_of: Callable[[], LoadingError]) -> None:
    site.edit(BOX, "max_w: 1000", "max_w: 3000")
    assert warning_of().what == "rack r1 can draw more than its feeds carry"


def test_the_example_site_is_valid_and_has_two_racks() -> None:
    reading = read_site(Path(__file__).parents[3])
    assert reading.errors == ()
    assert reading.repository is not None
    assert [rack.name for rack in reading.repository.racks] == ["gpu-a01", "gpu-a02"]
    assert reading.warnings == ()


def test_the_default_vlan_is_a_warning(site: BrokenSite) -> None:
    site.edit(NETWORKS, "vlan: 20", "vlan: 1")
    assert any("uses VLAN 1" in warning.what for warning in site.read().warnings)
