"""The kernel of :mod:`fairlevel.penalties.on_gpu.pairs`; importing this file needs Triton."""

# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def pair_sums(
    U, A, LENGTH, FACTOR, ROW_MEAN, MEAN, WHICH, WEIGHT, VALUE, SLOPE, rows, attributes,
    PADDED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Σ_j w_j K_ij (HLH)_ij and Σ_j w_j K_ij (HLH)_ij (u_i − u_j) for a block of rows i of one configuration.

    PADDED is the number of attributes, rounded up to a power of two.
    """
    config = tl.program_id(0).to(tl.int64)
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    real, attribute = row < rows, tl.arange(0, PADDED)
    bandwidth = tl.load(WHICH + config)
    factor, mean = tl.load(FACTOR + bandwidth), tl.load(MEAN + bandwidth)
    inside = real[:, None] & (attribute[None, :] < attributes)
    a = tl.load(A + row[:, None].to(tl.int64) * attributes + attribute[None, :], mask=inside, other=0.0)
    length = tl.load(LENGTH + row, mask=real, other=0.0)
    centre = tl.load(ROW_MEAN + bandwidth * rows + row, mask=real, other=0.0) - mean
    u = tl.load(U + config * rows + row, mask=real, other=0.0)
    value, slope = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32)
    for start in range(0, rows, BLOCK):
        other = start + tl.arange(0, BLOCK)
        there = other < rows
        inside = there[:, None] & (attribute[None, :] < attributes)
        b = tl.load(A + other[:, None].to(tl.int64) * attributes + attribute[None, :], mask=inside, other=0.0)
        v = tl.load(U + config * rows + other, mask=there, other=0.0)
        lengths = length[:, None] + tl.load(LENGTH + other, mask=there, other=0.0)[None, :]
        distance = tl.maximum(lengths - 2 * tl.dot(a, tl.trans(b), input_precision="tf32x3"), 0.0)
        centred = tl.exp(factor * distance) - centre[:, None]
        centred -= tl.load(ROW_MEAN + bandwidth * rows + other, mask=there, other=0.0)[None, :]
        apart = u[:, None] - v[None, :]
        weight = tl.load(WEIGHT + other, mask=there, other=0.0)  # zero beyond the last row
        product = tl.exp(-0.5 * apart * apart) * centred * weight[None, :]
        value += tl.sum(product, axis=1)
        slope += tl.sum(product * apart, axis=1)
    tl.store(VALUE + config * rows + row, value, mask=real)
    tl.store(SLOPE + config * rows + row, slope, mask=real)
