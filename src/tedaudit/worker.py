"""The door for other machines: `python -m tedaudit.worker` does files of work with numpy and scipy alone."""

import sys

from tedaudit.errors import TedauditError
from tedaudit.execution.work import main

if __name__ == "__main__":
    try:
        if sys.argv[1:] == ["--serve"]:
            from tedaudit.execution.engines.workplace import serve  # for engines: it writes tables, too

            serve()
        main(sys.argv[1:])
    except TedauditError as problem:
        sys.stderr.write(f"error: {problem}\n")
        sys.exit(2)
