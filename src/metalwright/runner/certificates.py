"""The certificates of a site's nodes: the one in force of each, what voids it, and what a fleet usually measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from metalwright.acceptance.certificate import verify_certificate
from metalwright.acceptance.signing import trusted_keys
from metalwright.acceptance.validity import Validity, compare
from metalwright.acceptance.wipe_record import verify_wipe_record
from metalwright.errors import AcceptanceError, MetalwrightError
from metalwright.loading import SitePaths
from metalwright.model.certificate import Certificate
from metalwright.model.report import HardwareReport
from metalwright.model.wipe import WipeRecord
from metalwright.workspace import Workspace


def certificate_path(paths: SitePaths, node: str) -> Path:
    """Where the certificate in force lies."""
    return paths.state / "acceptance" / node / "certificate.json"


def authentic_certificate(paths: SitePaths, file: Path) -> Certificate:
    """The certificate in ``file`` when a key that the site trusts signed it and it is not expired.

    Raises:
        AcceptanceError: it is neither, or no certificate.
    """
    keys = trusted_keys([paths.root / "inventory" / "certificate-keys", paths.state / "certificate.pem"])
    return verify_certificate(file, keys, now=datetime.now(UTC))


def authentic_wipe_record(paths: SitePaths, file: Path) -> WipeRecord | None:
    """The record of an erasure in ``file``, by the same keys; None where it holds something else.

    Raises:
        AcceptanceError: it is not authentic.
    """
    keys = trusted_keys([paths.root / "inventory" / "certificate-keys", paths.state / "certificate.pem"])
    return verify_wipe_record(file, keys)


def certificate_of(paths: SitePaths, node: str) -> Certificate | None:
    """The certificate in force; ``None`` when there is none, or it is not authentic, or expired."""
    try:
        return authentic_certificate(paths, certificate_path(paths, node))
    except AcceptanceError:
        return None


def validity(workspace: Workspace, certificate: Certificate, read: Callable[[], HardwareReport] | None) -> Validity:
    """What voids a certificate of this site's node now. ``read`` reads the machine; ``None``: it is not to be read."""
    report, why = None, "not asked for"
    if read is not None:
        try:
            report = read()
        except MetalwrightError as error:
            why = f"the machine was not read: {error.what}"
    return compare(
        certificate,
        recipe=workspace.recipe(certificate.node),
        blueprint=workspace.blueprint(certificate.node).ref,
        report=report,
        why_unread=why,
    )


def fleet_values(workspace: Workspace, node: str) -> Mapping[str, tuple[float, ...]]:
    """What the other nodes of the node's class measured, by test: from their certificates in force, passes alone."""
    name = workspace.blueprint(node).name
    found: dict[str, list[float]] = {}
    for other in workspace.repository.nodes():
        if other.name == node or other.blueprint.partition("@")[0] != name:
            continue
        certificate = certificate_of(workspace.paths, other.name)
        for test in certificate.tests if certificate is not None else ():
            if test.verdict == "PASS" and test.value is not None:
                found.setdefault(test.name, []).append(test.value)
    return {test: tuple(values) for test, values in found.items()}
