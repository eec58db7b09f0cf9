"""The kernels of :mod:`fairlevel.networks.on_gpu`; importing this file needs Triton."""

# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def _tanh(x):
    decay = tl.exp(-2 * tl.abs(x))
    size = (1 - decay) / (1 + decay)
    return tl.where(x < 0, -size, size)


@triton.jit
def _hidden(x, W1, b1, W2, b2, PRECISION: tl.constexpr):
    """Both activations of a block of rows: (BLOCK, padded input) -> (BLOCK, 64), (BLOCK, 64)."""
    z1 = _tanh(tl.dot(x, W1, input_precision=PRECISION) + b1[None, :])
    z2 = _tanh(tl.dot(z1, W2, input_precision=PRECISION) + b2[None, :])
    return z1, z2


@triton.jit
def forward(
    P, X, F, rows, panel_rows, inputs, outputs, stride, w1, b1, w2, b2, w3, b3,
    PADDED: tl.constexpr, PRECISION: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Predictions of one configuration on a panel of rows."""
    config = tl.program_id(0).to(tl.int64)
    panel = tl.program_id(1)
    own = P + config * stride
    unit, feature = tl.arange(0, 64), tl.arange(0, PADDED)
    W1 = tl.load(own + w1 + feature[:, None] * 64 + unit[None, :], mask=feature[:, None] < inputs, other=0.0)
    W2 = tl.load(own + w2 + unit[:, None] * 64 + unit[None, :])
    bias1, bias2, last = tl.load(own + b1 + unit), tl.load(own + b2 + unit), tl.load(own + w3 + unit)
    offset = tl.load(own + b3)
    for start in range(0, panel_rows, BLOCK):
        row = panel * panel_rows + start + tl.arange(0, BLOCK)
        inside = (row[:, None] < rows) & (feature[None, :] < inputs)
        x = tl.load(X + row[:, None].to(tl.int64) * inputs + feature[None, :], mask=inside, other=0.0)
        _, z2 = _hidden(x, W1, bias1, W2, bias2, PRECISION)
        tl.store(F + config * rows + row, tl.sum(z2 * last[None, :], axis=1) + offset, mask=row < rows)


@triton.jit
def backward(
    P, X, GIVEN, WEIGHT, PARTS, rows, panel_rows, inputs, outputs, stride, w1, b1, w2, b2, w3, b3,
    PADDED: tl.constexpr, PRECISION: tl.constexpr, GRADIENT_PRECISION: tl.constexpr, SQUARED: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Σ_i g_i ∂f_i/∂P of one configuration over a panel of rows.

    g is GIVEN, or with SQUARED the gradient of Σ w_i (f_i − GIVEN_i)² in f.
    """
    config = tl.program_id(0).to(tl.int64)
    panel = tl.program_id(1)
    own = P + config * stride
    unit, feature = tl.arange(0, 64), tl.arange(0, PADDED)
    W1 = tl.load(own + w1 + feature[:, None] * 64 + unit[None, :], mask=feature[:, None] < inputs, other=0.0)
    W2 = tl.load(own + w2 + unit[:, None] * 64 + unit[None, :])
    bias1, bias2, last = tl.load(own + b1 + unit), tl.load(own + b2 + unit), tl.load(own + w3 + unit)
    offset = tl.load(own + b3)
    G1, G2 = tl.zeros((PADDED, 64), tl.float32), tl.zeros((64, 64), tl.float32)
    s1, s2, s3 = tl.zeros((64,), tl.float32), tl.zeros((64,), tl.float32), tl.zeros((64,), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, panel_rows, BLOCK):
        row = panel * panel_rows + start + tl.arange(0, BLOCK)
        real = row < rows
        inside = real[:, None] & (feature[None, :] < inputs)
        x = tl.load(X + row[:, None].to(tl.int64) * inputs + feature[None, :], mask=inside, other=0.0)
        z1, z2 = _hidden(x, W1, bias1, W2, bias2, PRECISION)
        g = tl.load(GIVEN + config * rows + row, mask=real, other=0.0)
        if SQUARED:
            value = tl.sum(z2 * last[None, :], axis=1) + offset
            g = 2 * tl.load(WEIGHT + row, mask=real, other=0.0) * (value - g)
        total += g
        s3 += tl.sum(z2 * g[:, None], axis=0)
        d2 = g[:, None] * last[None, :] * (1 - z2 * z2)
        G2 += tl.dot(tl.trans(z1), d2, input_precision=GRADIENT_PRECISION)
        s2 += tl.sum(d2, axis=0)
        d1 = tl.dot(d2, tl.trans(W2), input_precision=GRADIENT_PRECISION) * (1 - z1 * z1)
        G1 += tl.dot(tl.trans(x), d1, input_precision=GRADIENT_PRECISION)
        s1 += tl.sum(d1, axis=0)
    out = PARTS + (config * tl.num_programs(1) + panel) * stride
    tl.store(out + w1 + feature[:, None] * 64 + unit[None, :], G1, mask=feature[:, None] < inputs)
    tl.store(out + w2 + unit[:, None] * 64 + unit[None, :], G2)
    tl.store(out + b1 + unit, s1)
    tl.store(out + b2 + unit, s2)
    tl.store(out + w3 + unit, s3)
    rest = tl.arange(0, 16)  # the last bias and the padding behind it
    tl.store(out + b3 + rest, tl.where(rest == 0, tl.sum(total, axis=0), 0.0), mask=b3 + rest < stride)


@triton.jit
def critic_loss(
    P, INPUT, TARGET, WEIGHT, PARTS, LOSS, INPUT_GRADIENT, rows, panel_rows, inputs, outputs, stride,
    w1, b1, w2, b2, w3, b3,
    PADDED: tl.constexpr, PRECISION: tl.constexpr, GRADIENT_PRECISION: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Σ_i w_i ‖g(u_i) − a_i‖² / k of one configuration over a panel of rows, and its gradients in P and u.

    PADDED is the number of outputs, rounded up to a power of two.
    """
    config = tl.program_id(0).to(tl.int64)
    panel = tl.program_id(1)
    own = P + config * stride
    unit, output = tl.arange(0, 64), tl.arange(0, PADDED)
    used = output < outputs
    first, W2 = tl.load(own + w1 + unit), tl.load(own + w2 + unit[:, None] * 64 + unit[None, :])
    W3 = tl.load(own + w3 + unit[:, None] * outputs + output[None, :], mask=used[None, :], other=0.0)
    bias1, bias2 = tl.load(own + b1 + unit), tl.load(own + b2 + unit)
    bias3 = tl.load(own + b3 + output, mask=used, other=0.0)
    G2, G3 = tl.zeros((64, 64), tl.float32), tl.zeros((64, PADDED), tl.float32)
    G1, s1, s2 = tl.zeros((64,), tl.float32), tl.zeros((64,), tl.float32), tl.zeros((64,), tl.float32)
    s3 = tl.zeros((PADDED,), tl.float32)
    for start in range(0, panel_rows, BLOCK):
        row = panel * panel_rows + start + tl.arange(0, BLOCK)
        real = row < rows
        u = tl.load(INPUT + config * rows + row, mask=real, other=0.0)
        a = tl.load(
            TARGET + row[:, None].to(tl.int64) * outputs + output[None, :],
            mask=real[:, None] & used[None, :],
            other=0.0,
        )
        w = tl.load(WEIGHT + row, mask=real, other=0.0) / outputs
        z1 = _tanh(u[:, None] * first[None, :] + bias1[None, :])
        z2 = _tanh(tl.dot(z1, W2, input_precision=PRECISION) + bias2[None, :])
        error = tl.dot(z2, W3, input_precision=PRECISION) + bias3[None, :] - a
        tl.store(LOSS + config * rows + row, w * tl.sum(error * error, axis=1), mask=real)
        output_gradient = 2 * w[:, None] * error
        G3 += tl.dot(tl.trans(z2), output_gradient, input_precision=GRADIENT_PRECISION)
        s3 += tl.sum(output_gradient, axis=0)
        d2 = tl.dot(output_gradient, tl.trans(W3), input_precision=GRADIENT_PRECISION) * (1 - z2 * z2)
        G2 += tl.dot(tl.trans(z1), d2, input_precision=GRADIENT_PRECISION)
        s2 += tl.sum(d2, axis=0)
        d1 = tl.dot(d2, tl.trans(W2), input_precision=GRADIENT_PRECISION) * (1 - z1 * z1)
        G1 += tl.sum(d1 * u[:, None], axis=0)
        s1 += tl.sum(d1, axis=0)
        tl.store(INPUT_GRADIENT + config * rows + row, tl.sum(d1 * first[None, :], axis=1), mask=real)
    out = PARTS + (config * tl.num_programs(1) + panel) * stride
    tl.store(out + w1 + unit, G1)
    tl.store(out + b1 + unit, s1)
    tl.store(out + w2 + unit[:, None] * 64 + unit[None, :], G2)
    tl.store(out + b2 + unit, s2)
    tl.store(out + w3 + unit[:, None] * outputs + output[None, :], G3, mask=used[None, :])
    tl.store(out + b3 + output, s3, mask=b3 + output < stride)  # zero beyond the outputs


@triton.jit
def second(
    P, D, X, TARGET, WEIGHT, PARTS, ALONG, rows, panel_rows, inputs, outputs, stride, w1, b1, w2, b2, w3, b3,
    PADDED: tl.constexpr, PRECISION: tl.constexpr, GRADIENT_PRECISION: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The Hessian of Σ_i w_i (f_i − TARGET_i)² in P, times D, over a panel of rows of one configuration, and the
    derivatives of f along D.

    Every quantity of the forward and the backward pass has a derivative along D; its name begins with ``moved``.
    """
    config = tl.program_id(0).to(tl.int64)
    panel = tl.program_id(1)
    own, way = P + config * stride, D + config * stride
    unit, feature = tl.arange(0, 64), tl.arange(0, PADDED)
    real_feature = feature[:, None] < inputs
    layer1, layer2 = feature[:, None] * 64 + unit[None, :], unit[:, None] * 64 + unit[None, :]
    W1 = tl.load(own + w1 + layer1, mask=real_feature, other=0.0)
    moved_W1 = tl.load(way + w1 + layer1, mask=real_feature, other=0.0)
    W2, moved_W2 = tl.load(own + w2 + layer2), tl.load(way + w2 + layer2)
    bias1, moved_bias1 = tl.load(own + b1 + unit), tl.load(way + b1 + unit)
    bias2, moved_bias2 = tl.load(own + b2 + unit), tl.load(way + b2 + unit)
    last, moved_last = tl.load(own + w3 + unit), tl.load(way + w3 + unit)
    offset, moved_offset = tl.load(own + b3), tl.load(way + b3)
    G1, G2 = tl.zeros((PADDED, 64), tl.float32), tl.zeros((64, 64), tl.float32)
    s1, s2, s3 = tl.zeros((64,), tl.float32), tl.zeros((64,), tl.float32), tl.zeros((64,), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, panel_rows, BLOCK):
        row = panel * panel_rows + start + tl.arange(0, BLOCK)
        real = row < rows
        inside = real[:, None] & (feature[None, :] < inputs)
        x = tl.load(X + row[:, None].to(tl.int64) * inputs + feature[None, :], mask=inside, other=0.0)
        z1, z2 = _hidden(x, W1, bias1, W2, bias2, PRECISION)
        slope1, slope2 = 1 - z1 * z1, 1 - z2 * z2
        moved_z1 = slope1 * (tl.dot(x, moved_W1, input_precision=PRECISION) + moved_bias1[None, :])
        moved_sum = tl.dot(moved_z1, W2, input_precision=PRECISION) + tl.dot(z1, moved_W2, input_precision=PRECISION)
        moved_z2 = slope2 * (moved_sum + moved_bias2[None, :])
        value = tl.sum(z2 * last[None, :], axis=1) + offset
        along = tl.sum(moved_z2 * last[None, :] + z2 * moved_last[None, :], axis=1) + moved_offset
        tl.store(ALONG + config * rows + row, along, mask=real)
        twice = 2 * tl.load(WEIGHT + row, mask=real, other=0.0)
        g = twice * (value - tl.load(TARGET + config * rows + row, mask=real, other=0.0))
        moved_g = twice * along
        total += moved_g
        s3 += tl.sum(moved_z2 * g[:, None] + z2 * moved_g[:, None], axis=0)
        at_z2 = g[:, None] * last[None, :]
        d2 = at_z2 * slope2
        moved_d2 = (moved_g[:, None] * last[None, :] + g[:, None] * moved_last[None, :]) * slope2
        moved_d2 -= 2 * at_z2 * z2 * moved_z2
        s2 += tl.sum(moved_d2, axis=0)
        G2 += tl.dot(tl.trans(moved_z1), d2, input_precision=GRADIENT_PRECISION)
        G2 += tl.dot(tl.trans(z1), moved_d2, input_precision=GRADIENT_PRECISION)
        at_z1 = tl.dot(d2, tl.trans(W2), input_precision=GRADIENT_PRECISION)
        moved_at_z1 = tl.dot(moved_d2, tl.trans(W2), input_precision=GRADIENT_PRECISION)
        moved_at_z1 += tl.dot(d2, tl.trans(moved_W2), input_precision=GRADIENT_PRECISION)
        moved_d1 = moved_at_z1 * slope1 - 2 * at_z1 * z1 * moved_z1
        s1 += tl.sum(moved_d1, axis=0)
        G1 += tl.dot(tl.trans(x), moved_d1, input_precision=GRADIENT_PRECISION)
    out = PARTS + (config * tl.num_programs(1) + panel) * stride
    tl.store(out + w1 + layer1, G1, mask=real_feature)
    tl.store(out + w2 + layer2, G2)
    tl.store(out + b1 + unit, s1)
    tl.store(out + b2 + unit, s2)
    tl.store(out + w3 + unit, s3)
    rest = tl.arange(0, 16)  # the last bias and the padding behind it
    tl.store(out + b3 + rest, tl.where(rest == 0, tl.sum(total, axis=0), 0.0), mask=b3 + rest < stride)


@triton.jit
def adam(
    P, GRADIENT, MEAN, SQUARE, RATE, STEP, parameters, last_step, final_fraction, beta2, new1, new2, epsilon,
    log_beta1, log_beta2, BLOCK: tl.constexpr,
):  # fmt: skip
    """One step of Adam on some parameters of one configuration, in place; new1 and new2 are 1 − β1 and 1 − β2, which
    would lose digits if computed here in 32 bits.
    """
    config = tl.program_id(0).to(tl.int64)
    number = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    real = number < parameters
    here = config * parameters + number
    gradient = tl.load(GRADIENT + here, mask=real, other=0.0)
    mean, square = tl.load(MEAN + here, mask=real, other=0.0), tl.load(SQUARE + here, mask=real, other=0.0)
    mean += new1 * (gradient - mean)
    square = beta2 * square + new2 * gradient * gradient
    step = tl.load(STEP)  # float64, as is 1 − β^t below
    progress = tl.minimum(step / last_step, 1.0)
    annealed = final_fraction + (1 - final_fraction) * (1 + tl.cos(3.141592653589793 * progress)) / 2
    rate = tl.load(RATE + config) * (annealed / (1 - tl.exp(log_beta1 * (step + 1)))).to(tl.float32)
    scale = tl.sqrt(square / (1 - tl.exp(log_beta2 * (step + 1))).to(tl.float32)) + epsilon
    tl.store(MEAN + here, mean, mask=real)
    tl.store(SQUARE + here, square, mask=real)
    tl.store(P + here, tl.load(P + here, mask=real, other=0.0) - rate * mean / scale, mask=real)


@triton.jit
def pair_sums(
    U, A, LENGTH, factor, ROW_MEAN, MEAN, WEIGHT, VALUE, SLOPE, rows, attributes,
    PADDED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Σ_j w_j K_ij (HLH)_ij and Σ_j w_j K_ij (HLH)_ij (u_i − u_j) for a block of rows i of one configuration.

    PADDED is the number of attributes, rounded up to a power of two.
    """
    config = tl.program_id(0).to(tl.int64)
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    real, attribute = row < rows, tl.arange(0, PADDED)
    mean = tl.load(MEAN)
    inside = real[:, None] & (attribute[None, :] < attributes)
    a = tl.load(A + row[:, None].to(tl.int64) * attributes + attribute[None, :], mask=inside, other=0.0)
    length = tl.load(LENGTH + row, mask=real, other=0.0)
    centre = tl.load(ROW_MEAN + row, mask=real, other=0.0) - mean
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
        centred -= tl.load(ROW_MEAN + other, mask=there, other=0.0)[None, :]
        apart = u[:, None] - v[None, :]
        weight = tl.load(WEIGHT + other, mask=there, other=0.0)  # zero beyond the last row
        product = tl.exp(-0.5 * apart * apart) * centred * weight[None, :]
        value += tl.sum(product, axis=1)
        slope += tl.sum(product * apart, axis=1)
    tl.store(VALUE + config * rows + row, value, mask=real)
    tl.store(SLOPE + config * rows + row, slope, mask=real)
