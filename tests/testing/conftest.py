import gc

import pytest


@pytest.fixture
def _young_heap():
    """Hide what other tests have left from the collector: looking through all of it takes long."""
    gc.freeze()
    yield
    gc.unfreeze()
