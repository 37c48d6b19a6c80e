"""Opening what a site names: its secret store and the BMC logins in it."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

from metalwright.errors import SecretError
from metalwright.loading.files import sync_directory
from metalwright.model.rack import Racked
from metalwright.model.site import Site
from metalwright.secrets.bmc_credentials import BmcCredentials
from metalwright.secrets.commands import CommandStore
from metalwright.secrets.encrypted import EncryptedFileStore
from metalwright.secrets.references import read_secret
from metalwright.secrets.sticker_file import unit_keys
from metalwright.secrets.store import SecretStore
from metalwright.secrets.value import Secret

STORE_FILE = "secrets.enc"
KEY_FILE = "secrets.key"


def open_secrets(site: Site, state_dir: Path) -> SecretStore:
    """Return the secret store of a site; ``state_dir`` is ``<site>/.metalwright``.

    References are relative to its parent. The encrypted file's key is the one that the site refers to, or a key file
    made here with mode 0600.
    """
    settings = site.secrets
    if settings.kind == "commands":
        if settings.get_command is None or settings.put_command is None:
            raise SecretError(
                "the store needs two commands",
                where="site.yaml: secrets",
                expected="get_command and put_command",
                hint="or leave `secrets` out for an encrypted file",
            )
        return CommandStore(settings.get_command, settings.put_command, state_dir / "secrets.lock")
    path = state_dir / STORE_FILE
    if settings.key is not None:
        return EncryptedFileStore(path, read_secret(settings.key, state_dir.parent))
    return EncryptedFileStore(path, _own_key(state_dir / KEY_FILE, path))


def open_bmc_credentials(site: Site, state_dir: Path, nodes: Iterable[Racked] = ()) -> BmcCredentials:
    """Return the BMC logins of a site; ``nodes`` are those whose stickers may be known."""
    units = {node.name: keys_of(node) for node in nodes}
    store = open_secrets(site, state_dir)
    return BmcCredentials(store, factory=site.factory_credentials, base=state_dir.parent, units=units)


def keys_of(node: Racked) -> tuple[str, ...]:
    """The names of a node's unit in sticker lists."""
    return unit_keys(filter(None, [node.serial]), filter(None, [node.bmc_mac]))


def _own_key(path: Path, store: Path) -> Secret:
    try:
        if not path.exists():
            if store.exists():
                raise SecretError(
                    "the key of the secret store is missing", where=str(path), hint="restore the key file"
                )
            _make_key(path)
        mode = stat.S_IMODE(path.stat().st_mode)
        text = path.read_text().strip()
    except OSError as error:
        raise SecretError("the key file cannot be used", where=str(path), found=error.strerror) from error
    except UnicodeDecodeError as error:
        raise SecretError("the key file cannot be used", where=str(path), found=str(error)) from error
    if mode & 0o077:
        raise SecretError(
            "others may read the key file", where=str(path), expected="mode 0600", found=f"{mode:04o}", hint="chmod 600"
        )
    if len(text) != 64:
        raise SecretError(
            "the key file is damaged", where=str(path), expected="64 hex digits", found=f"{len(text)} characters"
        )
    return Secret(text)


def _make_key(path: Path) -> None:
    """Make the file whole under another name first; of two processes one wins."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(secrets.token_hex(32) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        sync_directory(path.parent)
    finally:
        draft.unlink()
