"""Known failures of driver stacks, refused in the blueprint by the real command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metalwright.cli.app import run

H100 = "vendor: nvidia, driver: 580.95.05, fabric_manager: true, container_toolkit: 1.18.0"


@pytest.fixture(scope="module")
def new_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("drivers") / "site"
    assert run(["init", str(root)]) == 0
    return root


@pytest.fixture
def site(new_site: Path, tmp_path: Path) -> Path:
    shutil.copytree(new_site, tmp_path / "site")
    return tmp_path / "site"


def checked(site: Path, capsys: pytest.CaptureFixture[str], *changes: tuple[str, str]) -> tuple[int, str]:
    """What ``check`` says of a new version of the H100 blueprint with these changes."""
    text = (site / "blueprints/gpu-h100-8x/1.0.0.yaml").read_text()
    for old, new in (("version: 1.0.0", "version: 1.1.0"), *changes):
        assert old in text
        text = text.replace(old, new, 1)
    (site / "blueprints/gpu-h100-8x/1.1.0.yaml").write_text(text)
    capsys.readouterr()
    code = run(["--site", str(site), "check"])
    return code, capsys.readouterr().out.replace(f"{site}/", "")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("version: 1.7.28", "version: 1.6.20"), "this containerd cannot give containers devices by CDI"),
        (("container_toolkit: 1.18.0", "container_toolkit: 1.11.0"), "cannot write CDI specifications"),
    ],
)
def test_dr_02_containers_get_their_gpus_by_cdi_alone(
    site: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], told: str
) -> None:
    """Gives GPUs to containers by CDI, which a reload does not touch, and refuses programs that are too old for it.

    Acceptance runs no container of its own.
    """
    code, out = checked(site, capsys, change)
    assert (code, told in out) == (2, True), out


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ((H100, H100.replace("fabric_manager: true, ", "")), "8 × H100 SXM has an NVSwitch"),
        (("model: H100 SXM 80GB", "model: H100 PCIe 80GB"), "8 × H100 PCIe has no NVSwitch"),
    ],
)
def test_dr_03_a_fabric_manager_stands_exactly_where_the_board_has_an_nvswitch(
    site: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], told: str
) -> None:
    """Refuses a blueprint whose fabric manager does not fit its board; installs it at the driver's own version."""
    code, out = checked(site, capsys, change, ("power_cap_w: 700", "power_cap_w: 350"))
    assert (code, told in out) == (2, True), out
    assert "error: blueprints/gpu-h100-8x/1.1.0.yaml:" in out


def test_dr_05_secure_boot_with_modules_that_nobody_signed_is_refused(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refuses Secure Boot in the blueprint, since modules are built on the node and nobody signs them."""
    code, out = checked(site, capsys, ("secure_boot: false", "secure_boot: true"))
    assert (code, "under Secure Boot the kernel refuses the driver's module" in out) == (2, True), out


@pytest.mark.parametrize(
    ("stack", "told"),
    [
        (H100, "need the NVLink subnet manager"),
        (f"{H100}, subnet_manager: 2025.06.11, kernel_modules: proprietary", "works with other kernel modules"),
        (H100.replace("580.95.05", "570.124.06") + ", subnet_manager: 2025.06.11", "does not know the B200 SXM"),
    ],
)
def test_dr_08_a_recipe_of_an_older_board_is_refused_for_a_newer_one(
    site: Path, capsys: pytest.CaptureFixture[str], stack: str, told: str
) -> None:
    """Knows what each board needs beyond the driver and refuses what is missing, too old or of the wrong kind."""
    code, out = checked(site, capsys, ("model: H100 SXM 80GB", "model: B200 SXM 180GB"), (H100, stack))
    assert (code, told in out) == (2, True), out


def test_dr_08_a_board_that_nobody_listed_is_refused_until_the_blueprint_says_what_it_needs(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unlisted board is an error; it becomes a warning when the blueprint names the kernel modules itself."""
    unlisted = ("model: H100 SXM 80GB", "model: X9000 SXM")
    code, out = checked(site, capsys, unlisted)
    assert (code, "unknown: no row of the compatibility table names this GPU" in out) == (2, True), out
    assert "blueprints/gpu-h100-8x/1.1.0.yaml:22:43" in out
    code, out = checked(site, capsys, unlisted, (H100, f"{H100}, kernel_modules: open"))
    assert (code, "warning: blueprints/gpu-h100-8x/1.1.0.yaml:22:43: unknown" in out) == (0, True), out
