import gc

import pytest

from tedaudit.plugins.batches.sequences import pause_collection


def test_collection_pauses_and_goes_on_whatever_happens():
    assert gc.isenabled()
    seen = []

    @pause_collection()
    def fail():
        seen.append(gc.isenabled())
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert seen == [False]
    assert gc.isenabled()


def test_a_pause_inside_a_pause_ends_with_the_outer_one():
    with pause_collection():
        with pause_collection():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
