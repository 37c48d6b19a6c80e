"""Who vouches for an image: its catalogue entry, which holds every digest, carries a signature by a trusted key.

The site's own key signs what this site builds and takes; the keys of colleagues and publishers stand in ``site.yaml``.
The entry is signed, not the image file: checking costs nothing, and the bytes are compared with the entry's digests
wherever they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from metalwright.errors import ImageError, SecretError
from metalwright.imaging.minisign import (
    PublicKey,
    check_signature,
    parse_public_key,
    parse_signature,
    public_key_of,
    sign_file,
)
from metalwright.loading.files import write_atomically
from metalwright.model.site import Site
from metalwright.secrets.signing_key import ensure_signing_key

SIGNATURE_SUFFIX: Final = ".minisig"
KEY_NAME: Final = "image-signing.key"
PUBLIC_NAME: Final = "image-signing.pub"
OWN: Final = "this site"


class Vouched(NamedTuple):
    """A signature that is right: by whom (as ``site.yaml`` names the key), which key, and the trusted comment."""

    by: str
    key_id: str
    comment: str


@dataclass(frozen=True)
class ImageSigner:
    """The site's own key."""

    private: Ed25519PrivateKey = field(repr=False)

    @property
    def public(self) -> PublicKey:
        """What others put into their ``site.yaml`` to trust this site's images."""
        return public_key_of(self.private)

    def sign(self, path: Path, comment: str) -> None:
        """Write ``<path>.minisig``."""
        path.with_name(path.name + SIGNATURE_SUFFIX).write_text(sign_file(self.private, path, comment))


@dataclass(frozen=True)
class ImageTrust:
    """Trusted keys by the names that ``site.yaml`` gives them, and whether an image may go without a signature."""

    keys: Mapping[str, PublicKey]
    may_be_unsigned: bool = False

    def key(self, key_id: str) -> tuple[str, PublicKey] | None:
        """The name and key of this id; None when it is not trusted."""
        return next(((name, key) for name, key in self.keys.items() if key.id == key_id), None)

    def voucher(self, entry: Path, ref: str) -> Vouched | None:
        """Who signed the catalogue entry; None: nobody, which the site allows.

        Raises:
            ImageError: unsigned, by a key that is not trusted, or not of this entry.
        """
        path = entry.with_name(entry.name + SIGNATURE_SUFFIX)
        if not path.is_file():
            self._require_allowed(ref, "no signature", f"metalwright image sign {ref} --why …")
            return None
        signature = parse_signature(path.read_text(errors="replace"), str(path))
        known = self.key(signature.key_id)
        if known is None:
            hint = f"if it is a colleague's, put its public key under images.trusted_keys in site.yaml; {_SIGN} {ref}"
            self._require_allowed(ref, f"a signature by key {signature.key_id}", hint)
            return None
        name, key = known
        check_signature(signature, key, entry, f"{ref} ({path})")
        return Vouched(name, key.id, signature.comment)

    def _require_allowed(self, ref: str, found: str, hint: str) -> None:
        if self.may_be_unsigned:
            return
        raise ImageError(
            "nobody whom this site trusts vouches for the image", where=ref, found=found, hint=hint,
            expected=f"a signature of its entry by {', '.join(self.keys) or 'a trusted key'}",
        )  # fmt: skip


_SIGN: Final = "else look at the image and vouch for it yourself: metalwright image sign"


def image_trust(site: Site, state_dir: Path) -> ImageTrust:
    """What the site trusts: the keys in ``site.yaml``, and its own where it has one. Raises :class:`ImageError`."""
    named = {
        name: parse_public_key(text, f"site.yaml images.trusted_keys.{name}")
        for name, text in site.images.trusted_keys.items()
    }
    own = state_dir / PUBLIC_NAME
    keys = {OWN: parse_public_key(own.read_text(errors="replace"), str(own))} if own.is_file() else {}
    return ImageTrust({**keys, **named}, site.images.unsigned == "allowed")


def site_image_signer(state_dir: Path) -> ImageSigner:
    """The site's own key in ``<state_dir>/image-signing.key``, made at first use. Raises :class:`ImageError`.

    Its public half is written again where it is not that of the key.
    """
    path = state_dir / KEY_NAME
    try:
        signer = ImageSigner(ensure_signing_key(path))
        public = path.with_name(PUBLIC_NAME)
        if not public.is_file() or public.read_text(errors="replace") != signer.public.file_text:
            write_atomically(public, signer.public.file_text)
    except SecretError as error:
        raise ImageError(
            error.what, where=error.where, expected=error.expected, found=error.found, hint=error.hint
        ) from error
    return signer
