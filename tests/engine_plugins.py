"""Plug-ins that tell who did their work, or end whoever does it. Workers import them from here."""

import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.values import Callee, Card, Claim, Guess, Rewrite
from tedaudit.seeding import uniforms


class Plain:
    """Keeps a text or draws another by coin."""

    card: ClassVar[Card] = Card(name="plain", summary="Keeps half.")

    def claim(self, epsilon):
        return Claim(epsilon, "document")

    def rewrite(self, draws):
        coins = uniforms([draw.key for draw in draws], 1)[:, 0]
        return [Rewrite(d.text if c < 0.5 else "else") for d, c in zip(draws, coins, strict=True)]


class FreshNoise(Plain):
    """Draws noise that nobody can repeat."""

    card: ClassVar[Card] = Card(name="fresh-noise", summary="Never says the same twice.")

    def rewrite(self, draws):
        return [Rewrite(os.urandom(8).hex()) for _ in draws]


class Scaled(WordRR):
    """Says that its losses are 1.3 times as large as they are."""

    def log_likelihood(self, tokens, candidates, epsilon):
        return 1.3 * super().log_likelihood(tokens, candidates, epsilon)


@dataclass(frozen=True)
class Deadly(Plain):
    """Kills its process when it meets a text, so many times; every death leaves a file."""

    folder: str
    text: str
    times: int
    card: ClassVar[Card] = Card(name="deadly", summary="Kills.")

    def rewrite(self, draws):
        deaths = len(list(Path(self.folder).iterdir()))
        if deaths < self.times and any(draw.text == self.text for draw in draws):
            (Path(self.folder) / f"{deaths}-{os.getpid()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().rewrite(draws)


@dataclass(frozen=True)
class Weighted(Plain):
    """Has weights that the environment chooses, and leaves a file for every batch that it rewrites."""

    folder: str
    card: ClassVar[Card] = Card(name="weighted", summary="Has weights.")

    def fingerprint(self):
        return {"weights": os.environ.get("WEIGHTS", "first")}

    def rewrite(self, draws):
        (Path(self.folder) / str(draws[0].key)).touch()
        return super().rewrite(draws)


@dataclass(frozen=True)
class Slow(Plain):
    """Takes its time, and notes each process that it runs in."""

    seconds: float = 0.02
    folder: str = ""
    card: ClassVar[Card] = Card(name="slow", summary="Waits.")

    def rewrite(self, draws):
        if self.folder:
            (Path(self.folder) / str(os.getpid())).touch()
        time.sleep(self.seconds)
        return super().rewrite(draws)


class Noisy(Plain):
    """Writes to standard output by every way, and reads standard input."""

    card: ClassVar[Card] = Card(name="noisy", summary="Prints.")

    def rewrite(self, draws):
        print("printed by a plug-in")  # noqa: T201
        sys.stdout.write("written by a plug-in\n")
        os.write(1, b"x" * 1000 + b"\n")
        os.system("echo by a child")
        assert sys.stdin.read() == ""
        return super().rewrite(draws)


class Surroundings(Plain):
    """Releases how many threads it may use, and in which folder it is."""

    card: ClassVar[Card] = Card(name="surroundings", summary="Looks around.")

    def rewrite(self, draws):
        import torch

        told = f"{torch.get_num_threads()} {os.environ['OMP_NUM_THREADS']} {Path.cwd()}"
        return [Rewrite(told) for _ in draws]


class Zero:
    """Gives every candidate the same score."""

    card: ClassVar[Card] = Card(name="zero", summary="Knows nothing.")

    def guess(self, seen):
        return [Guess(np.zeros(len(one.candidates))) for one in seen]


@dataclass(frozen=True)
class Server(Zero):
    """An attack that asks a server; it notes the process that asks."""

    folder: str
    seconds: float = 0.0
    card: ClassVar[Card] = Card(name="server", summary="Asks.")

    def callee(self, candidates):
        return Callee("the server", "questions to")

    def guess(self, seen):
        (Path(self.folder) / str(os.getpid())).touch()
        time.sleep(self.seconds)
        return super().guess(seen)


@dataclass
class Practising(Zero):
    """Tries the mechanism itself, and notes in which process."""

    folder: str
    card: ClassVar[Card] = Card(name="practising", summary="Tries.")

    @property
    def own_rewrites(self):
        return 1

    def practise_on(self, texts):
        self.met = set()

    def unfit(self, mechanism):
        return ""

    def meet(self, mechanism, epsilon):
        if epsilon not in self.met:
            self.met.add(epsilon)
            (Path(self.folder) / f"{epsilon}-{os.getpid()}").touch()

    def guess(self, seen):
        time.sleep(0.05)
        return super().guess(seen)


class OwnError(Exception):
    """An error that cannot be made again from its message."""

    def __init__(self, code, reason):
        super().__init__(f"{code}: {reason}")


@dataclass
class Raising(Zero):
    """Raises when it prepares or guesses."""

    what: str = "value"
    when: str = "guess"
    card: ClassVar[Card] = Card(name="raising", summary="Raises.")

    def prepare(self, pool):
        if self.when == "prepare":
            self._raise()

    def guess(self, seen):
        self._raise()

    def _raise(self):
        errors = {
            "value": ValueError("no such word\nin the list"),
            "own": OwnError(3, "broken"),
            "exit": SystemExit(3),
            "key": KeyError("gone"),
        }
        raise errors[self.what]


def shout(text, seed):
    """Rewrite as a function of a module does."""
    return text.upper() if seed % 3 else "quiet"
