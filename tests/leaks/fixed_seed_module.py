"""A rewriter whose noise is seeded when its module is imported: the same in every fresh process."""

import random

_NOISE = random.Random(20)
_ODD = random.Random()


def fixed(text):
    words = text.split()
    return " ".join(word for word in words if _NOISE.random() < 0.5)


def fresh(text):
    words = text.split()
    return " ".join(word for word in words if _ODD.random() < 0.5)
