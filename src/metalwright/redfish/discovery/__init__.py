"""Finding BMCs and telling which nodes they are: sweep, visit, claim, record."""

from metalwright.redfish.discovery.outcome import (
    BmcAddressBook,
    Claimed,
    Discovery,
    Unclaimed,
    conclude,
    record,
)
from metalwright.redfish.discovery.rack_entry import fitting_blueprints, rack_yaml
from metalwright.redfish.discovery.sighting import RootFacts, Sighting
from metalwright.redfish.discovery.sighting_log import SightingLog
from metalwright.redfish.discovery.sweep import sweep
from metalwright.redfish.discovery.targets import Target, TargetList, targets_of
from metalwright.redfish.discovery.visit import Expected, Knowledge, latch_key_of, visit

__all__ = [
    "BmcAddressBook",
    "Claimed",
    "Discovery",
    "Expected",
    "Knowledge",
    "RootFacts",
    "Sighting",
    "SightingLog",
    "Target",
    "TargetList",
    "Unclaimed",
    "conclude",
    "fitting_blueprints",
    "latch_key_of",
    "rack_yaml",
    "record",
    "sweep",
    "targets_of",
    "visit",
]
