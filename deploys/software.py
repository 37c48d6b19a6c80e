"""In band: from a bare image to the blueprint's operating system."""

from metalwright.deploys.software import software

software()
