"""Phase *address*: the BMC moves to its allocated address. The last act of its process."""

from metalwright.deploys.address import address

address()
