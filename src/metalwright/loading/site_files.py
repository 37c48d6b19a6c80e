"""The files of a site repository: where they lie, and all of them loaded with the errors collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from metalwright.errors import InvalidFilesError, LoadingError
from metalwright.loading.blueprint_lock import lock_path, read_blueprint_lock
from metalwright.loading.files import inside
from metalwright.loading.locks import read_addresses, read_known_good
from metalwright.loading.models import Loaded, load_model
from metalwright.model.addresses import AddressLock, KnownGoodLock
from metalwright.model.blueprint import Blueprint
from metalwright.model.firmware import FirmwareRelease
from metalwright.model.network import Networks
from metalwright.model.policies import Policies
from metalwright.model.rack import Rack
from metalwright.model.site import Site

SITE_TREES = ("inventory", "blueprints", "deploys", "templates")
"""The directories that a review reads."""

_M = TypeVar("_M", bound=BaseModel)
_T = TypeVar("_T")
_D = TypeVar("_D")


@dataclass(frozen=True)
class SitePaths:
    """Where things lie in a site repository. ``state`` is git-ignored, the rest is reviewed."""

    root: Path

    @property
    def site(self) -> Path:
        """``inventory/site.yaml``."""
        return self.root / "inventory" / "site.yaml"

    @property
    def networks(self) -> Path:
        """``inventory/networks.yaml``."""
        return self.root / "inventory" / "networks.yaml"

    @property
    def policies(self) -> Path:
        """``inventory/policies.yaml``, which a site may leave out."""
        return self.root / "inventory" / "policies.yaml"

    @property
    def racks(self) -> Path:
        """``inventory/racks``."""
        return self.root / "inventory" / "racks"

    @property
    def addresses(self) -> Path:
        """``inventory/addresses.lock``."""
        return self.root / "inventory" / "addresses.lock"

    @property
    def known_good(self) -> Path:
        """``inventory/known-good.lock``."""
        return self.root / "inventory" / "known-good.lock"

    @property
    def blueprints(self) -> Path:
        """``blueprints``."""
        return self.root / "blueprints"

    @property
    def templates(self) -> Path:
        """What is rendered onto nodes and servers."""
        return self.root / "templates"

    @property
    def firmware(self) -> Path:
        """``firmware``: the catalogue of approved images."""
        return self.root / "firmware"

    @property
    def firmware_files(self) -> Path:
        """``firmware/files``: the images themselves, git-ignored."""
        return self.firmware / "files"

    @property
    def images(self) -> Path:
        """``images``: the local catalogue, git-ignored."""
        return self.root / "images"

    @property
    def state(self) -> Path:
        """``.metalwright``: journal, locks, secrets, logs."""
        return self.root / ".metalwright"

    @property
    def known_hosts(self) -> Path:
        """The site's own known_hosts file, git-ignored."""
        return self.state / "known_hosts"

    def blueprint(self, ref: str) -> Path:
        """The file of ``name@version``."""
        name, _, version = ref.partition("@")
        return self.blueprints / name / f"{version}.yaml"

    def registry(self, name: str) -> Path:
        """The BIOS attribute registry of that name (``vendor/model-bios``)."""
        return self.blueprints / "registries" / f"{name}.json"


@dataclass
class SiteFiles:
    """Everything that could be loaded. ``errors`` are those of single files; a part that failed is ``None`` or absent.

    ``unreadable`` are the files behind the errors, so that a reference to one of them is not reported again.
    ``known_tests`` maps acceptance test to unit; ``None`` leaves test names unchecked.
    """

    paths: SitePaths
    site: Loaded[Site] | None = None
    networks: Loaded[Networks] | None = None
    policies: Loaded[Policies] | None = None
    racks: list[Loaded[Rack]] = field(default_factory=list)
    blueprints: dict[str, Loaded[Blueprint]] = field(default_factory=dict)
    firmware: list[Loaded[FirmwareRelease]] = field(default_factory=list)
    released: dict[str, str] = field(default_factory=dict)
    addresses: AddressLock = field(default_factory=AddressLock)
    known_good: KnownGoodLock = field(default_factory=KnownGoodLock)
    errors: list[LoadingError] = field(default_factory=list)
    unreadable: set[Path] = field(default_factory=set)
    read: int = 0
    known_tests: Mapping[str, str | None] | None = None


def linked_trees(root: Path) -> tuple[LoadingError, ...]:
    """The directories of a site that are links: a revision in git has the link, and not what it leads to."""
    return tuple(
        LoadingError(
            f"{name}/ is a link",
            where=str(root / name),
            expected="a directory of the site repository itself",
            found=f"a link to {(root / name).readlink()}",
            hint="git keeps the link and not the files: put them here, where they are reviewed",
        )
        for name in SITE_TREES
        if (root / name).is_symlink()
    )


def read_site_files(root: Path) -> SiteFiles:
    """Load every file of a site repository; never raises for what is in them.

    Raises:
        LoadingError: ``root`` is no site repository.
    """
    paths = SitePaths(root)
    if not paths.site.exists():
        raise LoadingError(
            "not a site repository",
            where=str(root),
            expected="a directory with inventory/site.yaml",
            found="none" if root.is_dir() else "no such directory",
            hint="name it with --site DIR or METALWRIGHT_SITE, or make one with `metalwright init DIR`",
        )
    reader = _Reader(SiteFiles(paths))
    reader.read_all()
    return reader.files


class _Reader:
    """Collects the errors of single files."""

    def __init__(self, files: SiteFiles) -> None:
        self.files = files
        self.root = files.paths.root

    def read_all(self) -> None:
        files, paths = self.files, self.files.paths
        files.site = self._model(paths.site, Site)
        files.networks = self._model(paths.networks, Networks)
        if paths.policies.exists() or paths.policies.is_symlink():
            files.policies = self._model(paths.policies, Policies)
        for path in self._listed(paths.racks, "*.yaml", "*.yml"):
            rack = self._model(path, Rack)
            if rack is not None:
                files.racks.append(rack)
        for path in self._listed(paths.blueprints, "*/*.yaml", "*/*.yml"):
            self._blueprint(path)
        for path in self._listed(paths.firmware, "*.yaml", "*.yml"):
            release = self._model(path, FirmwareRelease)
            if release is not None:
                files.firmware.append(release)
        files.released = self._guarded(lock_path(self.root), lambda: read_blueprint_lock(self.root), dict[str, str]())
        files.addresses = self._guarded(
            paths.addresses, lambda: read_addresses(paths.addresses, root=self.root), AddressLock()
        )
        files.known_good = self._guarded(
            paths.known_good, lambda: read_known_good(paths.known_good, root=self.root), KnownGoodLock()
        )

    def _listed(self, directory: Path, *patterns: str) -> list[Path]:
        found = self._guarded(directory, lambda: inside(directory, self.root), None)
        if found is None:
            return []
        paths = (path for pattern in patterns for path in found.glob(pattern))
        return sorted(path for path in paths if not path.name.startswith("."))

    def _blueprint(self, path: Path) -> None:
        blueprint = self._model(path, Blueprint)
        if blueprint is None:
            return
        ref = blueprint.model.ref
        if path != self.files.paths.blueprint(ref):
            self.files.errors.append(
                LoadingError(
                    "the file does not lie where its name and version say",
                    where=blueprint.where("name"),
                    expected=str(self.files.paths.blueprint(ref)),
                    found=str(path),
                    hint="move the file (git mv), or write the name and version of its place into it",
                )
            )
            self.files.unreadable.add(path)
            return
        self.files.blueprints[ref] = blueprint

    def _model(self, path: Path, model: type[_M]) -> Loaded[_M] | None:
        self.files.read += 1
        return self._guarded(path, lambda: load_model(path, model, root=self.root), None)

    def _guarded(self, path: Path, read: Callable[[], _T], default: _D) -> _T | _D:
        try:
            return read()
        except InvalidFilesError as error:
            self.files.errors.extend(error.errors)
        except LoadingError as error:
            self.files.errors.append(error)
        self.files.unreadable.add(path)
        return default
