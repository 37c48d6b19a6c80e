"""Starting the deploy ramdisk with the real pyinfra: permission first, then every step in order, proven, and once.

Making a medium needs a ramdisk and an image; here a deploy of the site stands in for that part alone.
"""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.operations.redfish.site import LabSite

REPOSITORY = Path(__file__).parents[3]
SECRET = "SECRETMEDIUM-SECRETMEDIUM-SECRETMEDIUM"
DEPLOY = """
import sys
sys.path.insert(0, {root!r})
from metalwright.connectors.services import SiteServices
from metalwright.deploys.image import image
from tests.operations.redfish.deployments import make_deployment


def order(self, node, method):
    self.workspace.journal.deployments.create(make_deployment(node, "r-" + node, {secret!r}))
    return {url!r}


SiteServices.order_medium = order
image()
"""


def test_the_ramdisk_is_started_step_by_step_and_left_alone_while_it_works(pair: LabSite) -> None:
    with served(b"\0" * 4096) as url:
        text = DEPLOY.format(root=str(REPOSITORY), secret=SECRET, url=url)
        (pair.root / "deploys" / "image_here.py").write_text(text)
        pair.grant("lab-2")
        run = pair.pyinfra("-y", "-vvv", "inventory/bmcs.py", "deploys/image_here.py")
        assert run.code == 1
        assert "[lab-1] hint: metalwright plan lab-1 --grant" in run.text
        assert pair.writes("lab-1") == []

        events = pair.machines["lab-2"].system.log.entries
        kinds = [event.kind for event in events if event.kind not in ("Request", "LoginSucceeded")]
        assert kinds[:3] == ["MediaInserted", "ResetRequested", "PowerOn"], run.text
        assert pair.machines["lab-2"].system.state.media.image == url
        assert SECRET not in run.text
        assert "{secret:media-url}" in run.text

        writes = pair.writes("lab-2")
        again = pair.deploy("image_here", "--limit", "lab-2")
        assert (again.code, again.changed) == (0, set())
        assert pair.writes("lab-2") == writes

    ended = pair.deploy("boot_disk", "--limit", "lab-2")
    assert "No virtual medium" in ended.changed
    assert not pair.machines["lab-2"].system.state.media.image
    assert pair.deploy("boot_disk", "--limit", "lab-2").changed == set()
    assert pair.open_sessions() == 0


@contextmanager
def served(content: bytes) -> Iterator[str]:
    """Serve one medium over HTTP on loopback at an unguessable path."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            """Keep quiet."""

    with http.server.ThreadingHTTPServer(("127.83.9.2", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.83.9.2:{server.server_address[1]}/m/{SECRET}/boot.iso"
        server.shutdown()
        thread.join()
