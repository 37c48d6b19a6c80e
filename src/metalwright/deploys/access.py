"""The people of the site, and how they get in: accounts, keys, sudo, sshd with keys only."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy
from pyinfra.operations import server

from metalwright.deploys.rendering import node_file
from metalwright.facts.system import KEYS_DIRECTORY
from metalwright.operations.access import people
from metalwright.operations.files import rendered


@deploy("Access", data_defaults={"admins": []})
def access() -> None:
    """Every person of ``admins`` logs in with their keys and uses sudo; keys of everybody else are removed.

    sshd takes its settings up only when it finds the whole configuration valid.
    """
    admins = host.data.admins
    people(name="Accounts", names=[admin["name"] for admin in admins], keep=[host.data.ssh_user])
    rendered(name="Keys and sudo", files=_login_files(admins))
    settings = rendered(
        name="sshd settings", files=[node_file("sshd.conf.j2", "/etc/ssh/sshd_config.d/00-metalwright.conf")]
    )
    server.shell(
        name="sshd reads its settings",
        commands=["sshd -t", "systemctl reload ssh.service"],
        _if=settings.did_change,
    )


def _login_files(admins: list[dict[str, str]]) -> list[dict[str, str]]:
    keys = [
        node_file("authorized_keys.j2", f"{KEYS_DIRECTORY}/{admin['name']}", keys=admin["authorized_keys"])
        for admin in admins
    ]
    return [*keys, node_file("sudoers.j2", "/etc/sudoers.d/metalwright-admins", mode="440", admins=admins)]
