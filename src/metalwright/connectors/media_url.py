"""What BMCs take as the URL of an image. Checked before it is sent: their own refusals do not say what was wrong."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from metalwright.errors import UsageError

MAX_CHARS = 255
"""Longer ones are refused by iDRAC (RAC0720; openshift/assisted-image-service #183)."""

SCHEMES = ("http", "https", "nfs", "cifs")


def check_image(body: Any, where: str) -> None:
    """Raise UsageError for an ``Image`` that BMCs are known to refuse; the URL, a secret, is not quoted."""
    url = body.get("Image") if isinstance(body, dict) else None
    if not isinstance(url, str) or not url:
        return
    if len(url) > MAX_CHARS:
        raise UsageError(
            "the URL of the image is too long for BMCs",
            where=where,
            expected=f"at most {MAX_CHARS} characters",
            found=f"{len(url)} characters",
            hint="serve it under a short path without tokens in the query",
        )
    scheme = urlsplit(url).scheme
    if scheme not in SCHEMES:
        raise UsageError(
            "BMCs fetch no image over this protocol", where=where, expected=", ".join(SCHEMES), found=scheme or "none"
        )
