"""Power of the host, on demand: ``pyinfra inventory/bmcs.py deploys/power.py --data power=Off``."""

from metalwright.deploys.power import power

power()
