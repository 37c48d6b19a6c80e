"""Phase *bios*: every declared attribute, through the registry of this BIOS version."""

from metalwright.deploys.bios import bios

bios()
