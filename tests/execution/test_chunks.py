import numpy as np

from helpers import reference
from tedaudit.batches import Observations, Rewrites
from tedaudit.execution.chunks import GuessChunk
from tedaudit.seeding import key_words
from tedaudit.types import Rewrite


def test_observations_hold_the_texts_of_the_candidates_in_order():
    candidates = np.array([[2, 0], [1, 2]], dtype=np.int32)
    outputs, keys = Rewrites.of([Rewrite("x")] * 2), key_words([1, 2])
    seen = Observations(outputs, ("a", "b", "c"), candidates, keys)
    chunk = GuessChunk(reference("attack", "lexical"), seen)
    assert [o.candidates for o in chunk.batch(0, 2)] == [("c", "a"), ("b", "c")]
    assert [o.tie_key for o in chunk.batch(1, 2)] == [2]
