"""``python -m metalwright.demo [--keep] [--directory DIR]``: what ``make demo`` runs."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from metalwright.demo.evidence import Expected, boot_id_now, gather, problems, rebuilt
from metalwright.demo.killing import KillSchedule, follow_killed_once, run_killed_once
from metalwright.demo.shell import Shell, say
from metalwright.demo.site import DemoSite, Machine
from metalwright.errors import LabError, MetalwrightError
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.image_recipe import load_recipe
from metalwright.imaging.ordering import cache_dir
from metalwright.loading import SitePaths, read_addresses, write_atomically
from metalwright.model.digests import digest
from metalwright.model.image import Image
from metalwright.secrets.passwords import make_password
from metalwright.simulator.lab import Lab
from metalwright.simulator.spec import dump_lab_spec
from metalwright.ssh.keys import ensure_private_key, public_half

IMAGE = ("debian-12", "2026.11.1")
MACHINES = (Machine("lab-1", 1), Machine("lab-2", 2))

_PLANNED = ("provision", "--allow", "reboot", "--allow", "re-image", "--plan")


def main() -> int:
    """Run the demo; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m metalwright.demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave machines, disks and SSH for a look")
    parser.add_argument("--directory", type=Path, default=Path("demo"), help="where everything is written")
    parser.add_argument("--machines", type=int, choices=(1, 2), default=2, help="how many machines")
    parser.add_argument("--loopback", default="127.77", help="first two octets of the lab's addresses")
    parser.add_argument("--kill", type=int, metavar="SEED", help="kill -9 each run once inside its image phase")
    options = parser.parse_args()
    kills = None if options.kill is None else KillSchedule(options.kill)
    demo = DemoSite((options.directory / "site").resolve(), options.loopback, MACHINES[: options.machines])
    os.environ.setdefault("METALWRIGHT_CACHE", str(Path(".cache").resolve()))
    try:
        _clear(demo)
        return _run(demo, kills)
    except MetalwrightError as error:
        say(f"\nerror: {error}")
        return 1
    except KeyboardInterrupt:
        say("\ninterrupted")
        return 130
    finally:
        if options.keep:
            _say_how_to_look(demo)
        else:
            Lab(demo.lab_dir).down(wipe=True)


def _run(demo: DemoSite, kills: KillSchedule | None) -> int:
    begun = time.monotonic()
    shell = Shell(demo.root, {})
    with shell.step("a site repository, its image and its racked machines"):
        image = _prepare(demo, shell)
    with shell.step("racked: two machines with blank disks"):
        shell.run("lab", "up")
    with shell.step("discover: sweep a prefix and claim what answers"):
        shell.run("discover", demo.sweep_prefix)
    names = [machine.name for machine in demo.machines]
    with shell.step("match and plan"):
        shell.run("match", *names)
        shell.run("plan", *names, "-o", str(demo.root / "plan.json"))
    with shell.step("provision both, with the plan that was shown"):
        phases = _provision(demo, shell, kills, *_PLANNED, str(demo.root / "plan.json"))
    with shell.step("the certificates"):
        for name in names:
            shell.run("certificate", "verify", str(demo.root.parent / f"{name}.json"))
    victim = demo.machines[-1]
    before = boot_id_now(demo, victim)
    with shell.step(f"disaster: the system disk of {victim.name} is lost"):
        _destroy(demo, shell, victim)
    with shell.step(f"the rebuild runbook (runbooks/rebuild-node.md) on {victim.name}"):
        _rebuild(demo, shell, kills, victim)
    result = gather(demo, shell, phases)
    node = next(item for item in result["nodes"] if item["name"] == victim.name)
    node["rebuild"] = rebuilt(demo, shell, victim)
    write_atomically(demo.root.parent / "result.json", json.dumps(result, indent=2) + "\n")
    return _conclude(demo, result, image, before, time.monotonic() - begun)


def _rebuild(demo: DemoSite, shell: Shell, kills: KillSchedule | None, victim: Machine) -> None:
    """Follow the runbook, with what it says for a disk full of noise."""
    remedy = "metalwright rebuild NODE --overwrite NODE"
    words = ("runbook", "run", "rebuild-node", victim.name, "--instead", remedy, "--yes")
    if kills is None:
        shell.run(*words)
    else:
        follow_killed_once(shell, kills, *words)
    _keep_certificate(demo, victim.name)


def _prepare(demo: DemoSite, shell: Shell) -> Image:
    state = demo.root / ".metalwright"
    admin = ensure_private_key(demo.root.parent / "operator_ed25519")
    demo.create(public_half(admin))
    state.mkdir(mode=0o700, exist_ok=True)
    secret = os.open(state / "factory-password", os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(secret, "w") as file:
        file.write(make_password(None).reveal())
    _build_image(demo, shell)
    image = ImageCatalogue(SitePaths(demo.root).images).get(*IMAGE)
    demo.pin_image(image)
    shell.run("image", "packages")
    shell.run("addresses", "allocate")
    shell.run("check")
    _write_lab_file(demo)
    return image


def _build_image(demo: DemoSite, shell: Shell) -> None:
    """Build the image, or take the one of an earlier demo that was made from the same recipe."""
    name, version = IMAGE
    recipe = digest(load_recipe(demo.root / "templates", name)).removeprefix("sha256:")[:16]
    kept = cache_dir() / "images" / recipe
    images = SitePaths(demo.root).images
    if (kept / name / version).is_dir():
        shutil.copytree(kept, images, copy_function=os.link, ignore=shutil.ignore_patterns("*.minisig"))
        shell.run("image", "sign", f"{name}@{version}", "--why", "built from this recipe by an earlier demo")
    shell.run("image", "build", name, "--version", version)
    if not (kept / name / version).is_dir():
        shutil.copytree(images / name, kept / name, copy_function=os.link)


def _write_lab_file(demo: DemoSite) -> None:
    text = json.dumps(dump_lab_spec(demo.lab_spec()), indent=2)
    write_atomically(demo.root / ".metalwright" / "lab.json", text, mode=0o600)


def _provision(
    demo: DemoSite, shell: Shell, kills: KillSchedule | None, *arguments: str
) -> dict[str, list[dict[str, Any]]]:
    """Run it in the open; seconds and result of each phase by node. Keeps the certificates beside the result."""
    outcome = shell.run_for_json(*arguments) if kills is None else run_killed_once(shell, kills, *arguments)
    times: dict[str, list[dict[str, Any]]] = {}
    for node in outcome["nodes"]:
        failure = node["failure"]
        phases = [{**phase, "result": "ok"} for phase in node["phases"]]
        if failure is not None and phases:
            phases[-1]["result"] = f"failed: {failure['what']}"
        times[node["node"]] = phases
        _keep_certificate(demo, node["node"])
    return times


def _keep_certificate(demo: DemoSite, node: str) -> None:
    source = demo.root / ".metalwright" / "acceptance" / node / "certificate.json"
    if source.exists():
        shutil.copyfile(source, demo.root.parent / f"{node}.json")


def _destroy(demo: DemoSite, shell: Shell, victim: Machine) -> None:
    """Power the machine off and fill the beginning of its system disk with noise, as a dying disk or hand would."""
    shell.pyinfra("inventory/bmcs.py", "deploys/power_off.py", "--limit", victim.name)
    status = next(item for item in Lab(demo.lab_dir).status().machines if item.name == victim.name)
    if status.power != "Off":
        raise LabError("the machine is still on", where=victim.name, found=status.power)
    path = Path(next(disk.path for disk in status.disks if disk.serial == victim.system_disk))
    with path.open("r+b") as disk:
        disk.write(os.urandom(64 << 20))
    say(f"64 MiB of noise written over {victim.system_disk}")


def _conclude(demo: DemoSite, result: dict[str, Any], image: Image, boot_id_before: str, seconds: float) -> int:
    lock = read_addresses(SitePaths(demo.root).addresses, root=demo.root)
    addresses = {machine.name: f"{lock.of_node(machine.name)['host']}/24" for machine in demo.machines}
    wrong = problems(result, Expected(image.file_sha256, image.content_sha256, boot_id_before), addresses)
    say("\nread from the nodes over SSH, and from their disks:")
    for node in result["nodes"]:
        versions = ", ".join(f"{name} {version}" for name, version in node["versions"].items())
        say(f"{node['name']:<8} {node['addresses']['host-management']}  {versions}")
        say(
            f"{'':<8} disk {node['image']['disk']['serial']}, stamp sha256:{node['image']['file_sha256'][:12]}…, "
            f"data disk untouched: {node['data_disk_is_untouched']}"
        )
    say(f"\n{'node':<8} {'phase':<20} {'seconds':>8}  result")
    for node in result["nodes"]:
        for item in node["phases"]:
            say(f"{node['name']:<8} {item['name']:<20} {item['seconds']:>8.1f}  {item['result']}")
        for item in node.get("rebuild", {}).get("phases", []):
            say(f"{node['name']:<8} {'rebuild ' + item['name']:<20} {item['seconds']:>8.1f}  {item['result']}")
    say(f"\n{seconds:.0f} seconds in all; every value read back is in {demo.root.parent / 'result.json'}")
    for line in wrong:
        say(f"NOT AS PLANNED: {line}")
    return 1 if wrong else 0


def _clear(demo: DemoSite) -> None:
    """A second demo begins anew: end the lab of the first and remove its site; other files are not ours."""
    if demo.lab_dir.exists():
        Lab(demo.lab_dir).down(wipe=True)
    if demo.root.exists():
        shutil.rmtree(demo.root)
    demo.root.parent.mkdir(parents=True, exist_ok=True)


def _say_how_to_look(demo: DemoSite) -> None:
    say(f"\nkept: machines, disks and SSH. Look around, then: metalwright --site {demo.root} lab down --wipe")
    for machine in demo.machines:
        say(
            f"  ssh -i {demo.root}/.metalwright/ssh/id_ed25519 -p 2222 "
            f"-o UserKnownHostsFile={demo.root}/.metalwright/known_hosts metalwright@{demo.ssh_host(machine)}"
        )


if __name__ == "__main__":
    sys.exit(main())
