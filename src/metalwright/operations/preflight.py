"""Is it the right system, and may we change it? Asked before anything is changed."""

from __future__ import annotations

from pyinfra import host

from metalwright.errors import DeployError
from metalwright.facts.system import RootAccess, System
from metalwright.model.image import STAMP_PATH, WITHOUT_APT
from metalwright.operations.failure import Commands, answer, failure, node_operation


@node_operation
def deployed_node(node: str, image_os: str = "debian-12") -> Commands:
    """Root access, the stamp of ``node``, and a system of apt; else the host fails and nothing is changed.

    sudo is asked first, and without pyinfra's own sudo: that one would ask a person for a password.
    """
    if image_os in WITHOUT_APT:
        yield failure(_without_apt(node, image_os))
        return
    refusal = answer(RootAccess, _sudo=False)
    if refusal is not None:
        yield failure(_no_root(node, refusal))
        return
    system = answer(System)
    stamp = system["stamp"]
    if system["uid"] != 0:
        yield failure(_no_root(node, f"user id {system['uid']}"))
    elif stamp is None or stamp.get("node") != node:
        yield failure(
            DeployError(
                "this is not the system that was deployed as this node",
                where=node,
                expected=f"a stamp of {node} in {STAMP_PATH}",
                found=f"a stamp of {stamp.get('node')}" if stamp else "no stamp",
                hint=f"`metalwright provision {node}` installs it; nothing was changed",
            )
        )
    else:
        host.noop(f"{node} is the deployed system and commands run as root")


def _without_apt(node: str, image_os: str) -> DeployError:
    return DeployError(
        f"the software phase cannot be applied to {image_os}",
        where=node,
        expected="an image of Debian or Ubuntu: packages, pins and patches are apt's",
        found=f"image.os: {image_os}",
        hint="docs/how-to/operating-system.md says what would have to be written for it. Nothing was changed",
    )


def _no_root(node: str, found: str) -> DeployError:
    return DeployError(
        "commands do not run as root",
        where=node,
        expected="user id 0",
        found=found,
        hint="inventory/nodes.py sets _sudo; the login user needs sudo without a password. Nothing was changed",
    )
