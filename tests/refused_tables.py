"""What a reader says of a table that it cannot read."""

import pytest

from tedaudit.errors import CorpusError
from tedaudit.text.readers import read_table


def refusal(path, **options):
    """Return the error, which names the file."""
    with pytest.raises(CorpusError) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert path.name in message
    return message
