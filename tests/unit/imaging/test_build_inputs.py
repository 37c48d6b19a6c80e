"""Recipes and mirrors: what images and ramdisks are made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalwright.errors import ImageError, MetalwrightError
from metalwright.imaging.apt_sources import parse_index_targets
from metalwright.imaging.image_recipe import load_recipe

TEMPLATES = Path(__file__).parents[3] / "templates"
LISTING = """\
Debian|bookworm|http://mirror.test/debian/|main
Debian|bookworm-updates|http://mirror.test/debian/|main
Debian|bookworm|http://mirror.test/debian/|contrib
Debian|bookworm|http://mirror.test/debian/|non-free-firmware
Debian|bookworm-security|http://mirror.test/security/|main
Debian|trixie|http://mirror.test/debian/|main
Somebody|bookworm|http://other.test/|main
"""


def test_mirrors_are_those_of_this_machine_for_the_suite_and_nothing_else() -> None:
    assert parse_index_targets(LISTING, "bookworm") == (
        "deb http://mirror.test/debian/ bookworm main",
        "deb http://mirror.test/debian/ bookworm non-free-firmware",
        "deb http://mirror.test/debian/ bookworm-updates main",
        "deb http://mirror.test/security/ bookworm-security main",
    )
    assert parse_index_targets(LISTING, "sid") == ()


@pytest.mark.parametrize("name", ["debian-12", "debian-12-gpu"])
def test_shipped_recipes_load_and_can_be_configured_over_ssh(name: str) -> None:
    recipe = load_recipe(TEMPLATES, name)
    assert recipe.name == name
    assert {"openssh-server", "python3", "sudo", "chrony", "nftables", "ca-certificates"} <= set(recipe.packages)
    assert {"ssh.service", "systemd-networkd.service"} <= set(recipe.enable)


def test_unknown_recipe_names_those_that_are_there() -> None:
    with pytest.raises(ImageError) as caught:
        load_recipe(TEMPLATES, "debian-99")
    assert "debian-12, debian-12-gpu" in str(caught.value.expected)


@pytest.mark.parametrize("line", ["mask: ['a; rm -rf /']", "packages: ['python3 $(id)']", "kernels: {}"])
def test_recipe_with_what_is_no_name_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "image").mkdir()
    text = (
        "schema: 1\nname: x\nsuite: bookworm\nkernel: {package: linux-image-amd64, initramfs: true}\ncmdline: quiet\n"
    )
    key = line.partition(":")[0]
    text += line + "\n" + ("" if key == "packages" else "packages: [python3]\n")
    (tmp_path / "image/x.yaml").write_text(text)
    with pytest.raises(MetalwrightError, match=r"x\.yaml:6:"):
        load_recipe(tmp_path, "x")
