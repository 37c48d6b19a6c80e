"""The BMCs of the site, for plain pyinfra: `pyinfra inventory/bmcs.py deploys/bios.py --dry --diff`."""

from metalwright.connectors.bmcs import bmc_groups as _bmc_groups

globals().update(_bmc_groups())
