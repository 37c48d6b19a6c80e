"""Fetching an image over connections that break: the right bytes, from where it stopped, or a refusal and why."""

from __future__ import annotations

import hashlib
import http.server
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.fetch import fetch_to_file, fetch_verified_chunks
from metalwright.imaging.agent.records import Image

CHUNK_BYTES = 1 << 16
CONTENT = random.Random(105).randbytes(5 * CHUNK_BYTES + 123)
Answer = Callable[["Handler", int], None]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers request number n with the n-th behaviour, the last one for ever."""

    behaviours: list[Answer]
    requests: list[dict[str, str]]

    def do_GET(self) -> None:
        number = len(self.requests)
        self.requests.append(dict(self.headers))
        self.close_connection = True
        self.behaviours[min(number, len(self.behaviours) - 1)](self, self._start())

    def _start(self) -> int:
        return int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))

    def head(self, status: int, start: int, length: int, etag: str = '"one"', told: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.send_header("ETag", etag)
        if status == 206:
            self.send_header("Content-Range", told or f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Keep quiet."""


def well(handler: Handler, start: int) -> None:
    handler.head(206 if start else 200, start, len(CONTENT) - start)
    handler.wfile.write(CONTENT[start:])


def cut_after(count: int) -> Answer:
    def answer(handler: Handler, start: int) -> None:
        handler.head(206 if start else 200, start, len(CONTENT) - start)
        handler.wfile.write(CONTENT[start : start + count])

    return answer


def without_ranges(handler: Handler, start: int) -> None:
    del start
    handler.head(200, 0, len(CONTENT))
    handler.wfile.write(CONTENT)


def slowly(handler: Handler, start: int) -> None:
    handler.head(206 if start else 200, start, len(CONTENT) - start)
    for at in range(start, len(CONTENT), CHUNK_BYTES):
        handler.wfile.write(CONTENT[at : at + CHUNK_BYTES])
        time.sleep(0.1)


def replaced(handler: Handler, start: int) -> None:
    del start
    handler.head(200, 0, len(CONTENT), '"two"')
    handler.wfile.write(CONTENT)


def another_range(handler: Handler, start: int) -> None:
    handler.head(206, start, len(CONTENT) - start, told=f"bytes 0-{len(CONTENT) - 1}/{len(CONTENT)}")
    handler.wfile.write(CONTENT[start:])


def wrong_bytes(handler: Handler, start: int) -> None:
    handler.head(206 if start else 200, start, len(CONTENT) - start)
    handler.wfile.write(bytes(len(CONTENT) - start))


def gone(handler: Handler, start: int) -> None:
    del start
    handler.send_error(404)


@contextmanager
def serving(*behaviours: Answer) -> Iterator[tuple[Image, list[dict[str, str]]]]:
    """An image behind a server that behaves so, and the headers of the requests that it got."""
    made = type("Made", (Handler,), {"behaviours": list(behaviours), "requests": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), made) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield image_at(server.server_address[1]), made.requests  # type: ignore[attr-defined]  # made above
        server.shutdown()
        thread.join()


def image_at(port: int) -> Image:
    chunks = [CONTENT[at : at + CHUNK_BYTES] for at in range(0, len(CONTENT), CHUNK_BYTES)]
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    return Image(
        name="tiny", version="1", url=f"http://127.0.0.1:{port}/i/s/image.raw", format="raw",
        file_sha256=sha256, file_size_bytes=len(CONTENT), content_sha256=sha256, content_size_bytes=len(CONTENT),
        chunk_bytes=CHUNK_BYTES, chunk_sha256=tuple(hashlib.sha256(chunk).hexdigest() for chunk in chunks),
    )  # fmt: skip


def fetched(image: Image, tmp_path: Path, give_up_s: float = 5) -> bytes:
    fetch_to_file(image, tmp_path / "image", lambda done, total: None, give_up_s)
    return (tmp_path / "image").read_bytes()


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(1, len(CONTENT)), min_size=1, max_size=3), in_chunks=st.booleans())
def test_whatever_the_places_where_it_breaks_the_bytes_are_right_and_none_is_asked_for_twice(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], in_chunks: bool
) -> None:
    with serving(*(cut_after(cut) for cut in cuts), well) as (image, requests):
        if in_chunks:
            assert b"".join(fetch_verified_chunks(image, 5)) == CONTENT
        else:
            assert fetched(image, tmp_path_factory.mktemp("fetch")) == CONTENT
    starts = [int(headers.get("Range", "bytes=0-")[6:-1]) for headers in requests]
    position = 0
    for start, cut in zip(starts, [*cuts, 0], strict=False):
        assert start == position
        position += cut
    assert {headers.get("If-Range") for headers in requests[1:]} <= {'"one"'}


def test_a_server_without_ranges_is_read_again_up_to_the_place_where_it_broke(tmp_path: Path) -> None:
    with serving(cut_after(100_000), without_ranges) as (image, requests):
        assert fetched(image, tmp_path) == CONTENT
    assert len(requests) == 2


def test_a_slow_server_is_not_given_up_while_bytes_arrive(tmp_path: Path) -> None:
    with serving(slowly) as (image, _):
        assert fetched(image, tmp_path, give_up_s=0.3) == CONTENT


def test_a_server_that_comes_back_after_a_while_is_asked_for_the_rest(tmp_path: Path) -> None:
    """The server dies in the middle; another one with the same file takes its port a second later."""
    with serving(cut_after(100_000)) as (image, _):
        port = int(image.url.split(":")[2].split("/")[0])
        result: list[bytes] = []
        reader = threading.Thread(target=lambda: result.append(fetched(image, tmp_path, give_up_s=20)))
        first = threading.Event()
        reader.start()
        first.wait(0.1)
    time.sleep(1)
    made = type("Made", (Handler,), {"behaviours": [well], "requests": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), made) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        reader.join(20)
        server.shutdown()
        thread.join()
    assert result == [CONTENT]
    assert made.requests[0]["Range"].startswith("bytes=")  # type: ignore[attr-defined]  # made above


@pytest.mark.parametrize(
    ("behaviours", "code", "said"),
    [
        ((cut_after(100_000), replaced), "image-digest", "the image file was replaced while it was fetched"),
        ((cut_after(100_000), wrong_bytes), "image-digest", "the image file has the wrong SHA-256"),
        ((wrong_bytes,), "image-digest", "the image file has the wrong SHA-256"),
        ((cut_after(100_000), gone), "refused", "does not serve the image any more"),
        ((cut_after(100_000), another_range), "image-truncated", "another range than from byte 100000"),
        ((cut_after(0),), "image-truncated", "0 bytes, then nothing for 1 s"),
    ],
)
def test_what_cannot_be_had_whole_is_refused_and_leaves_no_file(
    behaviours: tuple[Answer, ...], code: str, said: str, tmp_path: Path
) -> None:
    with serving(*behaviours) as (image, _), pytest.raises(AgentError) as caught:
        fetched(image, tmp_path, give_up_s=1)
    assert caught.value.code == code
    assert said in str(caught.value)
    assert not (tmp_path / "image").exists()
