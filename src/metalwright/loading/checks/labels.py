"""Labels of blueprints: only what Kubernetes takes, and none that metalwright makes itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from metalwright.errors import LoadingError
from metalwright.loading.site_files import SiteFiles

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_PREFIX_CHARACTERS = 253
_KEY = "NAME or DOMAIN/NAME: at most 63 letters, digits, '-', '_' and '.', a letter or digit first and last"
_VALUE = "nothing, or at most 63 letters, digits, '-', '_' and '.', a letter or digit first and last"


def check_labels(files: SiteFiles) -> Iterator[LoadingError]:
    """Keys and values under ``policy.labels``."""
    own = files.site.model.domain if files.site is not None else None
    for blueprint in files.blueprints.values():
        for key, value in blueprint.model.policy.labels.items():
            where = partial(blueprint.where, "policy", "labels", key, key=True)
            if not _is_key(key):
                yield LoadingError(
                    "Kubernetes takes no such label", where=where(), expected=_KEY, found=key, hint=_near(key)
                )
            elif own is not None and key.startswith(f"{own}/"):
                yield LoadingError(
                    f"labels under {own}/ are metalwright's own",
                    where=where(),
                    expected="another prefix, or none",
                    found=key,
                    hint="docs/how-to/label-nodes.md lists them",
                )
            if value and not _NAME.fullmatch(value):
                yield LoadingError(
                    f"Kubernetes takes no such value of the label {key}",
                    where=blueprint.where("policy", "labels", key),
                    expected=_VALUE,
                    found=value,
                    hint=_near(value),
                )


def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    has_prefix = bool(_PREFIX.fullmatch(prefix)) and len(prefix) <= _PREFIX_CHARACTERS
    return bool(_NAME.fullmatch(name)) and (has_prefix or not slash)


def _near(text: str) -> str | None:
    """The same with what is not taken left out."""
    near = re.sub(r"[^A-Za-z0-9]+$|^[^A-Za-z0-9]+", "", re.sub(r"[^A-Za-z0-9_./-]+", "-", text))[:63]
    return f"such as {near}" if _NAME.fullmatch(near) else None
