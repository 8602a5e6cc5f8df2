"""Unpack compressed files up to a limit: a small file may hold more than any memory has."""

import bz2
import gzip
import importlib
import io
import lzma
import zlib
from typing import Any

COMPRESSIONS = ("bz2", "gz", "xz", "zst")
MOST_BYTES = 1 << 30
"""What a file may unpack to; somebody who needs more unpacks it beforehand."""
MOST_CELLS = 50_000_000
"""Rows times columns of a table: Parquet repeats a value, and JSON a missing one, for almost nothing."""
DAMAGE = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)
"""What unpacking raises if the content is not what the ending says."""


class TooLargeError(Exception):
    """A file that unpacks to more than the limit."""

    def __init__(self, limit: int, things: str) -> None:
        super().__init__(f"it unpacks to more than {limit:,} {things}, the limit for packed files")


class NoLibraryError(Exception):
    """A compression that nothing installed can unpack."""


def unpack(raw: bytes, ending: str) -> bytes:
    """Return the content of a compressed file; raise as soon as it is more than the limit."""
    with _open(io.BytesIO(raw), ending) as stream:
        content: bytes = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise TooLargeError(MOST_BYTES, "bytes")
    return content


def unpack_parquet(raw: bytes) -> dict[str, list[Any]]:
    """Return the columns of a Parquet file; no value is made before all are known to be small enough."""
    import polars

    try:
        table = polars.scan_parquet(io.BytesIO(raw))
        cells = table.select(polars.len()).collect().item() * len(table.collect_schema())
        if cells > MOST_CELLS:
            raise TooLargeError(MOST_CELLS, "values")
        frame = table.collect()
        if sum(map(_count_bytes, frame)) > MOST_BYTES:
            raise TooLargeError(MOST_BYTES, "bytes of text")
        return frame.to_dict(as_series=False)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OverflowError) as error:
        raise ValueError(str(error).partition("\n")[0]) from error


def _count_bytes(column: Any) -> int:
    """Return how many bytes of text a column holds, repeated values counted every time."""
    import polars

    if isinstance(column.dtype, polars.List | polars.Array):
        return _count_bytes(column.explode())
    if isinstance(column.dtype, polars.Struct):
        return sum(_count_bytes(column.struct.field(field.name)) for field in column.dtype.fields)
    if column.dtype == polars.Binary:
        return int(column.bin.size().sum() or 0)
    return int(column.str.len_bytes().sum() or 0) if column.dtype == polars.String else 0


def _open(packed: io.BytesIO, ending: str) -> Any:
    """Return a stream that unpacks no more than is read from it."""
    if ending == "gz":
        return gzip.GzipFile(fileobj=packed)
    if ending == "bz2":
        return bz2.BZ2File(packed)
    if ending == "xz":
        return lzma.LZMAFile(packed)
    # Python includes zstd from 3.14 on; pyarrow comes with the hub extra.
    for module in ("compression.zstd", "pyarrow"):
        try:
            library = importlib.import_module(module)
        except ImportError:
            continue
        return (
            library.input_stream(packed, compression="zstd") if module == "pyarrow" else library.open(packed)
        )
    raise NoLibraryError
