"""Making a machine safe after a failure: power off, medium out."""

from metalwright.deploys.power_off import power_off

power_off()
