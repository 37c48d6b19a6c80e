"""Settings that cut a node off are taken back by the node: real nftables, systemd-networkd, timers and boots."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tests.failures.machine_site import bare_node
from tests.machines import Machine, can_run_machines
from tests.machines.site import MachineSite
from tests.operations.in_band.stand_in import commands_of, run_function

from metalwright.errors import DeployError
from metalwright.operations import networks, trial

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not can_run_machines(), reason="machines of namespaces need root, systemd and sshd"),
]
LINK = "/etc/systemd/network/10-host.network"
QUICK = ("--data", "trial_limit_s=6")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineSite]:
    """A deployed node."""
    with bare_node(tmp_path_factory.mktemp("trials")) as made:
        done = made.deploy("software")
        assert done.code == 0, done.text
        assert {"Network settings", "Firewall rules"} <= done.changed
        yield made


@pytest.fixture
def node(site: MachineSite) -> Machine:
    """The one machine."""
    return site.machines["lab-1"]


def nothing_on_trial(node: Machine) -> bool:
    """Neither kept state nor a timer."""
    return (
        node.run("ls /var/lib/metalwright/trials; systemctl list-timers --all | grep restore", check=False).stdout == ""
    )


def test_the_blueprints_network_is_in_force_and_proven(site: MachineSite, node: Machine) -> None:
    state = node.run("networkctl status host0 --no-pager").stdout
    assert LINK in state
    assert "routable (configured)" in state
    assert f"Address: {node.address}" in state
    assert nothing_on_trial(node)
    assert site.deploy("software").changed == set()


def test_a_key_that_git_does_not_name_opens_nothing(site: MachineSite, node: Machine) -> None:
    """Not in a home directory either, where a person could have left one."""
    node.run("mkdir -p ~metalwright/.ssh; mv /etc/ssh/authorized_keys.d/metalwright ~metalwright/.ssh/authorized_keys")
    try:
        done = site.deploy("software")
    finally:
        node.run("mv ~metalwright/.ssh/authorized_keys /etc/ssh/authorized_keys.d/metalwright")
    assert done.code != 0
    assert "Authentication error" in done.text


def test_a_change_that_keeps_the_node_reachable_stays(site: MachineSite, node: Machine) -> None:
    template = site.root / "templates/seed/link.network.j2"
    kept = template.read_text()
    template.write_text(kept.replace("[Link]", "[Link]\nMTUBytes=1400"))
    node.run("printf '[NetDev]\\nName=old0\\nKind=bridge\\n' > /etc/systemd/network/11-old0.netdev; networkctl reload")
    try:
        done = site.deploy("software", *QUICK)
        assert (done.code, done.changed) == (0, {"Network settings"}), done.text
        assert node.run("cat /sys/class/net/host0/mtu").stdout == "1400\n"
        assert node.run("ls /etc/systemd/network /sys/class/net").stdout.count("old0") == 0
        assert nothing_on_trial(node)
    finally:
        template.write_text(kept)
        site.deploy("software", *QUICK)


def test_networks_that_cut_the_node_off_are_taken_back(site: MachineSite, node: Machine) -> None:
    template = site.root / "templates/seed/link.network.j2"
    kept, before = template.read_text(), node.run(f"cat {LINK}").stdout
    template.write_text("[Match]\nPermanentMACAddress={{ macs | join(' ') }}\n\n[Network]\nAddress=10.99.0.9/24\n")
    try:
        done = site.deploy("software", *QUICK)
    finally:
        template.write_text(kept)
    assert done.code != 0
    assert "the new settings (networks) cut the node off" in done.text
    assert "has put back what was there before" in done.text
    assert "Traceback" not in done.text
    assert node.run(f"cat {LINK}").stdout == before
    assert nothing_on_trial(node)
    assert site.deploy("software", *QUICK).changed == set()


def test_a_firewall_that_cuts_the_node_off_is_taken_back(site: MachineSite, node: Machine) -> None:
    template = site.root / "templates/node/nftables.conf.j2"
    kept, before = template.read_text(), node.run("nft list ruleset").stdout
    template.write_text(kept.replace("ct state established,related accept", "").replace("tcp dport", "udp dport"))
    try:
        done = site.deploy("software", *QUICK)
    finally:
        template.write_text(kept)
    assert done.code != 0
    assert "the new settings (firewall) cut the node off" in done.text
    assert node.run("nft list ruleset").stdout == before
    assert site.deploy("software", *QUICK).changed == set()


def test_a_loss_of_power_before_the_proof_ends_at_the_next_boot(site: MachineSite, node: Machine) -> None:
    """The run is cut in the middle: settings are written, no proof came, no timer survives."""
    before = node.run(f"cat {LINK}").stdout
    arm = trial._arm("networks", [LINK, "/etc/systemd/network/12-new.network"], [networks.RELOAD], 3600)
    node.run(arm)
    node.run(f"echo broken > {LINK}; echo new > /etc/systemd/network/12-new.network; sync")
    node.power_off()
    node.boot()
    assert node.run(f"cat {LINK}").stdout == before
    assert node.run("test -e /etc/systemd/network/12-new.network", check=False).returncode != 0
    assert nothing_on_trial(node)
    deadline = time.monotonic() + 20
    while (done := site.deploy("software", *QUICK)).code != 0 and time.monotonic() < deadline:
        time.sleep(1)
    assert done.code == 0, done.text


def test_an_older_trial_that_was_left_unproven_is_proven_by_the_next_run(site: MachineSite, node: Machine) -> None:
    node.run(trial._arm("networks", [LINK], [networks.RELOAD], 3600))
    done = site.deploy("software", *QUICK)
    assert (done.code, done.changed) == (0, {"Network settings"}), done.text
    assert nothing_on_trial(node)


def test_a_node_whose_networks_are_not_known_fails_before_anything_is_changed() -> None:
    (command,), _ = commands_of(networks.known, {}, is_known=False)
    with pytest.raises(DeployError, match="no address on a network"):
        run_function(command, {})
