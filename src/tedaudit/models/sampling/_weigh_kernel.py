# mypy: ignore-errors
"""The kernel of `sampling`, in Triton, which comes with torch for NVIDIA GPUs on Linux; None without it."""

BLOCK = 512  # items that are weighed together; 4,000 rows of 50,266 took .73 ms on an H200, .91 with 1,024

try:
    import triton
    import triton.language as tl
except ImportError:
    weigh_kernel = None
else:

    @triton.jit
    def weigh_kernel(logits, rows, factors, largest, floors, ends, out, width, BLOCK: tl.constexpr):  # noqa: N803, PLR0913, PLR0917
        """Write the weights of one pair, a block of items at a time."""
        pair = tl.program_id(0).to(tl.int64)
        item = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        is_inside = item < width
        low, high = tl.load(ends), tl.load(ends + 1)
        at = logits + tl.load(rows + pair) * width + item
        logit = tl.load(at, mask=is_inside, other=0.0).to(tl.float64)
        clipped = tl.minimum(tl.maximum(logit, low), high)
        weight = tl.exp((clipped - low) * tl.load(factors + pair) - tl.load(largest + pair))
        rest = tl.maximum(weight - tl.load(floors + pair), 0.0)
        tl.store(out + pair * width + item, rest, mask=is_inside)
