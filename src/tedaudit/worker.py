"""The door for other machines: `python -m tedaudit.worker` does chunks with numpy and scipy alone."""

import sys

from tedaudit.execution.work import main

if __name__ == "__main__":
    main(sys.argv[1:])
