"""Answers JSON lines, one object per line, whatever the libraries in this process print meanwhile."""

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any


def take_over_output() -> Any:
    """Return a file for answers; all that anybody prints from now on goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return answers


def answer_requests(answers: Any, rewrite: Callable[[dict[str, Any]], str]) -> None:
    """Answer every line of standard input; what a rewrite raises is an answer too, by its type alone."""
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answer = {"id": request["id"]}
        try:
            answer["text"] = rewrite(request)
        except MemoryError:  # of the machine, not of the text
            raise
        except Exception as error:
            traceback.print_exc()
            answer["error"] = f"raised-{type(error).__name__}"
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def split_key(request: dict[str, Any]) -> list[int]:
    """Return the key of a draw as four numbers of 32 bits, as numpy's generators take them."""
    key = str(request["draw_key"])
    return [int(key[start : start + 8], 16) for start in range(0, 32, 8)]
