"""A package mirror holds the pinned packages and what they need, signed, and needs its sources once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.desired import blueprint

from metalwright.errors import ImageError
from metalwright.imaging.package_signing import PackageKey, site_package_key
from metalwright.imaging.packages import fetch_packages, mirror_path, read_public_key
from metalwright.model.package import PackagePin

TOOLS = ("apt-get", "dpkg-deb", "dpkg-scanpackages", "gpg", "gpgv")
pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in TOOLS), reason="needs Debian's package tools and gpg"
)
PIN = PackagePin(name="server", version="1.6.20", unit="server.service")


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> PackageKey:
    return site_package_key(tmp_path_factory.mktemp("state"))


@pytest.fixture
def source(tmp_path: Path) -> str:
    """A source of three packages: server in two versions, which needs library, which the image has."""
    pool = tmp_path / "pool"
    pool.mkdir()
    for name, version, needs in (
        ("server", "1.6.20~ds1-1", "library, runner"),
        ("server", "1.7.0-1", "library"),
        ("runner", "1.1-1", ""),
        ("library", "2-1", ""),
    ):
        build_package(pool, name, version, needs)
    index = subprocess.run(["dpkg-scanpackages", "--multiversion", "."], cwd=pool, capture_output=True, check=True)
    (pool / "Packages").write_bytes(index.stdout)
    return f"deb [trusted=yes] file:{pool} ./"


def build_package(pool: Path, name: str, version: str, needs: str) -> None:
    root = pool / f".{name}"
    shutil.rmtree(root, ignore_errors=True)
    (root / "DEBIAN").mkdir(parents=True)
    depends = f"Depends: {needs}\n" if needs else ""
    (root / "DEBIAN" / "control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: x <x@x>\n{depends}Description: x\n"
    )
    argv = ["dpkg-deb", "--root-owner-group", "--build", str(root), str(pool / f"{name}_{version}_amd64.deb")]
    subprocess.run(argv, capture_output=True, check=True)
    shutil.rmtree(root)


def debs(directory: Path) -> list[str]:
    return sorted(path.name.partition("_")[0] for path in directory.glob("*.deb"))


def test_the_mirror_holds_the_pinned_version_and_what_the_image_lacks(
    source: str, key: PackageKey, tmp_path: Path
) -> None:
    mirror = fetch_packages([PIN], tmp_path / "m", sources=[source], key=key, installed={"library": "2-1", "x": "1"})
    assert mirror.versions == {"server": "1.6.20~ds1-1"}
    assert debs(tmp_path / "m") == ["runner", "server"]
    assert read_public_key(tmp_path / "m") == key.public


def test_without_knowledge_of_the_image_every_dependency_comes_along(
    source: str, key: PackageKey, tmp_path: Path
) -> None:
    fetch_packages([PIN], tmp_path / "m", sources=[source], key=key)
    assert debs(tmp_path / "m") == ["library", "runner", "server"]


def test_apt_accepts_the_mirror_by_its_key_and_by_no_other(source: str, key: PackageKey, tmp_path: Path) -> None:
    mirror = fetch_packages([PIN], tmp_path / "m", sources=[source], key=key).directory
    (tmp_path / "key.asc").write_text(key.public)
    again = fetch_packages(
        [PIN], tmp_path / "n", sources=[f"deb [signed-by={tmp_path}/key.asc] file:{mirror} ./"], key=key
    )
    assert again.versions == mirror_versions(mirror)
    (tmp_path / "key.asc").write_text(site_package_key(tmp_path / "other").public)
    with pytest.raises(ImageError, match="apt-get failed"):
        fetch_packages([PIN], tmp_path / "o", sources=[f"deb [signed-by={tmp_path}/key.asc] file:{mirror} ./"], key=key)


def mirror_versions(directory: Path) -> dict[str, str]:
    text = (directory / "Packages").read_text()
    stanzas = [dict(line.partition(": ")[::2] for line in part.splitlines()) for part in text.split("\n\n") if part]
    return {item["Package"]: item["Version"] for item in stanzas if item.get("Package") == "server"}


def test_a_changed_index_is_refused(source: str, key: PackageKey, tmp_path: Path) -> None:
    mirror = fetch_packages([PIN], tmp_path / "m", sources=[source], key=key).directory
    (tmp_path / "key.asc").write_text(key.public)
    (mirror / "Packages").write_text((mirror / "Packages").read_text().replace("1.6.20", "1.6.21"))
    (mirror / "Packages.gz").unlink()
    with pytest.raises(ImageError, match=r"mismatch|no version at all"):
        fetch_packages([PIN], tmp_path / "o", sources=[f"deb [signed-by={tmp_path}/key.asc] file:{mirror} ./"], key=key)


def test_a_complete_mirror_needs_no_source_any_more(source: str, key: PackageKey, tmp_path: Path) -> None:
    first = fetch_packages([PIN], tmp_path / "m", sources=[source], key=key)
    assert fetch_packages([PIN], tmp_path / "m", sources=["deb file:/nowhere ./"], key=key) == first


def test_another_pin_makes_the_mirror_anew(source: str, key: PackageKey, tmp_path: Path) -> None:
    fetch_packages([PIN], tmp_path / "m", sources=[source], key=key)
    newer = PIN.model_copy(update={"version": "1.7.0"})
    assert fetch_packages([newer], tmp_path / "m", sources=[source], key=key).versions == {"server": "1.7.0-1"}
    assert debs(tmp_path / "m") == ["library", "server"]


def test_a_version_that_is_not_to_be_had_leaves_the_old_mirror(source: str, key: PackageKey, tmp_path: Path) -> None:
    fetch_packages([PIN], tmp_path / "m", sources=[source], key=key)
    with pytest.raises(ImageError, match=r"offers server 9\.9") as caught:
        fetch_packages([PIN.model_copy(update={"version": "9.9"})], tmp_path / "m", sources=[source], key=key)
    assert caught.value.found == "1.7.0-1, 1.6.20~ds1-1"
    assert debs(tmp_path / "m") == ["library", "runner", "server"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "pool"]


def test_the_signing_key_is_made_once_and_kept_private(tmp_path: Path) -> None:
    first, second = site_package_key(tmp_path / "state"), site_package_key(tmp_path / "state")
    assert first.key_id == second.key_id
    assert (tmp_path / "state" / "packages.key").stat().st_mode & 0o777 == 0o600
    assert "PRIVATE" not in repr(first)
    assert "PRIVATE" not in first.public


def test_a_mirror_has_one_place_a_blueprint_version() -> None:
    assert mirror_path(blueprint()) == "packages/lab-vm/1.0.0"


def test_what_is_no_mirror_has_no_key(tmp_path: Path) -> None:
    assert read_public_key(tmp_path) is None
