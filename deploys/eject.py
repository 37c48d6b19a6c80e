"""Cleaning up after a failed image: the medium goes out, the override goes away."""

from metalwright.deploys.eject import eject

eject()
