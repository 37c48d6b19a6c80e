"""All phases of the operating system's side, in order."""

from metalwright.deploys.software import software

software()
