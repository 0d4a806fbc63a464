"""`python -m tuner` is the command `tuner`."""

from tuner.commands import main

if __name__ == "__main__":
    main()
