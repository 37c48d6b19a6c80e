"""The container runtime's configuration: judged by the real containerd where there is one, and images by digest."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from pyinfra.api.exceptions import FactProcessError
from tests.operations.in_band.stand_in import commands_of

from metalwright.deploys.rendering import rendered_files
from metalwright.facts.images import PulledImages
from metalwright.model.blueprint import ContainerRuntime
from metalwright.node_files import runtime_files
from metalwright.operations.images import pulled

IMAGE = "docker.io/library/busybox@sha256:" + "ab" * 32


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALWRIGHT_SITE", str(Path(__file__).parents[3]))


def files(gpu_runtime: str | None = None, **fields: Any) -> dict[str, str]:
    """Path → text."""
    runtime = ContainerRuntime.model_validate({"name": "containerd", "version": "1.6.20", **fields}).to_json()
    return {item["path"]: item["text"] for item in rendered_files(runtime_files(runtime, gpu_runtime))}


@pytest.mark.skipif(shutil.which("containerd") is None, reason="containerd is not installed")
@pytest.mark.parametrize("gpu_runtime", [None, "nvidia", "amd"])
def test_the_real_containerd_takes_the_configuration_over(gpu_runtime: str | None, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(files(gpu_runtime)["/etc/containerd/config.toml"])
    dump = ["containerd", "--config", str(tmp_path / "config.toml"), "config", "dump"]
    done = subprocess.run(dump, capture_output=True, text=True, check=True)
    cri = tomllib.loads(done.stdout)["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["registry"]["config_path"] == "/etc/containerd/certs.d"
    assert cri["containerd"]["runtimes"]["runc"]["options"]["SystemdCgroup"] is True
    assert set(cri["containerd"]["runtimes"]) == {"runc", *filter(None, [gpu_runtime])}
    if gpu_runtime:
        options = cri["containerd"]["runtimes"][gpu_runtime]["options"]
        assert options["BinaryName"] == f"/usr/bin/{gpu_runtime}-container-runtime"


@pytest.mark.parametrize(
    ("version", "format_version", "plugin", "has_cdi"),
    [
        ("1.6.20~ds1-1+deb12u3", 2, "io.containerd.grpc.v1.cri", False),
        ("1.7.28", 2, "io.containerd.grpc.v1.cri", True),
        ("2.1.4-1", 3, "io.containerd.cri.v1.runtime", True),
    ],
)
def test_each_major_version_gets_its_own_format(version: str, format_version: int, plugin: str, has_cdi: bool) -> None:
    found = tomllib.loads(files("nvidia", version=version)["/etc/containerd/config.toml"])
    assert found["version"] == format_version
    assert found["plugins"][plugin].get("enable_cdi", False) is has_cdi
    assert found["plugins"][plugin]["containerd"]["runtimes"]["nvidia"]["options"]["SystemdCgroup"] is True


def test_mirrors_are_asked_before_the_registry() -> None:
    mirrors = {"docker.io": ["https://m1.lab.test", "http://m2.lab.test:5000"], "ghcr.io": ["https://m1.lab.test"]}
    written = files(mirrors=mirrors)
    hub = tomllib.loads(written["/etc/containerd/certs.d/docker.io/hosts.toml"])
    assert hub["server"] == "https://registry-1.docker.io"
    assert list(hub["host"]) == mirrors["docker.io"]
    assert tomllib.loads(written["/etc/containerd/certs.d/ghcr.io/hosts.toml"])["server"] == "https://ghcr.io"


def test_docker_uses_systemds_cgroups_its_mirror_and_the_gpu_runtime() -> None:
    mirrors = {"docker.io": ["https://m1.lab.test"]}
    (text,) = files("nvidia", name="docker", version="26.1.5", mirrors=mirrors).values()
    found = json.loads(text)
    assert found["exec-opts"] == ["native.cgroupdriver=systemd"]
    assert found["registry-mirrors"] == ["https://m1.lab.test"]
    assert found["runtimes"]["nvidia"]["path"] == "/usr/bin/nvidia-container-runtime"
    assert json.loads(files(name="docker", version="20.10.24")["/etc/docker/daemon.json"])["runtimes"] == {}


def test_mirrors_that_docker_would_ignore_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"not of ghcr\.io"):
        ContainerRuntime.model_validate({"name": "docker", "version": "1", "mirrors": {"ghcr.io": ["https://m"]}})


def test_an_image_without_a_digest_is_refused() -> None:
    with pytest.raises(ValidationError):
        ContainerRuntime.model_validate(
            {"name": "containerd", "version": "1", "images": ["docker.io/library/a:latest"]}
        )


def test_only_images_that_are_missing_are_pulled() -> None:
    (command,), _ = commands_of(pulled, {"PulledImages": ()}, runtime="containerd", images=[IMAGE])
    assert command == (f"ctr --namespace k8s.io images pull --hosts-dir /etc/containerd/certs.d {IMAGE} > /dev/null")
    assert commands_of(pulled, {"PulledImages": (IMAGE,)}, runtime="docker", images=[IMAGE])[0] == []
    assert commands_of(pulled, {}, runtime="docker", images=[])[0] == []


def test_names_of_both_runtimes_are_compared_in_full() -> None:
    lines = ["image:busybox@sha256:1", "image:team/a@sha256:2", f"image:{IMAGE}", "image:a:latest", "images-end"]
    found = PulledImages().process(lines)
    assert found == ("docker.io/library/busybox@sha256:1", "docker.io/team/a@sha256:2", IMAGE)
    with pytest.raises(FactProcessError):
        PulledImages().process(["ctr: failed to dial"])
