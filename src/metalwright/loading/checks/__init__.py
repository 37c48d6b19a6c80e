"""Cross-checks of a site repository: what no single file can know. Each check is a generator of errors."""

from collections.abc import Callable, Iterator

from metalwright.errors import LoadingError
from metalwright.loading.checks.blueprints import check_blueprints
from metalwright.loading.checks.images import check_images
from metalwright.loading.checks.networks import check_networks, warn_of_default_vlan
from metalwright.loading.checks.nodes import check_nodes
from metalwright.loading.checks.placeholders import warn_of_placeholders
from metalwright.loading.checks.power import check_cords, warn_of_power, warn_of_single_feeds
from metalwright.loading.checks.racks import check_racks
from metalwright.loading.checks.releases import check_releases, warn_of_unreleased
from metalwright.loading.site_files import SiteFiles

Check = Callable[[SiteFiles], Iterator[LoadingError]]

ERROR_CHECKS: tuple[Check, ...] = (
    check_racks,
    check_cords,
    check_nodes,
    check_networks,
    check_blueprints,
    check_images,
    check_releases,
)
"""What makes a site repository invalid."""

WARNING_CHECKS: tuple[Check, ...] = (
    warn_of_power,
    warn_of_single_feeds,
    warn_of_default_vlan,
    warn_of_unreleased,
    warn_of_placeholders,
)
"""What a reviewer should know, and may accept."""

__all__ = ["ERROR_CHECKS", "WARNING_CHECKS", "Check"]
