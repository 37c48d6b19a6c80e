"""What makes an image this node: rendered files for names, static addresses, login and sudo.

The agent writes them into the fresh root file system. Nothing in them is secret: public keys and addresses only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from metalwright.model.agent_protocol import Seed, SeedFile
from metalwright.model.repository import SiteRepository
from metalwright.node_files import NodeFile
from metalwright.node_networks import network_files
from metalwright.templates import render

CLOUD_INIT_OFF = "/etc/cloud/cloud-init.disabled"
"""Where this file is, cloud-init does nothing: no second first boot, no new host keys, no addresses of its own."""


def render_seed(templates: Path, repository: SiteRepository, node_name: str, login_keys: Sequence[str]) -> Seed:
    """The seed of one node. ``templates`` is the site's ``templates/``; ``login_keys`` are public SSH keys.

    Raises:
        LoadingError: a template is missing or broken.
        ImageError: the node has no address on a network that it needs.
    """
    site, node = repository.site, repository.node(node_name)
    networks = network_files(repository, node_name)
    renderer = _Renderer(templates)
    user = site.ssh.user
    login = (
        renderer.file("sysusers.conf.j2", "/etc/sysusers.d/metalwright.conf", user=user),
        renderer.file("tmpfiles.conf.j2", "/etc/tmpfiles.d/metalwright.conf", user=user),
        renderer.file("sudoers.j2", "/etc/sudoers.d/metalwright", file_mode="0440", user=user),
        renderer.file("sshd.conf.j2", "/etc/ssh/sshd_config.d/00-metalwright.conf"),
        SeedFile(path=f"/etc/ssh/authorized_keys.d/{user}", text="".join(f"{key.strip()}\n" for key in login_keys)),
        renderer.file("resolv.conf.j2", "/etc/resolv.conf", dns=site.dns, domain=site.domain),
        SeedFile(path=CLOUD_INIT_OFF, text="metalwright has configured this system.\n"),
    )
    return Seed(
        hostname=node.name,
        fqdn=f"{node.name}.{site.domain}",
        files=(
            *login,
            *(renderer.file(file.template, file.path, file_mode=f"0{file.mode}", **file.values) for file in networks),
        ),
    )


@dataclass(frozen=True)
class _Renderer:
    templates: Path

    def node_file(self, file: NodeFile) -> SeedFile:
        return self.file(file.template, file.path, file_mode=f"0{file.mode}", **file.values)

    def file(self, template: str, path: str, *, file_mode: str = "0644", **values: object) -> SeedFile:
        return SeedFile(path=path, mode=file_mode, text=render(self.templates, f"seed/{template}", values))
