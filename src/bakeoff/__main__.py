"""python -m bakeoff: the same as the command."""

from bakeoff.cli.app import main

main()
