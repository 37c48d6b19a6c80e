"""A package mirror holds the pinned packages and what they need, signed, and needs its sources once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.desired import blueprint

from metalwright.errors import ImageError
from metalwright.imaging.package_signing import PackageKey, site_package_key
from metalwright.imaging.packages import FetchedPackages, fetch_packages, mirror_path, read_public_key, write_mirror
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


def fetch(source: str, cache: Path, pin: PackagePin = PIN, installed: dict[str, str] | None = None) -> FetchedPackages:
    return fetch_packages([pin], cache, sources=[source], installed=installed)


def signed_source(mirror: Path, key: PackageKey) -> str:
    path = mirror.parent / f"{key.key_id}.asc"
    path.write_text(key.public)
    return f"deb [signed-by={path}] file:{mirror} ./"


@pytest.fixture
def mirror(source: str, key: PackageKey, tmp_path: Path) -> Path:
    write_mirror(fetch(source, tmp_path / "cache"), tmp_path / "mirror", key)
    return tmp_path / "mirror"


def test_the_pinned_version_and_what_the_image_lacks_are_fetched(source: str, tmp_path: Path) -> None:
    found = fetch(source, tmp_path / "cache", installed={"library": "2-1", "unknown": "1"})
    assert found.versions == {"server": "1.6.20~ds1-1"}
    assert debs(found.directory) == ["runner", "server"]


def test_without_knowledge_of_the_image_every_dependency_is_fetched(source: str, tmp_path: Path) -> None:
    assert debs(fetch(source, tmp_path / "cache").directory) == ["library", "runner", "server"]


def test_what_is_in_the_cache_needs_no_source_any_more(source: str, tmp_path: Path) -> None:
    first = fetch(source, tmp_path / "cache")
    assert fetch("deb file:/nowhere ./", tmp_path / "cache") == first


def test_another_pin_is_fetched_beside_the_first(source: str, tmp_path: Path) -> None:
    first = fetch(source, tmp_path / "cache")
    newer = fetch(source, tmp_path / "cache", PIN.model_copy(update={"version": "1.7.0"}))
    assert newer.versions == {"server": "1.7.0-1"}
    assert (debs(newer.directory), debs(first.directory)) == (["library", "server"], ["library", "runner", "server"])


def test_a_version_that_is_not_to_be_had_leaves_nothing_behind(source: str, tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"offers server 9\.9") as caught:
        fetch(source, tmp_path / "cache", PIN.model_copy(update={"version": "9.9"}))
    assert caught.value.found == "1.7.0-1, 1.6.20~ds1-1"
    assert list((tmp_path / "cache").iterdir()) == []


def test_apt_accepts_the_mirror_by_its_key_and_by_no_other(mirror: Path, key: PackageKey, tmp_path: Path) -> None:
    assert fetch(signed_source(mirror, key), tmp_path / "a").versions == {"server": "1.6.20~ds1-1"}
    with pytest.raises(ImageError, match="apt-get failed"):
        fetch(signed_source(mirror, site_package_key(tmp_path / "other")), tmp_path / "b")


def test_a_changed_index_is_refused(mirror: Path, key: PackageKey, tmp_path: Path) -> None:
    (mirror / "Packages").write_text((mirror / "Packages").read_text().replace("1.6.20", "1.6.21"))
    (mirror / "Packages.gz").unlink()
    with pytest.raises(ImageError, match=r"mismatch|no version at all"):
        fetch(signed_source(mirror, key), tmp_path / "a")


def test_a_mirror_is_written_once_and_again_for_another_key(
    mirror: Path, source: str, key: PackageKey, tmp_path: Path
) -> None:
    before = (mirror / "InRelease").stat()
    write_mirror(fetch(source, tmp_path / "cache"), mirror, key)
    assert (mirror / "InRelease").stat() == before
    other = site_package_key(tmp_path / "other")
    write_mirror(fetch(source, tmp_path / "cache"), mirror, other)
    assert read_public_key(mirror) == other.public
    assert debs(mirror) == ["library", "runner", "server"]


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
