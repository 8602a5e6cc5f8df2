"""`python -m tedaudit`: the command line."""

from tedaudit.cli import main

if __name__ == "__main__":
    main()
