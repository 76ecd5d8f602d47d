"""Models of the kinds that benchmark collections have, small: each is a function of tensors. Forward and backward are exported
as the bridge does it, so the operators they need are the ones that real tasks need."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

# Backward not defined, or not of interest (integer results).
FORWARD_ONLY = {"adamw_step", "argmax", "argmin", "argsort", "any", "all", "to_int8", "is_special", "bucketize", "heaviside",
                "batch_norm_1d_eval", "batch_norm_2d_eval", "batch_norm_3d_eval", "quantize", "soft_margin_loss", "topk_indices"}


def randn(*shape):
    return torch.randn(*shape)


def module(m):
    """A module as a function of (input..., parameters...): parameters get gradients like inputs."""
    names = [name for name, _ in m.named_parameters()]

    def run(*values):
        count = len(values) - len(names)
        return torch.func.functional_call(m, dict(zip(names, values[count:])), values[:count])

    return run, [parameter.detach().clone() for parameter in m.parameters()]


ACTIVATIONS = {
    "relu": F.relu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.02),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "softmax": lambda x: F.softmax(x, 1),
    "log_softmax": lambda x: F.log_softmax(x, 1),
    "swish": lambda x: x * torch.sigmoid(x),
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_by_hand": lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3)))),
    "selu": F.selu,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "softplus": F.softplus,
    "softsign": F.softsign,
    "elu": lambda x: F.elu(x, 1.3),
    "hardtanh": F.hardtanh,
    "mish": F.mish,
    "relu6": F.relu6,
    "celu": F.celu,
    "logsigmoid": F.logsigmoid,
    "tanhshrink": F.tanhshrink,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "threshold": lambda x: F.threshold(x, 0.1, 20.0),
    "clamp": lambda x: torch.clamp(x, -1, 1),
    "clamp_min": lambda x: torch.clamp(x, min=0.1),
    "abs": torch.abs,
    "exp": torch.exp,
    "sqrt": lambda x: torch.sqrt(x.abs() + 1),
    "rsqrt": lambda x: torch.rsqrt(x * x + 1),
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "erf": torch.erf,
    "log": lambda x: torch.log(x * x + 1),
    "log2": lambda x: torch.log2(x * x + 1),
    "log10": lambda x: torch.log10(x * x + 1),
    "exp2": torch.exp2,
    "powers": lambda x: x**2 + x.abs() ** 0.5 + x**3 + (x.abs() + 0.1) ** 1.7 + (x.abs() + 0.1) ** -1.5,
    "reciprocal": lambda x: 1 / (x + 10),
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "trunc": torch.trunc,
    "sign": torch.sign,
    "frac": torch.frac,
    "fmod": lambda x: torch.fmod(x, 0.7),
    "remainder": lambda x: torch.remainder(x, 0.7),
    "atan": torch.atan,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "asin": lambda x: torch.asin(torch.tanh(x)),
    "acos": lambda x: torch.acos(torch.tanh(x)),
    "asinh": torch.asinh,
    "atanh": lambda x: torch.atanh(torch.tanh(x) * 0.9),
    "acosh": lambda x: torch.acosh(x.abs() + 1.5),
    "expm1": torch.expm1,
    "log1p": lambda x: torch.log1p(x.abs()),
    "lerp": lambda x: torch.lerp(x, x * 2 + 1, 0.3),
    "addcmul": lambda x: torch.addcmul(x, x, x + 1, value=0.5),
    "addcdiv": lambda x: torch.addcdiv(x, x, x.abs() + 1, value=0.5),
    "glu": lambda x: F.glu(x, 1),
    "logit": lambda x: torch.logit(torch.sigmoid(x)),
    "sinc": torch.sinc,
    "nan_to_num": torch.nan_to_num,
    "max_and_min": lambda x: torch.maximum(x, -x) - torch.minimum(x, x * x),
    "where": lambda x: torch.where(x > 0, x, -x * 2),
    "atan2": lambda x: torch.atan2(x, x * x + 1),
    "hypot": lambda x: torch.hypot(x, x + 1),
    "logaddexp": lambda x: torch.logaddexp(x, 2 * x),
    "heaviside": lambda x: torch.heaviside(x, x),
    "cumsum": lambda x: torch.cumsum(x, 1),
    "cumprod": lambda x: torch.cumprod(x, 1),
    "reverse_cumsum": lambda x: torch.cumsum(x.flip(1), 1).flip(1),
    "exclusive_cumsum": lambda x: torch.cat((torch.zeros_like(x.select(1, 0).unsqueeze(1)), x), 1)[:, :-1].cumsum(1),
    "masked_cumsum": lambda x: torch.cumsum(x * (x > 0), 1),
    "cummax": lambda x: torch.cummax(x, 1)[0],
    "logcumsumexp": lambda x: torch.logcumsumexp(x, 1),
}

REDUCTIONS = {
    "sum": lambda x: x.sum(1, keepdim=True),
    "sum_all": lambda x: x.sum(),
    "mean": lambda x: x.mean(1),
    "mean_all": lambda x: x.mean(),
    "max": lambda x: x.max(1)[0],
    "max_all": lambda x: x.max(),
    "min": lambda x: x.min(1)[0],
    "amax": lambda x: x.amax((0, 1)),
    "prod": lambda x: x.prod(1),
    "prod_all": lambda x: x.prod(),
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(1),
    "var": lambda x: x.var(1),
    "std": lambda x: x.std(1, unbiased=False),
    "var_mean": lambda x: torch.var_mean(x, 1),
    "logsumexp": lambda x: torch.logsumexp(x, 1),
    "frobenius_norm": lambda x: x / torch.norm(x, p="fro"),
    "l1_norm": lambda x: x / torch.mean(torch.abs(x), dim=1, keepdim=True),
    "norm_1": lambda x: torch.norm(x, p=1, dim=1, keepdim=True),
    "norm_2": lambda x: x / torch.norm(x, p=2, dim=1, keepdim=True),
    "norm_inf": lambda x: torch.norm(x, p=float("inf"), dim=1),
    "norm_3": lambda x: torch.norm(x, p=3, dim=1),
    "normalize": lambda x: F.normalize(x, dim=1),
    "any": lambda x: (x > 1).any(1),
    "all": lambda x: (x > -1).all(1),
    "topk": lambda x: torch.topk(x, 3, 1)[0],
    "topk_indices": lambda x: torch.topk(x, 3, 1)[1],
    "sort": lambda x: torch.sort(x, 1, descending=True)[0],
    "argsort": lambda x: torch.argsort(x, 1),
    "median": lambda x: x.median(1)[0],
    "kthvalue": lambda x: x.kthvalue(2, 1)[0],
    "nansum": lambda x: x.nansum(1),
    "cdist": lambda x: torch.cdist(x, x + 1),
    "unbind": lambda x: torch.stack(x.unbind(1)).sum(0),
    "rms_by_hand": lambda x: x / torch.sqrt(torch.mean(x**2, 1, keepdim=True) + 1e-5),
    "rms_norm": lambda x: F.rms_norm(x, (8,)),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x * 2 + 1, dim=1),
    "pairwise_distance": lambda x: F.pairwise_distance(x, x * 2 + 1),
}

LAYOUTS = {
    "view": lambda x: x.view(8, 6) * 2,
    "permute": lambda x: x.permute(1, 0).contiguous() * 3,
    "gram": lambda x: x.t() @ x,
    "reshape": lambda x: x.t().reshape(-1),
    "expand": lambda x: x.unsqueeze(0).expand(3, 6, 8) * 2,
    "repeat": lambda x: x.repeat(2, 3),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "cat": lambda x: torch.cat([x, x * 2], 1),
    "stack": lambda x: torch.stack([x, x * 2], 1),
    "split": lambda x: torch.split(x, 3, 1)[1] * 2,
    "chunk": lambda x: x.chunk(2, 1)[0] * x.chunk(2, 1)[1],
    "slice": lambda x: x[:, 1:7:2] * 2,
    "select": lambda x: x[2] * 2,
    "flip": lambda x: x.flip(0, 1),
    "roll": lambda x: torch.roll(x, 2, 1),
    "pad": lambda x: F.pad(x, (1, 2, 0, 3)),
    "pad_value": lambda x: F.pad(x, (1, 2, -1, 3), value=1.5),
    "pad_reflect": lambda x: F.pad(x.view(1, 1, 6, 8), (1, 2, 1, 1), mode="reflect"),
    "pad_replicate": lambda x: F.pad(x.view(1, 1, 6, 8), (1, 2, 1, 1), mode="replicate"),
    "pad_circular": lambda x: F.pad(x.view(1, 1, 6, 8), (1, 2, 1, 1), mode="circular"),
    "tril": torch.tril,
    "triu": lambda x: torch.triu(x, 1),
    "masked_fill": lambda x: x.masked_fill(x > 0, -1e9),
    "masked_softmax": lambda x: x.masked_fill(torch.tril(torch.ones(6, 8)) == 0, float("-inf")).softmax(1),
    "gather": lambda x: x.gather(1, torch.tensor([[0, 2]] * 6)),
    "index_rows": lambda x: x[torch.tensor([0, 2, 2])],
    "index_columns": lambda x: x[:, torch.tensor([0, 2, 2])],
    "index_select": lambda x: x.index_select(1, torch.tensor([0, 2, 2])),
    "scatter": lambda x: torch.zeros_like(x).scatter(1, torch.tensor([[0, 2]] * 6), x[:, :2]),
    "scatter_add": lambda x: torch.zeros_like(x).scatter_add(1, torch.tensor([[0, 0]] * 6), x[:, :2]),
    "index_add": lambda x: torch.zeros_like(x).index_add(0, torch.tensor([0, 2, 2]), x[:3]),
    "index_put": lambda x: torch.zeros_like(x).index_put((torch.tensor([0, 2, 2]),), x[:3], accumulate=True),
    "diagonal": lambda x: torch.diagonal(x) * 2,
    "diag_matrix": lambda x: torch.diag(x[0]) @ x.t(),
    "outer": lambda x: torch.outer(x[0], x[1]),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "arange": lambda x: x * torch.arange(8),
    "through_half": lambda x: (x.half() * 2).float(),
    "through_bfloat": lambda x: (x.bfloat16() * 2).float(),
    "to_int8": lambda x: (x * 10).to(torch.int8),
    "quantize": lambda x: torch.clamp(torch.round(x / 0.1), -128, 127).to(torch.int8).float() * 0.1,
    "one_hot": lambda x: F.one_hot(x.argmax(1), 8) * x,
    "unfold": lambda x: x.unfold(1, 3, 2) * 2,
    "im2col": lambda x: F.unfold(x.view(1, 1, 6, 8), 3),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x.view(1, 4, 3, 4), 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x.view(1, 6, 2, 4), 3) * 2,
    "upsample_nearest": lambda x: F.interpolate(x.view(1, 1, 6, 8), scale_factor=2),
    "upsample_bilinear_corners": lambda x: F.interpolate(x.view(1, 1, 6, 8), scale_factor=2, mode="bilinear", align_corners=True),
    "linspace": lambda x: x * torch.linspace(0, 1, 8),
    "comparisons": lambda x: ((x > 0) & (x < 1)) * x,
    "eye": lambda x: x[:, :6] + torch.eye(6),
    "bucketize": lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]).to(x.dtype)),
    "is_special": lambda x: torch.isnan(x) | torch.isinf(x),
    "meshgrid": lambda x: torch.meshgrid(x[0], x[1], indexing="ij")[0] * 2,
    "cross": lambda x: torch.cross(x[:, :3], x[:, 3:6], dim=1),
    "dot": lambda x: torch.dot(x[0], x[1]),
    "segment_sum": lambda x: torch.exp((x.cumsum(1)[:, :, None] - x.cumsum(1)[:, None, :]).masked_fill(
        ~torch.tril(torch.ones(8, 8, dtype=torch.bool)), -torch.inf)),
}


def slice_assignments(x):
    y = torch.zeros_like(x)
    y[:, 1:3] = x[:, :2]
    y[0] = x[1]
    y[2, 3] = 5
    return y


def rotary(x):
    dim, length = x.shape[-1], x.shape[-2]
    inverse = 1.0 / (10000 ** (torch.arange(0, dim, 2).to(x.dtype) / dim))
    angles = torch.outer(torch.arange(length).to(x.dtype), inverse)
    angles = torch.cat((angles, angles), -1)
    rotated = torch.cat((-x[..., dim // 2:], x[..., : dim // 2]), -1)
    return x * angles.cos() + rotated * angles.sin()


def adamw_step(p, g, m, v):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    p.mul_(1 - 0.01 * 0.1)
    p.addcdiv_(m / (1 - 0.9), (v.abs() / (1 - 0.999)).sqrt() + 1e-8, value=-0.01)
    return p, m, v


def swin_windows(x, table):
    index = torch.arange(16).view(4, 4) % 9
    x = torch.roll(x, (-1, -1), (1, 2))
    b, h, w, c = x.shape
    x = x.view(b, h // 2, 2, w // 2, 2, c).permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, 4, c)
    scores = x @ x.transpose(-2, -1)
    bias = table[index.view(-1)].view(4, 4, -1).permute(2, 0, 1).contiguous()
    return F.softmax(scores.unsqueeze(1) + bias.unsqueeze(0), -1)


def mamba_block(x, a, b, c):
    sums = torch.cumsum(a, -1)
    length = a.size(-1)
    mask = ~torch.tril(torch.ones(length, length, dtype=torch.bool))
    decay = torch.exp((sums[..., :, None] - sums[..., None, :]).masked_fill(mask, -torch.inf))
    return torch.einsum("bclhn,bcshn,bhcls,bcshp->bclhp", c, b, decay, x)


def net_vlad(x, clusters, centres):
    assignment = F.softmax(x.view(-1, 5) @ clusters, 1).view(-1, 4, 7)
    residual = torch.matmul(assignment.transpose(1, 2), x).transpose(1, 2) - assignment.sum(1, keepdim=True) * centres
    return F.normalize(F.normalize(residual).reshape(-1, 35))


def attention(causal=False, groups=1):
    def run(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=groups > 1)

    return run


def all_models():
    for table in (ACTIVATIONS, REDUCTIONS, LAYOUTS):
        for name, function in table.items():
            yield name, function, [randn(6, 8)]
    yield "slice_assignments", slice_assignments, [randn(6, 8)]
    yield "matmul", torch.matmul, [randn(4, 5), randn(5, 6)]
    yield "bmm", torch.bmm, [randn(2, 4, 5), randn(2, 5, 6)]
    yield "matmul_4d", torch.matmul, [randn(2, 3, 4, 5), randn(2, 3, 5, 6)]
    yield "matmul_3d_2d", torch.matmul, [randn(3, 4, 5), randn(5, 6)]
    yield "matmul_transposed", lambda a, b: a.t() @ b.t(), [randn(5, 4), randn(6, 5)]
    yield "einsum_4d", lambda a, b: torch.einsum("bijl,lk->bijk", a, b), [randn(2, 3, 4, 5), randn(5, 6)]
    yield "matrix_vector", torch.matmul, [randn(4, 5), randn(5)]
    yield "matmul_triu", lambda a, b: torch.triu(torch.matmul(a, b)), [randn(4, 4), randn(4, 4)]
    yield "baddbmm", lambda c, a, b: torch.baddbmm(c, a, b, alpha=0.5), [randn(2, 3, 5), randn(2, 3, 4), randn(2, 4, 5)]
    for name, m, x in [
        ("linear", nn.Linear(5, 6), randn(4, 5)),
        ("linear_3d", nn.Linear(5, 6, bias=False), randn(2, 4, 5)),
        ("conv_same", nn.Conv2d(4, 6, 3, padding="same"), randn(2, 4, 7, 7)),
        ("conv_depthwise", nn.Conv2d(4, 4, (3, 2), groups=4, stride=(1, 2)), randn(2, 4, 7, 7)),
        ("conv_pointwise", nn.Conv2d(4, 6, 1, bias=False), randn(2, 4, 5, 5)),
        ("group_norm", nn.GroupNorm(2, 4), randn(2, 4, 5, 5)),
        ("layer_norm", nn.LayerNorm((4, 9)), randn(2, 4, 9)),
        ("layer_norm_plain", nn.LayerNorm(9, elementwise_affine=False), randn(2, 4, 9)),
        ("rms_norm_module", nn.RMSNorm(9), randn(2, 4, 9)),
        ("lp_pool", nn.LPPool2d(2, 3), randn(2, 4, 9, 9)),
        ("local_response_norm", nn.LocalResponseNorm(3), randn(2, 4, 5, 5)),
        ("upsample_bilinear", nn.Upsample(scale_factor=2, mode="bilinear"), randn(2, 2, 5, 5)),
        ("upsample_trilinear", nn.Upsample(scale_factor=2, mode="trilinear"), randn(2, 2, 3, 4, 5)),
        ("upsample_bicubic", nn.Upsample(scale_factor=2, mode="bicubic"), randn(2, 2, 5, 5)),
        ("transformer_layer", nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), randn(2, 4, 8)),
        ("lstm", nn.LSTM(3, 4, 2, batch_first=True), randn(2, 3, 3)),
        ("lstm_bidirectional", nn.LSTM(3, 4, 1, batch_first=True, bidirectional=True), randn(2, 3, 3)),
        ("gru", nn.GRU(3, 4, 2), randn(3, 2, 3)),
        ("rnn", nn.RNN(3, 4, 1), randn(3, 2, 3)),
        ("lstm_cell", nn.LSTMCell(3, 4), randn(2, 3)),
        ("weight_norm", nn.utils.parametrizations.weight_norm(nn.Linear(4, 5)), randn(2, 4)),
    ]:
        function, parameters = module(m)
        yield name, function, [x, *parameters]
    function, parameters = module(nn.Bilinear(3, 4, 5))
    yield "bilinear", function, [randn(2, 3), randn(2, 4), *parameters]
    function, parameters = module(nn.Embedding(10, 4))
    yield "embedding", function, [torch.randint(0, 10, (3, 5)), *parameters]
    function, parameters = module(nn.MultiheadAttention(8, 2, batch_first=True))
    yield "multihead_attention", function, [randn(2, 4, 8), randn(2, 4, 8), randn(2, 4, 8), *parameters]
    for d in (1, 2, 3):
        of = lambda kind, d=d: getattr(nn, f"{kind}{d}d")
        size = {1: 9, 2: 7, 3: 5}[d]
        x = randn(2, 4, *([size] * d))
        for name, m in [
            ("conv", of("Conv")(4, 6, 3, stride=2, padding=1, dilation=2, groups=2)),
            ("conv_transposed", of("ConvTranspose")(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)),
            ("conv_transposed_dilated", of("ConvTranspose")(4, 2, 2, stride=2, dilation=2)),
            ("max_pool", of("MaxPool")(3, 2, 1, 1 if d == 3 else 2)),
            ("max_pool_ceil", of("MaxPool")(2, 2, ceil_mode=True)),
            ("avg_pool", of("AvgPool")(3, 2, 1)),
            ("avg_pool_valid", of("AvgPool")(3, 2, 1, ceil_mode=True, count_include_pad=False)),
            ("instance_norm", of("InstanceNorm")(4)),
            ("instance_norm_affine", of("InstanceNorm")(4, affine=True)),
            ("adaptive_avg_pool_1", of("AdaptiveAvgPool")(1)),
            ("adaptive_avg_pool_3", of("AdaptiveAvgPool")(3)),
            ("adaptive_max_pool", of("AdaptiveMaxPool")(3)),
        ]:
            function, parameters = module(m)
            yield f"{name}_{d}d", function, [x, *parameters]
        norm = f"batch_norm_{d}d"
        statistics = [torch.rand(4) + 0.5, torch.rand(4), torch.rand(4) - 0.5, torch.rand(4) + 0.5]
        yield norm, lambda x, w, b, m, v: F.batch_norm(x, m.detach(), v.detach(), w, b, training=True), [x, *statistics]
        yield f"{norm}_eval", lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b), [x, *statistics]
    targets = torch.randint(0, 5, (6,))
    yield "cross_entropy", F.cross_entropy, [randn(6, 5), targets]
    yield "cross_entropy_smoothed", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1, ignore_index=2), [randn(6, 5), targets]
    yield "cross_entropy_weighted", lambda x, t: F.cross_entropy(
        x, t, weight=torch.arange(5).to(x.dtype) + 1, reduction="none"), [randn(6, 5), targets]
    yield "cross_entropy_2d", F.cross_entropy, [randn(2, 5, 3, 3), torch.randint(0, 5, (2, 3, 3))]
    yield "nll_loss", lambda x, t: F.nll_loss(x, t, reduction="sum"), [randn(6, 5), targets]
    yield "multi_margin_free", lambda x, t: torch.clamp(1 - x.gather(1, t[:, None]) + x, min=0).sum(1).mean(), [randn(6, 5), targets]
    for name, loss in {
        "mse_loss": F.mse_loss,
        "smooth_l1_loss": F.smooth_l1_loss,
        "huber_loss": lambda x, t: F.huber_loss(x, t, delta=0.5),
        "l1_loss": F.l1_loss,
        "kl_div": lambda x, t: F.kl_div(torch.log(x.softmax(1)), t.softmax(1), reduction="batchmean"),
        "kl_div_log": lambda x, t: F.kl_div(x.log_softmax(1), t.log_softmax(1), reduction="sum", log_target=True),
        "hinge_loss": lambda x, t: torch.mean(torch.clamp(1 - x * t, min=0)),
        "bce": lambda x, t: F.binary_cross_entropy(x.sigmoid(), t.sigmoid()),
        "bce_logits": lambda x, t: F.binary_cross_entropy_with_logits(x, t.sigmoid()),
        "cosine_loss": lambda x, t: torch.mean(1 - F.cosine_similarity(x, t, dim=1)),
        "soft_margin_loss": lambda x, t: F.soft_margin_loss(x, t),
        "poisson_loss": F.poisson_nll_loss,
    }.items():
        yield name, loss, [randn(6, 5), randn(6, 5)]
    yield "triplet_loss", nn.TripletMarginLoss(), [randn(6, 5), randn(6, 5), randn(6, 5)]
    shape = (2, 4, 5, 8)
    yield "attention", attention(), [randn(*shape), randn(*shape), randn(*shape)]
    yield "attention_causal", attention(True), [randn(*shape), randn(*shape), randn(*shape)]
    yield "attention_grouped", attention(True, 2), [randn(*shape), randn(2, 2, 5, 8), randn(2, 2, 5, 8)]
    yield "attention_bias", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m), [
        randn(*shape), randn(*shape), randn(*shape), randn(5, 5)]
    yield "rotary", rotary, [randn(2, 3, 4, 8)]
    yield "adamw_step", adamw_step, [randn(5), randn(5), randn(5), randn(5).abs()]
    yield "swiglu", lambda x, g, u, d: (F.silu(x @ g.t()) * (x @ u.t())) @ d.t(), [randn(3, 4), randn(6, 4), randn(6, 4), randn(4, 6)]
    yield "swin_windows", swin_windows, [randn(2, 4, 4, 3), randn(9, 2)]
    yield "mamba_block", mamba_block, [randn(1, 2, 3, 2, 4), randn(1, 2, 2, 3), randn(1, 2, 3, 2, 5), randn(1, 2, 3, 2, 5)]
    yield "net_vlad", net_vlad, [randn(3, 4, 5), randn(5, 7), randn(1, 5, 7)]
    yield "conv_relu_pool", lambda x, w, b: F.max_pool2d(F.relu(F.conv2d(x, w, b)), 2), [randn(2, 1, 8, 8), randn(3, 1, 3, 3), randn(3)]
    yield "residual_rms_norm", lambda x, r, w: (x + r) * torch.rsqrt((x + r).pow(2).mean(-1, keepdim=True) + 1e-6) * w, [
        randn(3, 8), randn(3, 8), randn(8)]
