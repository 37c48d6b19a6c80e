"""The people of the site, and how they get in: accounts, keys, sudo, sshd with keys only."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy
from pyinfra.operations import server

from metalwright.deploys.rendering import rendered_files
from metalwright.node_files import NO_TRUST, login_files, sshd_files
from metalwright.operations.access import people
from metalwright.operations.files import rendered


@deploy("Access", data_defaults={"admins": [], "ssh_trust": NO_TRUST})
def access() -> None:
    """Every person of ``admins`` logs in with their keys or certificates and uses sudo as declared, nobody else does.

    Accounts that metalwright made for people who are no longer declared are locked, and their sessions closed. visudo
    and sshd find the new files valid before these take the place of the old ones.
    """
    admins = host.data.admins
    people(
        name="Accounts",
        names=[admin["name"] for admin in admins],
        keep=[host.data.ssh_user],
        keyless=[admin["name"] for admin in admins if not admin["authorized_keys"]],
        principals=[admin["name"] for admin in admins if admin.get("principals")],
    )
    rendered(name="Keys and sudo", files=rendered_files(login_files(admins)))
    settings = rendered(name="sshd settings", files=rendered_files(sshd_files(host.data.ssh_trust)))
    server.shell(
        name="sshd reads its settings",
        commands=["sshd -t", "systemctl reload ssh.service"],
        _if=settings.did_change,
    )
