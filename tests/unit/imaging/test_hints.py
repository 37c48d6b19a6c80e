"""Whatever refuses an image or a certificate says what to do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import metalwright

PACKAGE = Path(metalwright.__file__).parent
MODULES = (
    "imaging/boot_programs.py",
    "imaging/catalogue.py",
    "imaging/checksums.py",
    "imaging/disk_contents.py",
    "imaging/image_digests.py",
    "imaging/image_formats.py",
    "imaging/image_intake.py",
    "imaging/image_trust.py",
    "imaging/minisign.py",
    "imaging/qcow2.py",
    "imaging/sources.py",
    "acceptance/certificate.py",
    "acceptance/signing.py",
    "acceptance/wipe_record.py",
)


@pytest.mark.parametrize("module", MODULES)
def test_every_refusal_has_a_hint(module: str) -> None:
    tree = ast.parse((PACKAGE / module).read_text())
    errors = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and is_error(node)]
    assert errors
    assert [node.lineno for node in errors if not any(word.arg == "hint" for word in node.keywords)] == []


def is_error(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in ("ImageError", "AcceptanceError")
