"""A site with its journal and secrets opened, for commands that talk to BMCs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from metalwright.cli.context import CliContext
from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_journal
from metalwright.loading import load_site
from metalwright.model.repository import SiteRepository
from metalwright.secrets.bmc_credentials import BmcCredentials
from metalwright.secrets.opening import open_bmc_credentials


@dataclass(frozen=True)
class OpenedSite:
    """What people wrote, what was remembered, and the logins."""

    repository: SiteRepository
    journal: Journal
    credentials: BmcCredentials


@contextmanager
def opened_site(cli: CliContext) -> Iterator[OpenedSite]:
    """Open everything of the site that the command line names; the journal is closed at the end of the block."""
    repository = load_site(cli.site)
    with open_journal(repository.site, cli.state_dir) as journal:
        yield OpenedSite(repository, journal, open_bmc_credentials(repository.site, cli.state_dir))
