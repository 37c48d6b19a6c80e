"""The software phase and acceptance on a real system without internet: a second run changes nothing, drift is seen."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.lab.software_node import HTTP_PORT, REPOSITORY, STAMP, SoftwareNode

from metalwright.acceptance.expectations import expectations
from metalwright.acceptance.job import Job
from metalwright.acceptance.links import links
from metalwright.acceptance.run import AcceptanceResult, run_acceptance
from metalwright.cli.app import run as cli
from metalwright.errors import DeployError
from metalwright.imaging.memory_store import MemoryDeploymentStore
from metalwright.imaging.server import BootServer
from metalwright.loading import load_site
from metalwright.runner.pyinfra_process import PyinfraCall, PyinfraResult, preview_pyinfra, run_pyinfra

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(1800)]
HARDWARE = ("drives:system", "drives:data")
"""This machine has one drive for the two roles of its class: neither role may pass."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SoftwareNode]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METALWRIGHT_CACHE", str(REPOSITORY / ".cache"))
        node = SoftwareNode(tmp_path_factory.mktemp("software"))
        node.deploy_image()
        assert cli(["--site", str(node.site), "image", "packages"]) == 0
        with ServedSite(node), node.running():
            node.session().close()
            yield node


@pytest.fixture
def deployed(node: SoftwareNode) -> SoftwareNode:
    """The same node after the software phase, also where the test of the bare system did not run before."""
    if "containerd" not in node.run("apt-mark showhold"):
        deploy(node)
    return node


class ServedSite:
    """The boot server of the site, in a thread of its own."""

    def __init__(self, node: SoftwareNode) -> None:
        def refuse(*_: object) -> int:
            raise AssertionError("nothing is deployed here")

        self._server = BootServer(
            node.site / ".metalwright", MemoryDeploymentStore(), refuse, http_port=HTTP_PORT, https_port=0
        )
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._server.run(self._stop)))

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()


def deploy(node: SoftwareNode) -> PyinfraResult:
    log = node.directory / "pyinfra.log"
    return run_pyinfra(
        PyinfraCall(node.site, "inventory/nodes.py", "deploys/software.py", "lab-1", 900, environment={}, log=log)
    )


def preview(node: SoftwareNode) -> list[str]:
    """What a dry run of the same deploy says would change."""
    call = PyinfraCall(node.site, "inventory/nodes.py", "deploys/software.py", "lab-1", 900, environment={})
    return [line for item in preview_pyinfra(call) for line in item.lines or (item.operation,)]


def accept(node: SoftwareNode) -> AcceptanceResult:
    repository = load_site(node.site)
    declared, blueprint = repository.node("lab-1"), repository.blueprint_of("lab-1")
    where = links(blueprint, declared, repository.networks, repository.addresses.of_node("lab-1"))
    expected = expectations(blueprint, declared, site=repository.site, links=where, stamp=STAMP)
    return run_acceptance(Job(node.target, node.host_key, expected, node.key), node.directory / "evidence")


def failing(result: AcceptanceResult) -> dict[str, str]:
    return {test.name: test.why or "" for test in result.tests if test.verdict != "PASS" and test.name not in HARDWARE}


def test_a_bare_system_becomes_the_blueprints_and_stays_so(
    node: SoftwareNode, record_property: Callable[[str, object], None]
) -> None:
    assert "package:containerd" in failing(accept(node)), "nothing is installed yet"
    first = deploy(node)
    assert first.changed
    second = deploy(node)
    assert second.changed == ()
    result = accept(node)
    assert failing(result) == {}
    assert [test.verdict for test in result.tests if test.name in HARDWARE] == ["FAIL", "FAIL"]
    held = node.run("apt-mark showhold").split()
    assert [name for name in held if not name.startswith("linux-image-")] == ["containerd", "prometheus-node-exporter"]
    assert f"linux-image-{node.run('uname -r').strip()}" in held
    record_property(
        "note", f"software: first {first.seconds} s, second {second.seconds} s, acceptance {result.seconds} s"
    )


def test_drift_is_seen_and_mended(deployed: SoftwareNode) -> None:
    deployed.run("systemctl stop containerd; apt-mark unhold containerd; echo x >> /etc/ssh/authorized_keys.d/amina")
    deployed.run("nft flush ruleset")
    deployed.run("sed -i '1i PermitRootLogin yes' /etc/ssh/sshd_config.d/00-metalwright.conf; systemctl reload ssh")
    seen = failing(accept(deployed))
    drift = {"service:containerd", "package:containerd", "sshd:permitrootlogin", "user:amina", "firewall:input"}
    assert set(seen) == drift
    assert seen["service:containerd"].startswith("containerd.service: inactive/dead")
    told = preview(deployed)
    assert "package containerd: not on hold → on hold" in told
    assert "file /etc/ssh/authorized_keys.d/amina: other text → as rendered" in told
    assert "file /etc/ssh/sshd_config.d/00-metalwright.conf: other text → as rendered" in told
    assert "packets that no rule names: no rules are loaded → drop" in told
    assert any(line.startswith("service containerd.service: inactive/dead") for line in told)
    assert len(told) == 5, told
    assert set(failing(accept(deployed))) == drift, "a preview changes nothing"
    assert deploy(deployed).changed
    assert preview(deployed) == []
    assert failing(accept(deployed)) == {}
    assert deploy(deployed).changed == ()


def test_a_person_who_leaves_loses_the_key_and_one_who_comes_gets_in(deployed: SoftwareNode) -> None:
    deployed.set_people("bo")
    deploy(deployed)
    assert failing(accept(deployed)) == {}
    assert deployed.run("ls /etc/ssh/authorized_keys.d").split() == ["bo", "metalwright"]
    deployed.set_people("amina")
    deploy(deployed)


def test_another_package_manager_is_waited_for_and_its_locks_stay(deployed: SoftwareNode) -> None:
    deployed.run("apt-mark unhold prometheus-node-exporter; apt-get purge -qq -y prometheus-node-exporter")
    holder = (
        "import fcntl, time\n"
        "files = [open(path, 'w') for path in ('/var/lib/dpkg/lock-frontend', '/var/lib/apt/lists/lock')]\n"
        "[fcntl.lockf(file, fcntl.LOCK_EX) for file in files]\n"
        "time.sleep(30)\n"
    )
    deployed.run(f'setsid python3 -c "{holder}" </dev/null >/dev/null 2>&1 & sleep 3')
    before = time.monotonic()
    assert deploy(deployed).changed
    assert time.monotonic() - before > 15
    deployed.run("test -e /var/lib/dpkg/lock-frontend && test -e /var/lib/apt/lists/lock")
    assert failing(accept(deployed)) == {}


def test_a_service_that_dies_at_once_fails_the_phase(deployed: SoftwareNode) -> None:
    override = "/run/systemd/system/prometheus-node-exporter.service.d"
    settings = "[Service]\\nExecStart=\\nExecStart=/bin/false\\nRestart=no\\n"
    deployed.run(f"mkdir -p {override}; printf '{settings}' > {override}/dies.conf; systemctl daemon-reload")
    deployed.run("systemctl restart prometheus-node-exporter")
    with pytest.raises(DeployError) as caught:
        deploy(deployed)
    assert "prometheus-node-exporter.service does not run" in (deployed.directory / "pyinfra.log").read_text()
    assert caught.value.where == "lab-1"
    deployed.run(f"rm -r {override}; systemctl daemon-reload")
    deploy(deployed)


def test_another_system_at_the_address_is_left_alone(deployed: SoftwareNode, tmp_path: Path) -> None:
    stamp = STAMP.model_copy(update={"node": "lab-2"}).model_dump_json(by_alias=True)
    deployed.run(f"cp /etc/metalwright/stamp.json /root/; echo '{stamp}' > /etc/metalwright/stamp.json")
    deployed.run("rm /etc/chrony/chrony.conf")
    with pytest.raises(DeployError):
        deploy(deployed)
    deployed.run("test ! -e /etc/chrony/chrony.conf && mv /root/stamp.json /etc/metalwright/stamp.json")
    deploy(deployed)
