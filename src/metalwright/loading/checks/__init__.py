"""Cross-checks of a site repository: what no single file can know. Each check is a generator of errors."""

from collections.abc import Callable, Iterator

from metalwright.errors import LoadingError
from metalwright.loading.checks.attachments import check_attachments, warn_of_systems
from metalwright.loading.checks.blueprints import check_blueprints
from metalwright.loading.checks.cabling import check_cabling, note_unnamed_switches
from metalwright.loading.checks.images import check_images
from metalwright.loading.checks.labels import check_labels
from metalwright.loading.checks.networks import check_networks, warn_of_default_vlan
from metalwright.loading.checks.nodes import check_nodes
from metalwright.loading.checks.placeholders import warn_of_placeholders
from metalwright.loading.checks.power import check_budgets, check_cords, warn_of_power, warn_of_single_feeds
from metalwright.loading.checks.racks import check_racks
from metalwright.loading.checks.releases import check_releases, warn_of_unreleased
from metalwright.loading.checks.versions import check_versions
from metalwright.loading.site_files import SiteFiles

Check = Callable[[SiteFiles], Iterator[LoadingError]]

ERROR_CHECKS: tuple[Check, ...] = (
    check_racks,
    check_cords,
    check_budgets,
    check_nodes,
    check_networks,
    check_attachments,
    check_blueprints,
    check_versions,
    check_labels,
    check_cabling,
    check_images,
    check_releases,
)
"""What makes a site repository invalid."""

WARNING_CHECKS: tuple[Check, ...] = (
    warn_of_power,
    warn_of_single_feeds,
    warn_of_default_vlan,
    warn_of_systems,
    warn_of_unreleased,
    warn_of_placeholders,
)
"""What a reviewer should know, and may accept."""

NOTE_CHECKS: tuple[Check, ...] = (note_unnamed_switches,)
"""What cannot be judged, and what would change that."""

__all__ = ["ERROR_CHECKS", "NOTE_CHECKS", "WARNING_CHECKS", "Check"]
