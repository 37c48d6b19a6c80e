"""A new site, images on a web server of loopback, and ``metalwright image`` on them in this process."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from metalwright.cli.app import run


@dataclass
class Answer:
    """What the server gives for a path; ``announced_bytes`` is its Content-Length where that is a lie."""

    body: bytes
    status: int = 200
    kind: str = "application/octet-stream"
    announced_bytes: int | None = None


@dataclass
class Web:
    """A web server: ``answers`` by path, ``asked`` are the paths that were asked for."""

    url: str = ""
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def give(self, path: str, body: bytes | str, **more: Any) -> str:
        """Serve ``body`` at ``path`` and return the URL."""
        self.answers[path] = Answer(body.encode() if isinstance(body, str) else body, **more)
        return self.url + path


@dataclass
class ImageSite:
    """A site and what its commands said."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> tuple[int, str]:
        """Run ``metalwright --site ROOT …``; exit code and all that it said. No failure may show a traceback."""
        self.capsys.readouterr()
        code = run(["--site", str(self.root), *arguments])
        said = self.capsys.readouterr()
        assert "Traceback" not in said.err
        assert "this is a fault of metalwright" not in said.err
        return code, said.out + said.err

    def add(self, source: str | Path, *options: str, version: str = "1") -> tuple[int, str]:
        """``image add SOURCE --name tiny …``."""
        return self("image", "add", str(source), "--name", "tiny", "--version", version, *options)

    @property
    def kept(self) -> list[str]:
        """Every file and directory in the catalogue below names of images, half-made ones too."""
        return sorted(str(path.relative_to(self.root / "images")) for path in (self.root / "images").glob("*/*"))

    def edit(self, name: str, old: str, new: str) -> None:
        """Change a file of the site."""
        text = (self.root / name).read_text()
        assert old in text
        (self.root / name).write_text(text.replace(old, new, 1))


@contextmanager
def web_server(address: str) -> Iterator[Web]:
    """Serve on loopback until the end of the block."""
    web = Web()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.asked.append(self.path)
            answer = web.answers.get(self.path, Answer(b"<html>not found</html>", 404, "text/html"))
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(answer.announced_bytes or len(answer.body)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # a client that has seen enough
                self.wfile.write(answer.body)

        def log_message(self, *args: Any) -> None:
            """Keep quiet."""

    with http.server.ThreadingHTTPServer((address, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        web.url = f"http://{address}:{server.server_address[1]}"
        yield web
        server.shutdown()
        thread.join()
