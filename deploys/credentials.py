"""Phase *credentials*: the BMC gets a password of its own and the site's time."""

from metalwright.deploys.credentials import credentials

credentials()
