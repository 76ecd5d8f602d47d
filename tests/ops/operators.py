"""One case an operator of src/graph/aten_ops.def, called directly: scalars, empty tensors, sizes of 1, broadcasting, strides
that are not row-major, every option. A case holds several calls, each its own node."""

import torch

aten = torch.ops.aten


def shapes_of_interest():
    """Values with every kind of shape and stride."""
    return [
        torch.randn(()),
        torch.randn(0, 3),
        torch.randn(1),
        torch.randn(3, 1, 5),
        torch.randn(5, 3).t(),
        torch.randn(1, 4).expand(3, 4),
        torch.randn(2, 3, 4)[:, ::2, 1:],
    ]


def broadcast_pairs():
    return [
        (torch.randn(3, 1, 5), torch.randn(4, 1)),
        (torch.randn(()), torch.randn(2, 3)),
        (torch.randn(2, 3), torch.randn(())),
        (torch.randn(0, 3), torch.randn(1, 3)),
        (torch.randn(5, 3).t(), torch.randn(3, 5)),
        (torch.randn(1), torch.randn(1)),
    ]


def unary(op, prepare=lambda x: x):
    inputs = [prepare(x) for x in shapes_of_interest()]
    return lambda *xs: [op(x) for x in xs], inputs


def binary(op, prepare=lambda x: x):
    flat = [prepare(x) for pair in broadcast_pairs() for x in pair]
    return lambda *xs: [op(a, b) for a, b in zip(xs[::2], xs[1::2])], flat


def with_scalar(op, *scalars, prepare=lambda x: x):
    inputs = [prepare(x) for x in shapes_of_interest()]
    return lambda *xs: [op(x, *scalars) for x in xs], inputs


def positive(x):
    return x.abs() + 0.5


def integers(x):
    return (x * 10).to(torch.int64)


def small_integers(x):
    return (x * 10).to(torch.int32)


def booleans(x):
    return x > 0


UNARY = {
    "neg": None, "abs": None, "sign": None, "sgn": None, "reciprocal": positive, "sqrt": positive,
    "rsqrt": positive, "floor": None, "ceil": None, "round": None, "trunc": None, "frac": None, "exp": None, "exp2": None,
    "expm1": None, "log": positive, "log2": positive, "log10": positive, "log1p": positive, "sin": None, "cos": None,
    "tan": None, "asin": lambda x: x.tanh(), "acos": lambda x: x.tanh(), "atan": None, "sinh": None, "cosh": None,
    "tanh": None, "asinh": None, "acosh": lambda x: x.abs() + 1.5, "atanh": lambda x: x.tanh() * 0.9, "erf": None,
    "erfc": None, "lgamma": positive, "sigmoid": None, "relu": None, "leaky_relu": None, "elu": None, "gelu": None,
    "silu": None, "mish": None, "softplus": lambda x: x * 10, "hardtanh": None, "hardsigmoid": lambda x: x * 3,
    "hardswish": lambda x: x * 3, "isnan": lambda x: torch.where(x > 0, torch.nan, x),
    "isinf": lambda x: torch.where(x > 0, torch.inf, x), "logical_not": booleans, "bitwise_not": integers,
    "alias": None, "clone": None, "lift_fresh_copy": None,
}

BINARY = {
    "add.Tensor": None, "sub.Tensor": None, "rsub.Tensor": None, "mul.Tensor": None, "div.Tensor": positive, "fmod.Tensor": positive,
    "remainder.Tensor": lambda x: x + torch.sign(x), "pow.Tensor_Tensor": positive, "hypot": None, "logaddexp": None,
    "atan2": None, "maximum": None, "minimum": None, "eq.Tensor": small_integers, "ne.Tensor": small_integers,
    "lt.Tensor": None, "le.Tensor": small_integers, "gt.Tensor": None, "ge.Tensor": small_integers, "logical_and": booleans,
    "logical_or": booleans, "logical_xor": booleans, "bitwise_and.Tensor": integers, "bitwise_or.Tensor": integers,
    "bitwise_xor.Tensor": small_integers, "floor_divide": lambda x: integers(x.abs()) + 3,
    "bitwise_left_shift.Tensor": lambda x: integers(x.abs().clamp(max=1)), "clamp_min.Tensor": None,
    "bitwise_right_shift.Tensor": lambda x: integers(x.abs().clamp(max=1)), "clamp_max.Tensor": None,
}

SCALAR = {
    "add.Scalar": (0.7, 2), "sub.Scalar": (0.7, 2), "rsub.Scalar": (0.7, 2), "mul.Scalar": (-1.5,), "div.Scalar": (3,),
    "fmod.Scalar": (0.7,), "remainder.Scalar": (-0.7,), "pow.Tensor_Scalar": (3,), "eq.Scalar": (0,), "ne.Scalar": (0,),
    "lt.Scalar": (0.1,), "le.Scalar": (0.1,), "gt.Scalar": (0.1,), "ge.Scalar": (0.1,), "clamp": (-0.5, 0.5),
    "clamp_min": (0.2,), "clamp_max": (0.2,), "threshold": (0.1, 20.0), "softplus": (2, 5), "elu": (1.3, 1.1, 0.9),
    "leaky_relu": (0.2,), "hardtanh": (-0.3, 0.4),
}

INTEGER_SCALAR = {"bitwise_and.Scalar": 6, "bitwise_or.Scalar": 6, "bitwise_xor.Scalar": 6,
                  "bitwise_left_shift.Tensor_Scalar": 2, "bitwise_right_shift.Tensor_Scalar": 2}


def find(name):
    packet, _, overload = name.partition(".")
    return getattr(getattr(aten, packet), overload or "default")


def pointwise_cases():
    for name, prepare in UNARY.items():
        yield f"op_{name}", *unary(find(name), prepare or (lambda x: x))
    for name, prepare in BINARY.items():
        yield f"op_{name}", *binary(find(name), prepare or (lambda x: x))
    for name, scalars in SCALAR.items():
        yield f"op_{name}_scalar", *with_scalar(find(name), *scalars)
    for name, scalar in INTEGER_SCALAR.items():
        yield f"op_{name}", *with_scalar(find(name), scalar, prepare=integers)
    for mode in (None, "floor", "trunc"):
        yield f"op_div_mode_{mode}", *binary(lambda a, b: aten.div.Tensor_mode(a, b, rounding_mode=mode), positive)
        yield f"op_div_scalar_mode_{mode}", *with_scalar(lambda a, b: aten.div.Scalar_mode(a, b, rounding_mode=mode), -0.7)
    yield "op_div_integers", *binary(lambda a, b: aten.div.Tensor(a, b), lambda x: integers(x.abs()) + 1)
    yield "op_div_integers_floor", *binary(lambda a, b: aten.div.Tensor_mode(a, b, rounding_mode="floor"), lambda x: integers(x) * 2 + 1)
    yield "op_remainder_integers", *binary(aten.remainder.Tensor, lambda x: integers(x) * 2 + 1)
    yield "op_add_alpha", *binary(lambda a, b: aten.add.Tensor(a, b, alpha=-2.5))
    yield "op_sub_alpha", *binary(lambda a, b: aten.sub.Tensor(a, b, alpha=3))
    yield "op_int8_wraps", lambda a: [a + a, a * 3, -a], [torch.arange(-128, 128).to(torch.int8)]
    yield "op_uint8_wraps", lambda a: [a + a, a * 3, a - 7], [torch.arange(0, 256).to(torch.uint8)]
    yield "op_gelu_tanh", *unary(lambda x: aten.gelu.default(x, approximate="tanh"))
    for form in ("none", "tanh"):
        yield f"op_gelu_backward_{form}", *binary(lambda g, x: aten.gelu_backward.default(g, x, approximate=form), lambda x: x)
    yield "op_sigmoid_backward", *same_shape(aten.sigmoid_backward.default)
    yield "op_tanh_backward", *same_shape(aten.tanh_backward.default)
    yield "op_threshold_backward", *same_shape(lambda g, x: aten.threshold_backward.default(g, x, 0.1))
    yield "op_hardshrink_backward", *same_shape(lambda g, x: aten.hardshrink_backward.default(g, x, 0.5))
    yield "op_softshrink_backward", *same_shape(lambda g, x: aten.softshrink_backward.default(g, x, 0.5))
    yield "op_clamp_tensors", lambda x, a, b: [aten.clamp.Tensor(x, a, b), aten.clamp.Tensor(x, None, b), aten.clamp.Tensor(x, a)], [
        torch.randn(3, 4), torch.randn(4) - 1, torch.randn(3, 1) + 1]
    yield "op_pow_scalar", lambda x: [aten.pow.Scalar(2.5, x), aten.pow.Scalar(2, x), aten.pow.Tensor_Scalar(x.abs(), 0.5),
                                      aten.pow.Tensor_Scalar(x, -2), aten.pow.Tensor_Scalar(x, 0)], [torch.randn(3, 4)]
    three = [torch.randn(3, 1, 4), torch.randn(5, 1), torch.randn(4)]
    yield "op_addcmul", lambda a, b, c: [aten.addcmul.default(a, b, c), aten.addcmul.default(a, b, c, value=0.5)], three
    yield "op_addcdiv", lambda a, b, c: [aten.addcdiv.default(a, b, c.abs() + 1, value=-2)], three
    yield "op_lerp", lambda a, b, c: [aten.lerp.Tensor(a, b, c), aten.lerp.Scalar(a, b, 0.3), aten.lerp.Scalar(a, b, 0.8)], three
    yield "op_where", lambda a, b, c: [
        aten.where.self(a > 0, b, c), torch.where(a > 0, b, 0.0), torch.where(a > 0, 1.5, b), aten.where.self(a > 0, b[0, 0], c)], three
    yield "op_masked_fill", lambda a, b, c: [aten.masked_fill.Scalar(a, c > 0, -1e9), aten.masked_fill.Tensor(a, c > 0, b[0, 0]),
                                             aten.masked_fill.Scalar(a, c > 0, float("-inf"))], three
    yield "op_bucketize", lambda x, b: [aten.bucketize.Tensor(x, b), aten.bucketize.Tensor(x, b, out_int32=True, right=True)], [
        torch.tensor([[-1.5, 0.0, 0.5], [1.0, 3.0, 0.25]]), torch.tensor([-1.0, 0.0, 0.5, 1.0])]
    def conversions(x):
        return [aten._to_copy.default(x, dtype=d) for d in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int8,
                                                            torch.int32, torch.int64, torch.bool)]
    yield "op_to_copy", conversions, [torch.randn(3, 4) * 3]
    yield "op_to_copy_integers", conversions, [torch.arange(-5, 5)]
    yield "op_to_copy_booleans", conversions, [torch.tensor([True, False])]
    yield "op_convert_element_type", lambda x: [torch.ops.prims.convert_element_type.default(x, torch.int32)], [torch.randn(3) * 4]
    special = torch.tensor([float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1.0])
    yield "op_special_values", lambda x: [x + 1, x * 0, 1 / x, x.exp(), x.abs().log(), x.abs().sqrt(), x.tanh(), x.sigmoid(), x.relu(),
                                          x.maximum(torch.zeros_like(x)), x.sign(), x.floor(), x == x, x < 1, x.erf(), x.atan(), x.isnan(),
                                          x.clamp(-1, 1), x.abs().log1p()], [special]


def same_shape(op):
    pairs = [(torch.randn(s), torch.randn(s)) for s in ((), (0, 3), (1,), (3, 1, 5))]
    flat = [x for pair in pairs for x in pair]
    return lambda *xs: [op(a, b) for a, b in zip(xs[::2], xs[1::2])], flat


def reduction_cases():
    x = torch.randn(3, 1, 5)
    t = torch.randn(4, 3, 2).permute(2, 0, 1)
    e = torch.randn(0, 3)
    s = torch.randn(())
    every = [x, t, s]
    yield "op_sum", lambda x, t, e, s: [
        aten.sum.default(x), aten.sum.default(e), aten.sum.default(s), aten.sum.dim_IntList(t, [0, -1]), aten.sum.dim_IntList(t, [1], True),
        aten.sum.dim_IntList(e, [0]), aten.sum.dim_IntList(e, [1], True), aten.sum.dim_IntList(x, []), aten.sum.dim_IntList(x, None, True),
        aten.sum.dim_IntList(s, [0]), aten.sum.default((x > 0)), aten.sum.dim_IntList((x * 3).to(torch.int8), [0])], [x, t, e, s]
    yield "op_mean", lambda x, t, s: [aten.mean.default(x), aten.mean.default(s), aten.mean.dim(t, [0, -1]), aten.mean.dim(t, [1], True),
                                      aten.mean.dim(x, None)], every
    yield "op_prod", lambda x, t, e: [aten.prod.default(x), aten.prod.default(e), aten.prod.dim_int(t, 1), aten.prod.dim_int(e, 0, True),
                                      aten.prod.default((x * 3).to(torch.int64))], [x, t, e]
    for name in ("amax", "amin"):
        op = find(name)
        yield f"op_{name}", lambda x, t, e, s, op=op: [op(x), op(t, [0, 2]), op(t, [-1], True), op(e, [1], True), op(s)], [x, t, e, s]
    for name in ("max", "min"):
        packet = getattr(aten, name)
        yield f"op_{name}", lambda x, t, s, p=packet: [p.default(x), p.default(s), *p.dim(t, 1), *p.dim(t, -1, True), *p.dim(x, 1)], every
    for name in ("argmax", "argmin"):
        op = find(name)
        yield f"op_{name}", lambda x, t, s, op=op: [op(x), op(s), op(t, 1), op(t, -1, True), op(x, None, True), op(x, 1)], every
    for name in ("any", "all"):
        packet = getattr(aten, name)
        yield f"op_{name}", lambda x, t, e, p=packet: [p.default(x > 0), p.default(e > 0), p.dim(t > 0, 1), p.dim(t > 1, -1, True), p.dim(e > 0, 0),
                                                       p.dim(x > 5, 2)], [x, t, e]
    yield "op_any_dims", lambda t: [aten.any.dims(t > 1, [0, 2]), aten.any.dims(t > 1, None, True)], [t]
    yield "op_var", lambda x, t: [
        aten.var.correction(x, None), aten.var.correction(t, [0, 2], correction=0), aten.var.correction(t, [1], correction=1, keepdim=True),
        aten.var.correction(x, [2], correction=0.5), *aten.var_mean.correction(t, [0, 2], correction=0),
        *aten.var_mean.correction(x, [2], keepdim=True)], [x, t]
    yield "op_logsumexp", lambda x, t, m: [aten.logsumexp.default(x, [2]), aten.logsumexp.default(t, [0, 1], True), aten.logsumexp.default(m, [1])], [
        x, t, torch.tensor([[float("-inf"), 0.0], [float("-inf"), float("-inf")]])]
    for name in ("_softmax", "_log_softmax"):
        op = find(name)
        yield f"op_{name}", lambda x, t, e, s, m, op=op: [op(x, 2, False), op(t, 0, False), op(t, -1, False), op(e, 1, False), op(s, 0, False),
                                                          op(m, 1, False), op(x, 1, False)], [
            x, t, e, s, torch.tensor([[float("-inf"), 0.0, 1.0], [1e4, -1e4, 0.0]])]
        back = find(f"{name}_backward_data")
        yield f"op_{name}_backward", lambda g, t, op=op, back=back: [back(g, op(t, 1, False), 1, t.dtype)], [torch.randn(2, 4, 3), t]
    for name in ("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"):
        op = find(name)
        yield f"op_{name}", lambda x, t, s, op=op: [op(x, 2), op(t, 0), op(t, -2), op(s, 0), op(x, 1)], every
    yield "op_cumsum_integers", lambda x: [aten.cumsum.default((x * 5).to(torch.int32), 0), aten.cumsum.default(x > 0, 2)], [x]
    yield "op_sort", lambda x, t, s: [*aten.sort.default(x), *aten.sort.default(t, 1, True), *aten.sort.stable(t, stable=True, dim=0),
                                      *aten.sort.default(s)], every
    yield "op_topk", lambda x, t, s: [*aten.topk.default(x, 2), *aten.topk.default(t, 3, 1), *aten.topk.default(t, 2, 1, False),
                                      *aten.topk.default(x, 0), *aten.topk.default(s, 1)], every
    yield "op_kthvalue", lambda x, t: [*aten.kthvalue.default(x, 2), *aten.kthvalue.default(t, 1, 1, True)], [x, t]
    yield "op_median", lambda x, t: [*aten.median.dim(x, 2), *aten.median.dim(t, 1, True)], [x, t]
    nans = torch.tensor([[1.0, float("nan"), 2.0], [3.0, 1.0, 2.0]])
    yield "op_nan_order", lambda x: [aten.amax.default(x, [1]), *aten.max.dim(x, 1), *aten.min.dim(x, 1), aten.argmax.default(x, 1),
                                     *aten.sort.default(x), *aten.sort.default(x, -1, True), *aten.topk.default(x, 2)], [nans]


def layout_cases():
    x = torch.randn(2, 3, 4)
    t = torch.randn(4, 3, 2).permute(2, 1, 0)
    e = torch.randn(0, 3)
    yield "op_view", lambda x, e: [aten.view.default(x, [6, 4]), aten.view.default(x, [-1]), aten.view.default(x, [2, -1, 2]),
                                   aten._unsafe_view.default(x, [24]), aten.view.default(e, [3, 0]), x.reshape(4, 6)], [x, e]
    yield "op_squeeze", lambda x: [aten.squeeze.default(x), aten.squeeze.dim(x, 0), aten.squeeze.dims(x, [0, 2]), aten.squeeze.dim(x, 1),
                                   aten.unsqueeze.default(x, 0), aten.unsqueeze.default(x, -1), aten.unsqueeze.default(x, 2)], [torch.randn(1, 3, 1, 2)]
    yield "op_permute", lambda x, e: [aten.permute.default(x, [2, 0, 1]), aten.permute.default(x, [-1, 1, 0]), aten.transpose.int(x, 0, -1),
                                      aten.t.default(x[0]), aten.permute.default(e, [1, 0])], [x, e]
    yield "op_expand", lambda x, s: [aten.expand.default(x, [5, 3, 4]), aten.expand.default(x, [2, -1, 3, -1]), aten.expand.default(s, [2, 2]),
                                     aten.expand.default(x, [0, 3, 4])], [torch.randn(1, 3, 4)[:, :, :], torch.randn(())]
    yield "op_repeat", lambda x: [aten.repeat.default(x, [2, 1, 3]), aten.repeat.default(x, [2, 1, 1, 2]), aten.repeat.default(x, [0, 1, 1])], [x]
    yield "op_slice", lambda x, t: [aten.slice.Tensor(x, 1, 1), aten.slice.Tensor(x, 2, -3, -1), aten.slice.Tensor(t, 0, 0, 9223372036854775807, 2),
                                    aten.slice.Tensor(t, -1, 5, 2), aten.slice.Tensor(x)], [x, t]
    yield "op_slice_scatter", lambda x, y: [aten.slice_scatter.default(x, y, 2, 0, 4, 2), aten.slice_scatter.default(x, x[1:], 0, 0, 1)], [
        x, torch.randn(2, 3, 2)]
    yield "op_select", lambda x, t: [aten.select.int(x, 1, 2), aten.select.int(t, -1, -1), aten.select_scatter.default(x, t[:, :, 0], 2, 1)], [x, t]
    yield "op_diagonal", lambda x, y: [aten.diagonal.default(x), aten.diagonal.default(x, 1, 1, 2), aten.diagonal.default(x, -1, 2, 0),
                                       aten.diagonal_scatter.default(x, y, 0, 0, 1), aten.diagonal.default(x, 9)], [x, torch.randn(4, 2)]
    yield "op_unfold", lambda x: [aten.unfold.default(x, 2, 2, 1), aten.unfold.default(x, 1, 3, 2), aten.unfold.default(x, 0, 1, 1)], [x]
    yield "op_as_strided", lambda x: [aten.as_strided.default(x, [3, 3], [4, 1], 2), aten.as_strided.default(x, [2, 2], [0, 5])], [x]
    yield "op_flip", lambda x, e, s: [aten.flip.default(x, [0]), aten.flip.default(x, [-1, 1]), aten.flip.default(e, [0]), aten.flip.default(s, [])], [
        x, e, torch.randn(())]
    yield "op_roll", lambda x: [aten.roll.default(x, [1], [0]), aten.roll.default(x, [-5, 2], [1, 2]), aten.roll.default(x, [3])], [x]
    yield "op_cat", lambda x, t, e: [aten.cat.default([x, t]), aten.cat.default([x, t, x], -1), aten.cat.default([e, e], 1),
                                     aten.cat.default([x, x[:0]]), aten.stack.default([x, t], 1), aten.stack.default([x, t], -1)], [x, t, e]
    yield "op_split", lambda x: [*aten.split_with_sizes.default(x, [1, 0, 3], 2), *aten.split.Tensor(x, 2, 1), *aten.unbind.int(x, 1)], [x]
    yield "op_pad", lambda x: [aten.constant_pad_nd.default(x, [1, 2]), aten.constant_pad_nd.default(x, [-1, 2, 0, -1], 1.5),
                               aten.constant_pad_nd.default(x, [0, 0, 1, 1, 2, 0], -1)], [x]
    yield "op_replication_pad2d_backward", lambda g, x: [aten.replication_pad2d_backward.default(g, x, [1, 2, 0, 1])], [
        torch.randn(2, 4, 7), x]
    yield "op_replication_pad3d_backward", lambda g, x: [aten.replication_pad3d_backward.default(g, x, [1, 2, 0, 1, 2, 0])], [
        torch.randn(1, 4, 4, 7), x[None]]
    index = torch.tensor([[[0, 2], [1, 1], [3, 0]]])
    yield "op_gather", lambda x, i, s: [aten.gather.default(x, 2, i), aten.gather.default(x, -1, i[:, :2]), aten.gather.default(s, 0, i[0, 0, 0])], [
        x, index, torch.randn(())]
    source = torch.randn(2, 3, 2)
    yield "op_scatter", lambda x, i, s: [aten.scatter.src(x, 2, i, s), aten.scatter.value(x, 2, i, 7.5), aten.scatter.value(x, -1, i, 0),
                                         aten.scatter_add.default(x, 2, i * 0, s), aten.scatter_add.default(x, 0, i % 2, s)], [x, index, source]
    for kind in ("sum", "prod", "amax", "amin", "mean"):
        yield f"op_scatter_reduce_{kind}", lambda x, i, s, k=kind: [
            aten.scatter_reduce.two(x, 2, i, s, k), aten.scatter_reduce.two(x, 2, i * 0, s, k, include_self=False)], [x, index, source]
    i, j = torch.tensor([0, 1, 1]), torch.tensor([[2], [0]])
    yield "op_index", lambda x, i, j: [
        aten.index.Tensor(x, [i]), aten.index.Tensor(x, [None, j]), aten.index.Tensor(x, [i, None, i]), aten.index.Tensor(x, [None, i, j]),
        aten.index.Tensor(x, [i - 2, j]), aten._unsafe_index.Tensor(x, [None, i])], [x, i, j]
    yield "op_index_put", lambda x, i, v: [
        aten.index_put.default(x, [i], v), aten.index_put.default(x, [i], v, True), aten.index_put.default(x, [None, None, i], v[:, 0, :1, None] * 0 + 1),
        aten.index_put.default(x, [x > 0], v[0, 0, 0]), aten._unsafe_index_put.default(x, [i], v, True)], [x, torch.tensor([1, 0]), torch.randn(2, 3, 4)]
    yield "op_index_select", lambda x, i: [aten.index_select.default(x, 0, i), aten.index_select.default(x, -1, i), aten.index_select.default(x, 1, i[:0])], [x, i]
    yield "op_index_add", lambda x, i: [aten.index_add.default(x, 1, i, x), aten.index_add.default(x, 1, i, x, alpha=2)], [x, i]
    yield "op_embedding", lambda w, i: [aten.embedding.default(w, i), aten.embedding.default(w, i[0, 0]), aten.embedding.default(w, i[:0])], [
        torch.randn(5, 3), torch.tensor([[0, 4, 4], [1, 2, 3]])]
    yield "op_embedding_backward", lambda g, i: [aten.embedding_dense_backward.default(g, i, 5, -1, False),
                                                 aten.embedding_dense_backward.default(g, i, 5, 4, False)], [
        torch.randn(2, 3, 3), torch.tensor([[0, 4, 4], [1, 2, 3]])]
    yield "op_triangles", lambda x: [aten.tril.default(x), aten.tril.default(x, -1), aten.triu.default(x, 1), aten.triu.default(x)], [x]
    yield "op_copy", lambda x, y: [aten.copy.default(x, y), aten.copy.default(x, y.to(torch.int32))], [x, torch.randn(4)]
    yield "op_contiguous", lambda x: [aten.clone.default(x, memory_format=torch.contiguous_format)], [t]


def creation_cases():
    def run(x):
        f = x.dtype
        return [
            aten.full.default([2, 3], 1.5, dtype=f), aten.full.default([0], 2), aten.full.default([2], True), aten.full_like.default(x, 3),
            aten.full_like.default(x, 2.9, dtype=torch.int32), aten.new_full.default(x, [2], 0.1), aten.scalar_tensor.default(2.5, dtype=f),
            aten.scalar_tensor.default(3), aten.zeros.default([2, 2]), aten.zeros_like.default(x), aten.new_zeros.default(x, [3]),
            aten.ones.default([2], dtype=torch.bool), aten.ones_like.default(x), aten.new_ones.default(x, [3]),
            aten.empty.memory_format([2, 2]), aten.empty_like.default(x), aten.empty_permuted.default([2, 3], [1, 0]),
            aten.empty_strided.default([2, 3], [1, 2]), aten.new_empty.default(x, [2]), aten.new_empty_strided.default(x, [2, 3], [3, 1]),
            aten.arange.start_step(0, 10, 3), aten.arange.start_step(1.0, 2.0, 0.25, dtype=f), aten.arange.start_step(5, 0, -2),
            aten.arange.start(2, 5), aten.arange.default(4), aten.arange.default(0), aten.linspace.default(0, 1, 5, dtype=f),
            aten.linspace.default(2, -1, 1, dtype=f), aten.eye.default(3), aten.eye.m(2, 4, dtype=f), aten.fill.Scalar(x, 2.5),
            aten.fill.Tensor(x, x[0, 0]), x + 0]

    yield "op_creation", run, [torch.randn(2, 3)]


def linear_cases():
    yield "op_mm", lambda a, b, c, e: [aten.mm.default(a, b), aten.mm.default(b.t(), a.t()), aten.mm.default(a[:1], b[:, :1]),
                                       aten.mm.default(a[:0], b), aten.mm.default(a[:, :0], b[:0]), aten.mm.default(c, b), aten.mm.default(e, b)], [
        torch.randn(4, 5), torch.randn(5, 6), torch.randn(5, 3).t(), torch.randn(1, 5).expand(3, 5)]
    yield "op_mm_large", lambda a, b: [aten.mm.default(a, b)], [torch.randn(37, 301), torch.randn(301, 519)]
    yield "op_bmm", lambda a, b: [aten.bmm.default(a, b), aten.bmm.default(b.transpose(1, 2), a.transpose(1, 2)), aten.bmm.default(a[:0], b[:0])], [
        torch.randn(3, 4, 5), torch.randn(3, 5, 2)]
    yield "op_addmm", lambda c, a, b: [aten.addmm.default(c, a, b), aten.addmm.default(c[0], a, b, beta=0.5, alpha=-2), aten.addmm.default(c, a, b, beta=0)], [
        torch.randn(4, 6), torch.randn(4, 5), torch.randn(5, 6)]
    yield "op_baddbmm", lambda c, a, b: [aten.baddbmm.default(c, a, b, beta=2, alpha=0.5)], [torch.randn(3, 4, 2), torch.randn(3, 4, 5), torch.randn(3, 5, 2)]
    yield "op_vectors", lambda m, v, w: [aten.mv.default(m, v), aten.addmv.default(w, m, v, beta=2), aten.dot.default(v, v)], [
        torch.randn(3, 4), torch.randn(4), torch.randn(3)]
    yield "op_trilinear", lambda a, b, c: [aten._trilinear.default(a, b, c, [1, 3], [0], [1, 2], [2, 3])], [torch.randn(2, 3), torch.randn(4, 3, 5), torch.randn(2, 5)]
    yield "op_cdist", lambda a, b: [aten._cdist_forward.default(a, b, p, None) for p in (1.0, 2.0, float("inf"))], [torch.randn(2, 3, 4), torch.randn(2, 5, 4)]
    yield "op_cdist_backward", lambda g, a, b: [aten._cdist_backward.default(g, a, b, 2.0, aten._cdist_forward.default(a, b, 2.0, None))], [
        torch.randn(2, 3, 5), torch.randn(2, 3, 4), torch.randn(2, 5, 4)]


def window_cases():
    for d in (1, 2, 3):
        size = [7, 6, 5][:d]
        x, w, b = torch.randn(2, 4, *size), torch.randn(6, 2, *([3] * d)), torch.randn(6)
        wt = torch.randn(4, 3, *([3] * d))

        def run(x, w, b, wt, d=d):
            one, two, zero = [1] * d, [2] * d, [0] * d
            results = [
                aten.convolution.default(x, w, b, one, zero, one, False, zero, 2), aten.convolution.default(x, w, None, two, one, one, False, zero, 2),
                aten.convolution.default(x, w, b, two, two, two, False, zero, 2), aten.convolution.default(x[:1], w, b, one, one, one, False, zero, 2),
                aten.convolution.default(x, wt, None, two, one, one, True, one, 2), aten.convolution.default(x, wt, b, one, zero, one, True, zero, 2),
                aten.convolution.default(x, wt, b, two, zero, two, True, zero, 2)]
            return results

        yield f"op_convolution_{d}d", run, [x, w, b, wt]

        def backward(x, w, wt, d=d):
            one, two, zero = [1] * d, [2] * d, [0] * d
            y = aten.convolution.default(x, w, None, two, one, one, False, zero, 2)
            z = aten.convolution.default(x, wt, None, two, one, one, True, one, 2)
            return [*aten.convolution_backward.default(y, x, w, [6], two, one, one, False, zero, 2, [True, True, True]),
                    *aten.convolution_backward.default(z, x, wt, [6], two, one, one, True, one, 2, [True, True, True])]

        yield f"op_convolution_backward_{d}d", backward, [x, w, wt]
    for d in (2, 3):
        size = [7, 6, 5][:d]
        x = torch.randn(2, 3, *size)
        pool, back = getattr(aten, f"max_pool{d}d_with_indices").default, getattr(aten, f"max_pool{d}d_with_indices_backward").default

        def max_pool(x, d=d, pool=pool, back=back):
            options = [([2] * d, [], [0] * d, [1] * d, False), ([3] * d, [2] * d, [1] * d, [1] * d, True), ([2] * d, [1] * d, [0] * d, [2] * d, False)]
            results = []
            for kernel, stride, padding, dilation, ceil in options:
                values, indices = pool(x, kernel, stride, padding, dilation, ceil)
                results += [values, indices, back(values, x, kernel, stride, padding, dilation, ceil, indices)]
            return results

        yield f"op_max_pool_{d}d", max_pool, [x]
        average, average_back = getattr(aten, f"avg_pool{d}d").default, getattr(aten, f"avg_pool{d}d_backward").default

        def avg_pool(x, d=d, pool=average, back=average_back):
            options = [([2] * d, [], [0] * d, False, True, None), ([3] * d, [2] * d, [1] * d, True, True, None), ([3] * d, [2] * d, [1] * d, True, False, None),
                       ([3] * d, [1] * d, [1] * d, False, True, 5)]
            results = []
            for o in options:
                y = pool(x, *o)
                results += [y, back(y, x, *o)]
            return results

        yield f"op_avg_pool_{d}d", avg_pool, [x]
        adaptive, adaptive_back = getattr(aten, f"_adaptive_avg_pool{d}d").default, getattr(aten, f"_adaptive_avg_pool{d}d_backward").default

        def adaptive_avg(x, d=d, pool=adaptive, back=adaptive_back):
            return [r for s in (1, 2, 3, 5) for y in [pool(x, [s] * d)] for r in (y, back(y, x))]

        yield f"op_adaptive_avg_pool_{d}d", adaptive_avg, [x]
        largest, largest_back = getattr(aten, f"adaptive_max_pool{d}d").default, getattr(aten, f"adaptive_max_pool{d}d_backward").default

        def adaptive_max(x, d=d, pool=largest, back=largest_back):
            results = []
            for s in (1, 3):
                y, i = pool(x, [s] * d)
                results += [y, i, back(y, x, i)]
            return results

        yield f"op_adaptive_max_pool_{d}d", adaptive_max, [x]


def norm_cases():
    x = torch.randn(3, 4, 5)
    yield "op_layer_norm", lambda x, w, b: [
        *aten.native_layer_norm.default(x, [5], w, b, 1e-5), *aten.native_layer_norm.default(x, [4, 5], None, None, 1e-3),
        *aten.native_layer_norm.default(x[:0], [5], w, None, 1e-5), *aten.native_layer_norm.default(x[:, :, :1], [1], w[:1], b[:1], 1e-5)], [
        x, torch.randn(5), torch.randn(5)]

    def layer_norm_backward(g, x, w, b):
        _, mean, rstd = aten.native_layer_norm.default(x, [5], w, b, 1e-5)
        return list(aten.native_layer_norm_backward.default(g, x, [5], mean, rstd, w, b, [True, True, True]))

    yield "op_layer_norm_backward", layer_norm_backward, [torch.randn(3, 4, 5), x, torch.randn(5), torch.randn(5)]
    yield "op_group_norm", lambda x, w, b: [*aten.native_group_norm.default(x, w, b, 3, 4, 5, 2, 1e-5), *aten.native_group_norm.default(x, None, None, 3, 4, 5, 4, 1e-3)], [
        x, torch.randn(4), torch.randn(4)]

    def group_norm_backward(g, x, w):
        _, mean, rstd = aten.native_group_norm.default(x, w, None, 3, 4, 5, 2, 1e-5)
        return list(aten.native_group_norm_backward.default(g, x, mean, rstd, w, 3, 4, 5, 2, [True, True, True]))

    yield "op_group_norm_backward", group_norm_backward, [torch.randn(3, 4, 5), x, torch.randn(4)]
    stats = [torch.randn(4), torch.rand(4) + 0.5]
    yield "op_batch_norm", lambda x, w, b, m, v: [
        *aten.native_batch_norm.default(x, w, b, None, None, True, 0.1, 1e-5), *aten._native_batch_norm_legit_functional.default(x, w, b, m, v, True, 0.1, 1e-5),
        *aten._native_batch_norm_legit_no_training.default(x, w, b, m, v, 0.1, 1e-5)[:1], *aten._native_batch_norm_legit.no_stats(x, None, None, True, 0.1, 1e-5),
        aten.native_batch_norm.default(x, w, b, m, v, False, 0.1, 1e-5)[0], aten._native_batch_norm_legit.default(x, w, b, m, v, False, 0.1, 1e-5)[0]], [
        x, torch.randn(4), torch.randn(4), *stats]

    def batch_norm_backward(g, x, w, m, v):
        _, mean, rstd = aten.native_batch_norm.default(x, w, None, None, None, True, 0.1, 1e-5)
        return [*aten.native_batch_norm_backward.default(g, x, w, None, None, mean, rstd, True, 1e-5, [True, True, True]),
                *aten.native_batch_norm_backward.default(g, x, w, m, v, None, None, False, 1e-5, [True, True, True])]

    yield "op_batch_norm_backward", batch_norm_backward, [torch.randn(3, 4, 5), x, torch.randn(4), *stats]
    def weight_norm(v, g, gw):
        w, norms = aten._weight_norm_interface.default(v, g, 0)
        return [w, norms, *aten._weight_norm_interface_backward.default(gw, v, g, norms, 0)]

    yield "op_weight_norm", weight_norm, [torch.randn(3, 4), torch.randn(3, 1), torch.randn(3, 4)]
    line, plane, volume = torch.randn(1, 2, 5), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 3, 4, 5)
    yield "op_upsample_nearest", lambda a, b, c: [
        aten.upsample_nearest1d.default(a, [9]), aten.upsample_nearest1d.default(a, [3]), aten.upsample_nearest2d.default(b, [10, 8]),
        aten.upsample_nearest2d.default(b, [7, 3]), aten.upsample_nearest2d.default(b, [12, 10], 2.5, 2.5), aten.upsample_nearest3d.default(c, [6, 8, 10])], [line, plane, volume]
    yield "op_upsample_nearest_backward", lambda g, h: [
        aten.upsample_nearest2d_backward.default(g, [10, 8], [1, 2, 5, 4]), aten.upsample_nearest3d_backward.default(h, [6, 8, 10], [1, 2, 3, 4, 5])], [
        torch.randn(1, 2, 10, 8), torch.randn(1, 2, 6, 8, 10)]
    for align in (False, True):
        yield f"op_upsample_linear_{align}", lambda a, b, c, align=align: [
            aten.upsample_linear1d.default(a, [9], align), aten.upsample_bilinear2d.default(b, [10, 8], align), aten.upsample_bilinear2d.default(b, [3, 7], align),
            aten.upsample_bilinear2d.default(b, [1, 1], align), aten.upsample_trilinear3d.default(c, [6, 8, 7], align),
            aten.upsample_bicubic2d.default(b, [10, 8], align), aten.upsample_bicubic2d.default(b, [3, 7], align)], [line, plane, volume]
        yield f"op_upsample_linear_backward_{align}", lambda g, h, align=align: [
            aten.upsample_bilinear2d_backward.default(g, [10, 7], [1, 2, 5, 4], align), aten.upsample_bicubic2d_backward.default(g, [10, 7], [1, 2, 5, 4], align),
            aten.upsample_trilinear3d_backward.default(h, [6, 8, 10], [1, 2, 3, 4, 5], align)], [torch.randn(1, 2, 10, 7), torch.randn(1, 2, 6, 8, 10)]


def all_cases():
    for family in (pointwise_cases, reduction_cases, layout_cases, creation_cases, linear_cases, window_cases, norm_cases):
        yield from family()
