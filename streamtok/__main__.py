"""python -m streamtok: the command line."""

from .cli import main

main()
