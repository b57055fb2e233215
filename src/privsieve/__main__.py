"""`python -m privsieve` is the command `privsieve`."""

from privsieve.cli import main

if __name__ == "__main__":
    main()
