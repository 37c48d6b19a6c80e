"""``python -m metalwright.cli``."""

from metalwright.cli import main

main()
