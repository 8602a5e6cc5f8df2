"""Progress where nobody watches a terminal: a line a minute, for the log of a batch system or of CI."""

import time
from collections.abc import Callable

_PAUSE = 60.0  # seconds between two lines


class ProgressLines:
    """Prints what is done, how much of it and how long the rest may take; the first line after a minute."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock = write, clock
        self._begun = self._told = clock()
        self._before: int | None = None  # what was there when it began: a resumed run
        self._step = "preparing"  # until a step has a name

    def __call__(self, step: str, completed: int, total: int) -> None:
        """Take what is done by now."""
        now, self._step = self._clock(), step or self._step
        if self._before is None:
            self._before = completed
        if now - self._told < _PAUSE:
            return
        self._told = now
        rate = (completed - self._before) / (now - self._begun)
        line = f"{self._step}: {completed:,} of {total:,}"
        if rate > 0:
            told = f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"
            line += f", {told} a second, {_format_time((total - completed) / rate)} left"
        self._write(line)


def _format_time(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{max(1, minutes)} min"
