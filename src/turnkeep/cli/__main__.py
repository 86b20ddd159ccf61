"""`python -m turnkeep.cli`: the same as `turnkeep`."""

from . import main

if __name__ == "__main__":
    main()
