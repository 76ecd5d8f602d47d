"""Writes model files of the kinds that KernelBench's levels 1 and 2 ask for, at small sizes.

    python tests/translate/collection.py FOLDER [level1|level2]
    build/kernelsmith translate --suite --from FOLDER

One row a model: its name, what its constructor makes, its forward pass, its inputs. Level 1 has single operators,
level 2 a product or a convolution with a chain of operators behind it.
"""

import pathlib
import sys

# name, constructor, forward(inputs), inputs
LEVEL1 = [
    # Products of matrices.
    ("square_matmul", "", "a @ b", "a=rand(48, 48), b=rand(48, 48)"),
    ("standard_matmul", "", "a @ b", "a=rand(40, 72), b=rand(72, 56)"),
    ("batched_matmul", "", "torch.bmm(a, b)", "a=rand(6, 24, 40), b=rand(6, 40, 32)"),
    ("matrix_vector", "", "a @ b", "a=rand(64, 300), b=rand(300, 1)"),
    ("matrix_scalar", "", "a * s", "a=rand(64, 96), s=3.14"),
    ("matmul_large_k", "", "a @ b", "a=rand(16, 4096), b=rand(4096, 16)"),
    ("matmul_small_k", "", "a @ b", "a=rand(96, 6), b=rand(6, 96)"),
    ("matmul_irregular", "", "a @ b", "a=rand(37, 53), b=rand(53, 29)"),
    ("matmul_tall_skinny", "", "a @ b", "a=rand(512, 8), b=rand(8, 512)"),
    ("matmul_3d", "", "a @ b", "a=rand(4, 16, 40), b=rand(40, 24)"),
    ("matmul_4d", "", "torch.einsum('bijl,lk->bijk', a, b)", "a=rand(2, 6, 10, 20), b=rand(20, 24)"),
    ("matmul_diagonal", "", "torch.diag(a) @ b", "a=rand(64), b=rand(64, 48)"),
    ("matmul_symmetric", "", "(a + a.T) @ (b + b.T)", "a=rand(40, 40), b=rand(40, 40)"),
    ("matmul_upper_triangular", "", "torch.triu(torch.triu(a) @ torch.triu(b))", "a=rand(40, 40), b=rand(40, 40)"),
    ("matmul_lower_triangular", "", "torch.tril(torch.tril(a) @ torch.tril(b))", "a=rand(40, 40), b=rand(40, 40)"),
    ("matmul_transposed_a", "", "a.T @ b", "a=rand(72, 40), b=rand(72, 56)"),
    ("matmul_transposed_b", "", "a @ b.T", "a=rand(40, 72), b=rand(56, 72)"),
    ("matmul_transposed_both", "", "a.T @ b.T", "a=rand(72, 40), b=rand(56, 72)"),
    # Activations.
    ("relu", "", "torch.relu(x)", "x=randn(16, 1000)"),
    ("leaky_relu", "self.slope = 0.01", "F.leaky_relu(x, negative_slope=self.slope)", "x=randn(16, 1000)"),
    ("sigmoid", "", "torch.sigmoid(x)", "x=randn(16, 1000)"),
    ("tanh", "", "torch.tanh(x)", "x=randn(16, 1000)"),
    ("softmax", "", "torch.softmax(x, dim=1)", "x=randn(16, 1000)"),
    ("log_softmax", "", "torch.log_softmax(x, dim=1)", "x=randn(16, 1000)"),
    ("swish", "", "x * torch.sigmoid(x)", "x=randn(16, 1000)"),
    ("gelu", "", "F.gelu(x)", "x=randn(16, 1000)"),
    ("selu", "", "torch.selu(x)", "x=randn(16, 1000)"),
    ("hard_sigmoid", "", "F.hardsigmoid(x)", "x=randn(16, 1000)"),
    ("softplus", "", "F.softplus(x)", "x=randn(16, 1000)"),
    ("softsign", "", "x / (1 + torch.abs(x))", "x=randn(16, 1000)"),
    ("elu", "self.alpha = 1.0", "F.elu(x, alpha=self.alpha)", "x=randn(16, 1000)"),
    ("hard_tanh", "", "F.hardtanh(x, min_val=-1.0, max_val=1.0)", "x=randn(16, 1000)"),
    ("new_gelu", "", "0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))",
     "x=randn(16, 1000)"),
    # Normalisation.
    ("batch_norm", "self.norm = nn.BatchNorm2d(8)", "self.norm(x)", "x=randn(4, 8, 12, 12)"),
    ("instance_norm", "self.norm = nn.InstanceNorm2d(8)", "self.norm(x)", "x=randn(4, 8, 12, 12)"),
    ("group_norm", "self.norm = nn.GroupNorm(4, 16)", "self.norm(x)", "x=randn(4, 16, 12, 12)"),
    ("rms_norm", "self.eps = 1e-5", "x / torch.sqrt(torch.mean(x ** 2, dim=1, keepdim=True) + self.eps)",
     "x=randn(4, 16, 12, 12)"),
    ("frobenius_norm", "", "x / torch.norm(x, p='fro')", "x=randn(4, 16, 12, 12)"),
    ("l1_norm", "", "x / torch.mean(torch.abs(x), dim=1, keepdim=True)", "x=randn(16, 1000)"),
    ("l2_norm", "", "x / torch.norm(x, p=2, dim=1, keepdim=True)", "x=randn(16, 1000)"),
    ("layer_norm", "self.norm = nn.LayerNorm((16, 12, 12))", "self.norm(x)", "x=randn(4, 16, 12, 12)"),
    # Pools and reductions.
    ("max_pool1d", "self.pool = nn.MaxPool1d(4, stride=2, padding=2, dilation=3)", "self.pool(x)", "x=randn(4, 8, 64)"),
    ("max_pool2d", "self.pool = nn.MaxPool2d(2, stride=2, padding=1, dilation=3)", "self.pool(x)", "x=randn(2, 4, 20, 20)"),
    ("max_pool3d", "self.pool = nn.MaxPool3d(3, stride=2, padding=1, dilation=3)", "self.pool(x)",
     "x=randn(2, 3, 12, 12, 12)"),
    ("avg_pool1d", "self.pool = nn.AvgPool1d(4, stride=1, padding=2)", "self.pool(x)", "x=randn(4, 8, 64)"),
    ("avg_pool2d", "self.pool = nn.AvgPool2d(3)", "self.pool(x)", "x=randn(2, 4, 20, 20)"),
    ("avg_pool3d", "self.pool = nn.AvgPool3d(3, stride=2, padding=1)", "self.pool(x)", "x=randn(2, 3, 12, 12, 12)"),
    ("sum_over_dim", "", "torch.sum(x, dim=1, keepdim=True)", "x=randn(8, 64, 40)"),
    ("mean_over_dim", "", "torch.mean(x, dim=1)", "x=randn(8, 64, 40)"),
    ("max_over_dim", "", "torch.max(x, dim=1)[0]", "x=randn(8, 64, 40)"),
    ("min_over_dim", "", "torch.min(x, dim=1)[0]", "x=randn(8, 64, 40)"),
    ("argmax_over_dim", "", "torch.argmax(x, dim=1)", "x=randn(8, 64, 40)"),
    ("argmin_over_dim", "", "torch.argmin(x, dim=1)", "x=randn(8, 64, 40)"),
    ("product_over_dim", "", "torch.prod(x, dim=1)", "x=rand(8, 24, 40)"),
    # Convolutions.
    ("conv2d_strided_large", "self.conv = nn.Conv2d(3, 24, 11, stride=4, padding=2)", "self.conv(x)", "x=rand(2, 3, 48, 48)"),
    ("conv2d_square", "self.conv = nn.Conv2d(3, 16, 3, bias=False)", "self.conv(x)", "x=rand(2, 3, 20, 20)"),
    ("conv2d_asymmetric_input", "self.conv = nn.Conv2d(3, 16, 3, bias=False)", "self.conv(x)", "x=rand(2, 3, 14, 26)"),
    ("conv2d_asymmetric_kernel", "self.conv = nn.Conv2d(3, 16, (3, 5), bias=False)", "self.conv(x)", "x=rand(2, 3, 20, 20)"),
    ("conv2d_both_asymmetric", "self.conv = nn.Conv2d(3, 16, (5, 7), bias=False)", "self.conv(x)", "x=rand(2, 3, 14, 26)"),
    ("conv2d_dilated_padded", "self.conv = nn.Conv2d(3, 16, (3, 5), stride=1, padding=(1, 2), dilation=(2, 1), bias=False)",
     "self.conv(x)", "x=rand(2, 3, 20, 20)"),
    ("conv3d_square", "self.conv = nn.Conv3d(3, 8, 3, bias=False)", "self.conv(x)", "x=rand(2, 3, 10, 10, 10)"),
    ("conv3d_asymmetric_input", "self.conv = nn.Conv3d(3, 8, 3, bias=False)", "self.conv(x)", "x=rand(2, 3, 8, 10, 12)"),
    ("conv3d_asymmetric_kernel", "self.conv = nn.Conv3d(3, 8, (3, 5, 7), bias=False)", "self.conv(x)", "x=rand(2, 3, 10, 10, 10)"),
    ("conv3d_flat_kernel", "self.conv = nn.Conv3d(3, 8, (3, 3, 1), bias=False)", "self.conv(x)", "x=rand(2, 3, 12, 12, 6)"),
    ("conv1d", "self.conv = nn.Conv1d(3, 16, 3, bias=False)", "self.conv(x)", "x=rand(4, 3, 100)"),
    ("conv1d_dilated_strided", "self.conv = nn.Conv1d(3, 16, 3, stride=3, dilation=4, bias=False)", "self.conv(x)", "x=rand(4, 3, 100)"),
    ("conv_transpose1d", "self.conv = nn.ConvTranspose1d(8, 6, 5, bias=False)", "self.conv(x)", "x=rand(4, 8, 40)"),
    ("conv_transpose1d_dilated", "self.conv = nn.ConvTranspose1d(4, 6, 5, stride=1, padding=0, dilation=3, bias=False)", "self.conv(x)",
     "x=rand(4, 4, 40)"),
    ("conv_transpose1d_all", "self.conv = nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, dilation=2, bias=False)", "self.conv(x)",
     "x=rand(4, 4, 40)"),
    ("conv_transpose2d_square", "self.conv = nn.ConvTranspose2d(8, 6, 3, bias=False)", "self.conv(x)", "x=rand(2, 8, 12, 12)"),
    ("conv_transpose2d_asymmetric_kernel", "self.conv = nn.ConvTranspose2d(8, 6, (3, 5), bias=False)", "self.conv(x)", "x=rand(2, 8, 12, 12)"),
    ("conv_transpose2d_padded", "self.conv = nn.ConvTranspose2d(8, 6, (3, 5), padding=(1, 2), bias=False)", "self.conv(x)", "x=rand(2, 8, 10, 14)"),
    ("conv_transpose2d_strided_grouped",
     "self.conv = nn.ConvTranspose2d(8, 16, (3, 5), stride=(2, 3), padding=(1, 2), dilation=(2, 1), groups=4, bias=False)",
     "self.conv(x)", "x=rand(2, 8, 8, 12)"),
    ("conv_transpose2d_dilated", "self.conv = nn.ConvTranspose2d(8, 6, 3, stride=5, padding=1, dilation=2, bias=False)", "self.conv(x)",
     "x=rand(2, 8, 6, 8)"),
    ("conv_transpose3d_square", "self.conv = nn.ConvTranspose3d(4, 6, 3, bias=False)", "self.conv(x)", "x=rand(2, 4, 6, 6, 6)"),
    ("conv_transpose3d_asymmetric", "self.conv = nn.ConvTranspose3d(4, 6, (3, 5, 5), bias=False)", "self.conv(x)", "x=rand(2, 4, 6, 7, 8)"),
    ("conv_transpose3d_strided_grouped",
     "self.conv = nn.ConvTranspose3d(8, 8, 3, stride=(2, 2, 2), padding=(1, 2, 1), output_padding=(1, 1, 1), groups=4, bias=False)",
     "self.conv(x)", "x=rand(2, 8, 5, 6, 7)"),
    ("conv_transpose3d_dilated", "self.conv = nn.ConvTranspose3d(4, 6, 3, stride=2, padding=1, dilation=2, bias=False)", "self.conv(x)",
     "x=rand(2, 4, 5, 6, 7)"),
    ("conv_depthwise2d", "self.conv = nn.Conv2d(8, 8, 3, groups=8, bias=False)", "self.conv(x)", "x=rand(2, 8, 16, 16)"),
    ("conv_depthwise2d_asymmetric", "self.conv = nn.Conv2d(8, 8, (3, 1), stride=1, padding=0, groups=8, bias=False)", "self.conv(x)",
     "x=rand(2, 8, 12, 18)"),
    ("conv_depthwise2d_wider", "self.conv = nn.Conv2d(8, 16, (3, 5), groups=8, bias=False)", "self.conv(x)", "x=rand(2, 8, 12, 18)"),
    ("conv_separable2d", "self.depth = nn.Conv2d(3, 3, 3, padding=1, groups=3, bias=False); self.point = nn.Conv2d(3, 16, 1, bias=False)",
     "self.point(self.depth(x))", "x=rand(2, 3, 16, 16)"),
    ("conv_pointwise2d", "self.conv = nn.Conv2d(12, 20, 1, bias=False)", "self.conv(x)", "x=rand(2, 12, 16, 16)"),
    # Scans.
    ("cumsum", "", "torch.cumsum(x, dim=1)", "x=randn(16, 400)"),
    ("cumprod", "", "torch.cumprod(x, dim=1)", "x=1 + 0.05 * randn(16, 60)"),
    ("cumsum_reverse", "", "torch.cumsum(x.flip(1), dim=1).flip(1)", "x=randn(16, 400)"),
    ("cumsum_exclusive", "",
     "torch.cumsum(torch.cat((torch.zeros_like(x.select(1, 0).unsqueeze(1)), x), dim=1)[:, :-1], dim=1)", "x=randn(16, 400)"),
    ("cumsum_masked", "", "torch.cumsum(x * mask, dim=1)", "x=randn(16, 400), mask=torch.randint(0, 2, (16, 400)).bool()"),
    # Losses.
    ("mse_loss", "", "torch.mean((a - b) ** 2)", "a=rand(32, 200), b=rand(32, 200)"),
    ("cross_entropy_loss", "", "F.cross_entropy(a, t)", "a=randn(64, 10), t=torch.randint(0, 10, (64,))"),
    ("huber_loss", "", "F.smooth_l1_loss(a, b)", "a=rand(32, 200), b=rand(32, 200)"),
    ("cosine_loss", "", "torch.mean(1 - F.cosine_similarity(a, b, dim=1))", "a=randn(32, 200), b=randn(32, 200)"),
    ("attention", "", "F.scaled_dot_product_attention(q, k, v)", "q=randn(2, 4, 24, 16), k=randn(2, 4, 24, 16), v=randn(2, 4, 24, 16)"),
    ("kl_div_loss", "", "F.kl_div(torch.log(a), b, reduction='batchmean')",
     "a=rand(32, 200).softmax(dim=-1), b=rand(32, 200).softmax(dim=-1)"),
    ("triplet_loss", "self.loss = nn.TripletMarginLoss(margin=1.0)", "self.loss(a, p, n)", "a=rand(32, 200), p=rand(32, 200), n=rand(32, 200)"),
    ("hinge_loss", "", "torch.mean(torch.clamp(1 - a * t, min=0))", "a=randn(64, 32), t=torch.randint(0, 2, (64, 1)).float() * 2 - 1"),
]

CONV2 = "self.conv = nn.Conv2d(8, 16, 3)"
CONV3 = "self.conv = nn.Conv3d(3, 8, 3)"
BACK2 = "self.conv = nn.ConvTranspose2d(8, 12, 3, stride=2, padding=1, output_padding=1)"
BACK3 = "self.conv = nn.ConvTranspose3d(4, 8, 3, stride=2, padding=1)"
LINEAR = "self.linear = nn.Linear(64, 48)"
X2, X3, XB3, X = "x=rand(4, 8, 16, 16)", "x=rand(2, 3, 12, 12, 12)", "x=rand(2, 4, 5, 6, 6)", "x=rand(32, 64)"


def bias(*shape):
    return f"; self.bias = nn.Parameter(torch.randn({', '.join(map(str, shape))}))"


LEVEL2 = [
    ("conv2d_relu_bias", CONV2 + bias(16, 1, 1), "torch.relu(self.conv(x)) + self.bias", X2),
    ("back2d_bias_clamp_scale_clamp_divide", BACK2 + bias(12, 1, 1),
     "torch.clamp(torch.clamp(self.conv(x) + self.bias, 0.0, 1.0) * 2.0, 0.0, 1.0) / 2.0", X2),
    ("back3d_sum_layernorm_pool_gelu", "self.conv = nn.ConvTranspose3d(4, 8, 3, stride=2, padding=1, output_padding=1)"
     "; self.weight = nn.Parameter(torch.tensor(1.0)); self.norm = nn.LayerNorm((8, 12, 12)); self.pool = nn.AvgPool3d(2)",
     "F.gelu(self.pool(self.norm((self.conv(x) + self.weight).transpose(1, 2)).transpose(1, 2)))", XB3),
    ("back3d_layernorm_width", "self.conv = nn.ConvTranspose3d(4, 8, 3, stride=2, padding=1); self.norm = nn.LayerNorm(11)",
     "F.gelu(self.norm(self.conv(x))) * 1.5", XB3),
    ("conv2d_mish_mish", CONV2, "F.mish(F.mish(self.conv(x)))", X2),
    ("back2d_subtract_tanh", BACK2 + bias(12, 1, 1), "torch.tanh(self.conv(x) - self.bias)", X2),
    ("conv3d_softmax_pool_pool", CONV3, "F.max_pool3d(F.max_pool3d(torch.softmax(self.conv(x), dim=1), 2), 2)", X3),
    ("conv3d_relu_leaky_gelu_sigmoid_bias", CONV3 + bias(8, 1, 1, 1),
     "torch.sigmoid(F.gelu(F.leaky_relu(torch.relu(self.conv(x)), negative_slope=0.01))) + self.bias", X3),
    ("conv3d_divide_max_average_bias_sum", CONV3 + bias(8, 1, 1, 1),
     "torch.sum(F.adaptive_avg_pool3d(F.max_pool3d(self.conv(x) / 2.0, (2, 2, 2)), (1, 1, 1)) + self.bias, dim=1)", X3),
    ("linear_subtract_multiply_relu", LINEAR, "torch.relu((self.linear(x) - 2.0) * 1.5)", X),
    ("back2d_pool_hardtanh_mean_tanh", BACK2,
     "torch.tanh(torch.mean(F.hardtanh(F.max_pool2d(self.conv(x), 2, stride=2), min_val=-1, max_val=1), dim=(2, 3), keepdim=True))", X2),
    ("back2d_batchnorm_tanh_pool_groupnorm", BACK2 + "; self.b = nn.BatchNorm2d(12); self.g = nn.GroupNorm(4, 12)",
     "self.g(F.max_pool2d(torch.tanh(self.b(self.conv(x))), 2))", X2),
    ("linear_multiply_leaky", LINEAR, "F.leaky_relu(self.linear(x) * 2.0, 0.1)", X),
    ("back3d_mean_add_softmax_tanh_scale", BACK3 + bias(1, 1, 1, 1, 1),
     "torch.tanh(torch.softmax(torch.mean(self.conv(x), dim=1, keepdim=True) + self.bias, dim=1)) * 2.0", XB3),
    ("back3d_mean_depth_softmax", BACK3 + bias(1, 8, 1, 1, 1),
     "torch.tanh(torch.softmax(torch.mean(self.conv(x), dim=2, keepdim=True) + self.bias, dim=1)) * 2.0", XB3),
    ("linear_divide_sum_scale", "self.weight = nn.Parameter(torch.randn(48, 64))",
     "torch.sum(torch.matmul(x, self.weight.T) / 2, dim=1, keepdim=True) * 1.5", X),
    ("back3d_batchnorm_subtract_mean", BACK3 + "; self.b = nn.BatchNorm3d(8)",
     "(lambda y: y - torch.mean(y, dim=(2, 3, 4), keepdim=True))(self.b(self.conv(x)))", XB3),
    ("back2d_mish_add_hardtanh_scale", BACK2, "F.hardtanh(F.mish(self.conv(x)) + 0.5, min_val=-1, max_val=1) * 2", X2),
    ("conv2d_instancenorm_divide", CONV2 + "; self.n = nn.InstanceNorm2d(16)", "self.n(self.conv(x)) / 2.0", X2),
    ("linear_sum_max_mean_lse_lse", LINEAR,
     "torch.logsumexp(torch.logsumexp(torch.mean(torch.max(torch.sum(self.linear(x), dim=1, keepdim=True), dim=1, keepdim=True)[0], dim=1, "
     "keepdim=True), dim=1, keepdim=True), dim=1, keepdim=True)", X),
    ("back2d_gelu_groupnorm", BACK2 + "; self.g = nn.GroupNorm(4, 12)", "self.g(F.gelu(self.conv(x)))", X2),
    ("back3d_sum_residual_multiply_residual", BACK3 + bias(8, 1, 1, 1),
     "(lambda y, z: (z + y) * y + y)(*(lambda y: (y.clone().detach(), y + self.bias))(self.conv(x)))", XB3),
    ("conv2d_add_scale_sigmoid_groupnorm", CONV2 + bias(16, 1, 1) + "; self.s = nn.Parameter(torch.randn(16, 1, 1)); self.g = nn.GroupNorm(4, 16)",
     "self.g(torch.sigmoid((self.conv(x) + self.bias) * self.s))", X2),
    ("linear_scale_residual_clamp_lse_mish", LINEAR,
     "(lambda y: y * F.mish(y))(torch.logsumexp(torch.clamp((lambda z: z + z)(self.linear(x) * 2.0), -10.0, 10.0), dim=1, keepdim=True))", X),
    ("conv3d_groupnorm_mean", CONV3 + "; self.g = nn.GroupNorm(4, 8)", "self.g(self.conv(x)).mean(dim=[1, 2, 3, 4])", X3),
    ("conv3d_min_softmax", CONV3, "torch.softmax(torch.min(self.conv(x), dim=2)[0], dim=1)", X3),
    ("conv2d_min_tanh_tanh", CONV2, "torch.tanh(torch.tanh(torch.min(self.conv(x), dim=1, keepdim=True)[0]))", X2),
    ("back3d_add_hardswish", "self.conv = nn.ConvTranspose3d(4, 8, 3, stride=2, padding=1, output_padding=1)",
     "(lambda y: y * F.hardswish(y))(self.conv(x) + a)", "x=rand(2, 4, 5, 6, 6), a=rand(2, 8, 10, 12, 12)"),
    ("conv3d_hardswish_relu_softmax_mean", CONV3, "torch.mean(torch.softmax(torch.relu(F.hardswish(self.conv(x))), dim=1), dim=[2, 3, 4])", X3),
    ("bmm_instancenorm_sum_residual_multiply", LINEAR + "; self.n = nn.InstanceNorm2d(48)",
     "(self.n(self.linear(x).unsqueeze(1).unsqueeze(1)).squeeze(1).squeeze(1) + y) * y", "x=rand(32, 64), y=rand(32, 48)"),
    ("linear_mish_mish", LINEAR, "F.mish(F.mish(self.linear(x)))", X),
    ("linear_groupnorm_hardtanh", LINEAR + "; self.g = nn.GroupNorm(8, 48)", "F.hardtanh(self.g(self.linear(x)), -2.0, 2.0)", X),
    ("conv2d_min_add_multiply", CONV2 + bias(16, 1, 1), "(torch.min(self.conv(x), torch.tensor(0.5)) + self.bias) * 2.0", X2),
    ("conv2d_scale_min", CONV2, "torch.min(self.conv(x) * 2.0, dim=1, keepdim=True)[0]", X2),
    ("linear_scale_batchnorm", LINEAR + "; self.s = nn.Parameter(torch.randn(48)); self.b = nn.BatchNorm1d(48)", "self.b(self.linear(x) * self.s)", X),
    ("conv2d_subtract_hardswish_pool_mish", CONV2, "F.mish(F.max_pool2d(F.hardswish(self.conv(x) - 0.5), 2))", X2),
    ("back2d_min_sum_gelu_add", BACK2 + bias(1, 1, 1),
     "F.gelu(torch.sum(torch.min(self.conv(x), dim=1, keepdim=True)[0], dim=2, keepdim=True)) + self.bias", X2),
    ("linear_swish_sum_groupnorm", LINEAR + bias(48) + "; self.g = nn.GroupNorm(8, 48)",
     "self.g((lambda y: torch.sigmoid(y) * y)(self.linear(x)) + self.bias)", X),
    ("back3d_pool_clamp_softmax_multiply", BACK3 + "; self.s = nn.Parameter(torch.ones(1, 8, 1, 1, 1))",
     "(lambda y: torch.softmax(torch.clamp(y, 0.0, 1.0).view(y.size(0), y.size(1), -1), dim=2).view(y.shape) * self.s)(self.conv(F.avg_pool3d(x, 2)))",
     "x=rand(2, 4, 6, 8, 8)"),
    ("linear_scale_residual", LINEAR, "(lambda y: y * 0.5 + y.clone().detach())(self.linear(x))", X),
    ("linear_batchnorm_gelu_relu", LINEAR + "; self.b = nn.BatchNorm1d(48)", "torch.relu(F.gelu(self.b(self.linear(x))))", X),
    ("back2d_average_bias_lse_sum_multiply", BACK2 + bias(12, 1, 1),
     "torch.sum(torch.logsumexp(torch.mean(self.conv(x), dim=(2, 3), keepdim=True) + self.bias, dim=1, keepdim=True), dim=(2, 3)) * 10.0", X2),
    ("conv3d_pool_lse_relu", "self.conv = nn.Conv3d(3, 8, 3, padding=1)",
     "torch.relu(torch.logsumexp(F.max_pool3d(self.conv(x), 2, stride=2), dim=1, keepdim=True))", X3),
    ("back2d_multiply_average_average_mean", BACK2,
     "torch.mean(torch.mean(self.conv(x) * 0.5, dim=[2, 3], keepdim=True), dim=[2, 3], keepdim=True)", X2),
    ("linear_sigmoid_lse", LINEAR + "; self.second = nn.Linear(48, 24)", "torch.logsumexp(self.second(torch.sigmoid(self.linear(x))), dim=1)", X),
    ("conv2d_subtract_tanh_subtract_pool", CONV2, "F.avg_pool2d(torch.tanh(self.conv(x) - 0.5) - 0.2, 2)", X2),
    ("conv3d_mish_tanh", CONV3, "torch.tanh(F.mish(self.conv(x)))", X3),
    ("conv3d_scale_tanh_multiply_sigmoid", CONV3 + bias(8, 1, 1, 1) + "; self.s = nn.Parameter(torch.randn(8, 1, 1, 1))",
     "torch.sigmoid(torch.tanh(self.conv(x) * self.s) * self.bias)", X3),
    ("back3d_softmax_sigmoid", BACK3, "torch.sigmoid(torch.softmax(self.conv(x), dim=1))", XB3),
    ("back3d_scale_pool_bias_scale", BACK3 + bias(8, 1, 1, 1) + "; self.a = nn.Parameter(torch.tensor(0.5)); self.c = nn.Parameter(torch.tensor(1.0))",
     "(F.avg_pool3d(self.conv(x) * self.a, 2) + self.bias) * self.c", XB3),
    ("linear_subtract_average_lse_gelu_residual", LINEAR.replace("48", "64") + "; self.s = nn.Parameter(torch.randn(64))",
     "F.gelu(torch.logsumexp(torch.mean(self.linear(x) - self.s, dim=1, keepdim=True), dim=1, keepdim=True)) + x.clone().detach()", X),
    ("conv2d_activation_batchnorm", CONV2 + "; self.b = nn.BatchNorm2d(16)",
     "self.b((lambda y: torch.multiply(torch.tanh(F.softplus(y)), y))(self.conv(x)))", X2),
    ("linear_scale_hardtanh_gelu", LINEAR, "F.gelu(F.hardtanh(self.linear(x) * 0.5, -2, 2))", X),
    ("conv2d_multiply_leaky_gelu", CONV2 + bias(16, 1, 1), "F.gelu(F.leaky_relu(self.conv(x) * self.bias))", X2),
    ("linear_pool_sum_scale", LINEAR, "torch.sum(F.max_pool1d(self.linear(x).unsqueeze(1), 2).squeeze(1), dim=1) * 0.5", X),
    ("linear_sigmoid_sum", LINEAR, "torch.sum(torch.sigmoid(self.linear(x)), dim=1, keepdim=True)", X),
    ("conv2d_relu_hardswish", CONV2, "(lambda y: y * torch.clamp((y + 3) / 6, 0, 1))(torch.relu(self.conv(x)))", X2),
    ("back3d_lse_hardswish_subtract_clamp", BACK3 + bias(1, 1, 1, 1),
     "torch.clamp((lambda y: y * torch.sigmoid(y + 3) / 6)(torch.logsumexp(self.conv(x), dim=1, keepdim=True)) - self.bias, min=-1, max=1)", XB3),
    ("linear_swish_scale", LINEAR, "(lambda y: y * torch.sigmoid(y) * 2.0)(self.linear(x))", X),
    ("back3d_swish_groupnorm_hardswish", BACK3 + "; self.g = nn.GroupNorm(4, 8, eps=1e-5)",
     "F.hardswish(self.g((lambda y: torch.sigmoid(y) * y)(self.conv(x))))", XB3),
    ("back3d_relu_groupnorm", BACK3 + "; self.g = nn.GroupNorm(4, 8)", "self.g(torch.relu(self.conv(x)))", XB3),
    ("linear_groupnorm_leaky_sum", LINEAR + "; self.g = nn.GroupNorm(8, 48, eps=1e-5)", "(lambda y: y + y)(F.leaky_relu(self.g(self.linear(x)), 0.01))", X),
    ("linear_relu_divide", LINEAR, "torch.relu(self.linear(x)) / 2.0", X),
    ("linear_lse_leaky_leaky_gelu_gelu", LINEAR,
     "F.gelu(F.gelu(F.leaky_relu(F.leaky_relu(torch.logsumexp(self.linear(x), dim=1, keepdim=True), 0.01), 0.01)))", X),
    ("conv2d_pool_sigmoid_sum", CONV2, "torch.sum(torch.sigmoid(F.avg_pool2d(self.conv(x), 4)), dim=[1, 2, 3])", X2),
    ("linear_dropout_softmax", LINEAR + "; self.d = nn.Dropout(0.2)", "torch.softmax(self.d(self.linear(x)), dim=1)", X),
    ("conv2d_gelu_average", CONV2, "F.adaptive_avg_pool2d(F.gelu(self.conv(x)), 1).squeeze(-1).squeeze(-1)", X2),
    ("linear_min_subtract", LINEAR + "; self.c = nn.Parameter(torch.tensor(2.0))", "torch.min(self.linear(x), self.c) - self.c", X),
    ("conv2d_hardswish_relu", CONV2, "torch.relu(F.hardswish(self.conv(x)))", X2),
    ("linear_sigmoid_scale_residual", LINEAR, "(lambda y: torch.sigmoid(y) * 2.0 + y)(self.linear(x))", X),
    ("conv2d_divide_leaky", CONV2, "F.leaky_relu(self.conv(x) / 2, negative_slope=0.01)", X2),
    ("back3d_batchnorm_pool_pool", BACK3 + "; self.b = nn.BatchNorm3d(8)", "F.avg_pool3d(F.avg_pool3d(self.b(self.conv(x)), 2), 2)", XB3),
    ("conv2d_batchnorm_scale", CONV2 + "; self.b = nn.BatchNorm2d(16)", "self.b(self.conv(x)) * 2.0", X2),
    ("back3d_leaky_multiply_leaky_pool", "self.conv = nn.ConvTranspose3d(4, 8, 3, stride=2, padding=1, output_padding=1)" + bias(8, 1, 1, 1),
     "F.max_pool3d(F.leaky_relu(F.leaky_relu(self.conv(x), 0.2) * self.bias, 0.2), 2)", XB3),
    ("linear_groupnorm_min_bias", LINEAR + "; self.g = nn.GroupNorm(8, 48)" + bias(1, 48, 1, 1),
     "torch.min(self.g(self.linear(x)), dim=1, keepdim=True)[0] + self.bias", X),
    ("linear_add_relu", "self.linear = nn.Linear(64, 48, bias=False)" + bias(48), "torch.relu(self.linear(x) + self.bias)", X),
    ("back3d_scale_batchnorm_average", "self.conv = nn.ConvTranspose3d(4, 8, 3); self.b = nn.BatchNorm3d(8)",
     "F.adaptive_avg_pool3d(self.b(self.conv(x) * 2.0), (1, 1, 1))", XB3),
    ("back3d_pool_pool_sum", "self.conv = nn.ConvTranspose3d(4, 8, 5, stride=2, padding=2)",
     "torch.sum(F.max_pool3d(F.max_pool3d(self.conv(x), 2), 3), dim=1, keepdim=True)", XB3),
    ("conv3d_multiply_instancenorm_clamp_multiply_max", CONV3 + bias(8, 1, 1, 1) + "; self.n = nn.InstanceNorm3d(8)",
     "torch.max(torch.clamp(self.n(self.conv(x) * self.bias), -1.0, 1.0) * self.bias, dim=1)[0]", X3),
    ("linear_max_subtract_gelu", LINEAR, "F.gelu((lambda y: y - y.mean(dim=1, keepdim=True))(torch.max(self.linear(x), dim=1, keepdim=True).values))", X),
    ("linear_swish_divide_clamp_tanh_clamp", LINEAR,
     "torch.clamp(torch.tanh(torch.clamp((lambda y: y * torch.sigmoid(y))(self.linear(x)) / 2.0, min=-1.0, max=1.0)), min=-1.0, max=1.0)", X),
    ("conv2d_tanh_scale_bias_pool", CONV2 + bias(16, 1, 1), "F.max_pool2d(torch.tanh(self.conv(x)) * 2.0 + self.bias, 2)", X2),
    ("conv3d_groupnorm_min_clamp_dropout", CONV3 + "; self.g = nn.GroupNorm(4, 8); self.d = nn.Dropout(0.2)",
     "self.d(torch.clamp(torch.min(self.g(self.conv(x)), torch.tensor(0.0)), min=0.0, max=1.0))", X3),
    ("linear_batchnorm_scale_softmax", LINEAR + "; self.b = nn.BatchNorm1d(48, eps=1e-5, momentum=0.1); self.s = nn.Parameter(torch.ones(1))",
     "torch.softmax(self.s * self.b(self.linear(x)), dim=1)", X),
    ("conv2d_groupnorm_scale_pool_clamp", CONV2 + "; self.g = nn.GroupNorm(4, 16); self.s = nn.Parameter(torch.ones(16, 1, 1))",
     "torch.clamp(F.max_pool2d(self.g(self.conv(x)) * self.s, 4), 0.0, 1.0)", X2),
    ("linear_divide_gelu", LINEAR, "F.gelu(self.linear(x) / 10.0)", X),
    ("conv2d_subtract_subtract_mish", CONV2, "F.mish(self.conv(x) - 0.5 - 0.2)", X2),
    ("linear_groupnorm_swish_multiply_swish", LINEAR + "; self.g = nn.GroupNorm(8, 48); self.s = nn.Parameter(torch.randn(48))",
     "(lambda y: y * torch.sigmoid(y))((lambda y: y * torch.sigmoid(y))(self.g(self.linear(x))) * self.s)", X),
    ("back3d_pool_softmax_subtract_swish_max", "self.conv = nn.ConvTranspose3d(4, 8, 3, stride=2, padding=1, output_padding=1); "
     "self.s = nn.Parameter(torch.randn(8))",
     "torch.max((lambda y: torch.sigmoid(y) * y)(torch.softmax(F.max_pool3d(self.conv(x), 2, stride=2, padding=0), dim=1) - self.s.view(1, -1, 1, 1, 1)), "
     "dim=1)[0]", XB3),
    ("conv3d_leaky_sum_clamp_gelu", CONV3 + bias(8, 1, 1, 1), "F.gelu(torch.clamp(F.leaky_relu(self.conv(x), 0.2) + self.bias, min=-1.0, max=1.0))", X3),
    ("back2d_softmax_bias_scale_sigmoid", BACK2 + bias(12, 1, 1), "torch.sigmoid((torch.softmax(self.conv(x), dim=1) + self.bias) * 2.0)", X2),
    ("conv2d_groupnorm_tanh_hardswish_residual_lse", CONV2 + "; self.g = nn.GroupNorm(4, 16, eps=1e-5)",
     "(lambda y: torch.logsumexp(y + F.hardswish(torch.tanh(self.g(y))), dim=1, keepdim=True))(self.conv(x))", X2),
    ("back2d_add_min_gelu_multiply", BACK2, "F.gelu(torch.min(self.conv(x) + 0.5, torch.tensor(0.0))) * 2.0", X2),
    ("linear_bias_hardtanh_mish_groupnorm", LINEAR + bias(48) + "; self.g = nn.GroupNorm(8, 48)",
     "self.g(F.mish(F.hardtanh(self.linear(x) + self.bias)))", X),
    ("linear_add_swish_tanh_gelu_hardtanh", LINEAR + "; self.a = nn.Parameter(torch.randn(48))",
     "F.hardtanh(F.gelu(torch.tanh((lambda y: torch.sigmoid(y) * y)(self.linear(x) + self.a))), min_val=-1, max_val=1)", X),
    ("back3d_multiply_pool_average_clamp", BACK3, "torch.clamp(F.adaptive_avg_pool3d(F.max_pool3d(self.conv(x) * 0.5, 2), (1, 1, 1)), min=0, max=1)", XB3),
    ("linear_batchnorm_bias_divide_swish", LINEAR + "; self.b = nn.BatchNorm1d(48, eps=1e-5)" + bias(1),
     "(lambda y: y * torch.sigmoid(y))((self.b(self.linear(x)) + self.bias) / 1.0)", X),
    ("linear_pool_gelu_scale_max", LINEAR, "torch.max(F.gelu(F.avg_pool1d(self.linear(x).unsqueeze(1), 4).squeeze(1)) * 2.0, dim=1).values", X),
    ("linear_gelu_softmax", LINEAR, "torch.softmax(F.gelu(self.linear(x)), dim=1)", X),
    ("back3d_clamp_divide", BACK3, "torch.clamp(self.conv(x), min=-1.0) / 2.0", XB3),
]

TEMPLATE = '''"""{title}"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import rand, randn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
{init}

    def forward(self, {names}):
        return {forward}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
'''


def split(text):
    """Commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return parts + [text[start:].strip()]


def write(folder, name, init, forward, inputs):
    items = [item.split("=", 1) for item in split(inputs)]
    lines = [line.strip() for line in init.split(";")] if init else ["pass"]
    text = TEMPLATE.format(title=name.replace("_", " ").capitalize() + ".", init="\n".join("        " + line for line in lines),
                           names=", ".join(item[0].strip() for item in items), forward=forward,
                           inputs=", ".join(item[1].strip() for item in items))
    (folder / (name + ".py")).write_text(text)


def main():
    folder = pathlib.Path(sys.argv[1])
    levels = sys.argv[2:] or ["level1", "level2"]
    folder.mkdir(parents=True, exist_ok=True)
    for level in levels:
        rows = {"level1": LEVEL1, "level2": LEVEL2}[level]
        assert len({row[0] for row in rows}) == len(rows)
        for row in rows:
            write(folder, *row)
        print(f"{level}: {len(rows)} models")


if __name__ == "__main__":
    main()
