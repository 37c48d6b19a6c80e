"""Which Debian version is the pinned one."""

from __future__ import annotations

import pytest
from tests.desired import blueprint

from metalwright.model.package import PackagePin, package_pins, upstream_versions


@pytest.mark.parametrize(
    ("debian", "upstream"),
    [
        ("1.6.20~ds1-1+deb12u3", ("1.6.20~ds1", "1.6.20")),
        ("1.5.0-1+b6", ("1.5.0",)),
        ("1:9.2p1-2+deb12u10", ("9.2p1",)),
        ("2.0", ("2.0",)),
        ("3.1.4+dfsg-2", ("3.1.4+dfsg", "3.1.4")),
        ("3.1.4+dfsg1.2-2", ("3.1.4+dfsg1.2", "3.1.4")),
        ("1.2-3-4", ("1.2-3",)),
        ("1.6.20-0ubuntu1~22.04.1", ("1.6.20",)),
    ],
)
def test_the_upstream_version_is_read_out_of_a_debian_version(debian: str, upstream: tuple[str, ...]) -> None:
    assert upstream_versions(debian) == upstream


@pytest.mark.parametrize("version", ["1.6.20", "1.6.20~ds1", "1.6.20~ds1-1+deb12u3"])
def test_a_pin_is_met_by_upstream_or_whole_version(version: str) -> None:
    assert PackagePin(name="containerd", version=version, unit="u").is_met_by("1.6.20~ds1-1+deb12u3")


@pytest.mark.parametrize("version", ["1.6.2", "1.6", "1.6.20.1", "1.6.20~ds1-1", "1.6.20~ds1-1+deb12u2", "1.6.21"])
def test_a_pin_is_not_met_by_a_neighbour(version: str) -> None:
    assert not PackagePin(name="containerd", version=version, unit="u").is_met_by("1.6.20~ds1-1+deb12u3")


def test_the_newest_candidate_of_the_pinned_version_is_taken() -> None:
    pin = PackagePin(name="containerd", version="1.6.20", unit="u")
    candidates = ("1.7.1-1", "1.6.20~ds1-1+deb12u3", "1.6.20~ds1-1+deb12u2")
    assert pin.best_of(candidates) == "1.6.20~ds1-1+deb12u3"
    assert pin.best_of(("1.7.1-1",)) is None


def test_a_blueprint_pins_runtime_and_agents() -> None:
    pins = package_pins(blueprint().software)
    assert [(pin.name, pin.version, pin.port) for pin in pins] == [
        ("containerd", "1.6.20", None),
        ("prometheus-node-exporter", "1.5.0", 9100),
    ]
    assert package_pins(blueprint(software={}).software) == ()
