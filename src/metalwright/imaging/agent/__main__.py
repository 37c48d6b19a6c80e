"""``python -m metalwright.imaging.agent``: one deployment. Exit 0 done, 1 stopped, 3 nothing to do on this medium.

Powering off afterwards is the ramdisk's own act, whatever the exit code.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from metalwright.imaging.agent.console import say
from metalwright.imaging.agent.control import ControlClient
from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.flow import Deployment
from metalwright.imaging.agent.hardware import FileHardware, Hardware, RealHardware
from metalwright.imaging.agent.media import Media, read_media

EXIT_DONE: Final = 0
EXIT_STOPPED: Final = 1
EXIT_NOTHING_TO_DO: Final = 3


def main(argv: list[str] | None = None) -> int:
    """Run the deployment that the medium is for and return the exit code."""
    options = _parser().parse_args(argv)
    try:
        media = read_media(options.media)
        say(f"medium for node {media.node}, boot server {media.control_url}")
        hardware = _hardware(options)
        hardware.up_network(media.network)
        did_deploy = _deployment(media, hardware, options.give_up_s).run()
    except AgentError as error:
        say(f"STOPPED: {error}")
        say("the disk was written to" if error.wrote else "nothing was written to any disk")
        return EXIT_STOPPED
    return EXIT_DONE if did_deploy else EXIT_NOTHING_TO_DO


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="metalwright-agent", description="write one image to one disk")
    parser.add_argument("--media", type=Path, required=True, help="media.json, or a boot medium that carries it")
    parser.add_argument("--hardware", type=Path, help="JSON description of a machine with file-backed disks")
    parser.add_argument("--work-dir", type=Path, default=Path("/run/metalwright"), help="place in memory for the image")
    parser.add_argument("--give-up-s", type=float, default=120.0, help="how long to wait for the boot server")
    return parser


def _hardware(options: argparse.Namespace) -> Hardware:
    return FileHardware(options.hardware) if options.hardware else RealHardware(options.work_dir)


def _deployment(media: Media, hardware: Hardware, give_up_s: float) -> Deployment:
    control = ControlClient(media.control_url, media.server_cert_pem, media.token, give_up_s=give_up_s)
    return Deployment(media, hardware, control)


if __name__ == "__main__":
    sys.exit(main())
