"""The people of the site, and how they get in: accounts, keys, sudo, sshd with keys only."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy
from pyinfra.operations import server

from metalwright.deploys.rendering import rendered_files
from metalwright.node_files import login_files, sshd_files
from metalwright.operations.access import people
from metalwright.operations.files import rendered


@deploy("Access", data_defaults={"admins": []})
def access() -> None:
    """Every person of ``admins`` logs in with their keys and uses sudo; keys of everybody else are removed.

    sshd takes its settings up only when it finds the whole configuration valid.
    """
    admins = host.data.admins
    people(name="Accounts", names=[admin["name"] for admin in admins], keep=[host.data.ssh_user])
    rendered(name="Keys and sudo", files=rendered_files(login_files(admins)))
    settings = rendered(name="sshd settings", files=rendered_files(sshd_files()))
    server.shell(
        name="sshd reads its settings",
        commands=["sshd -t", "systemctl reload ssh.service"],
        _if=settings.did_change,
    )
