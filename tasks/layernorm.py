"""Layer normalisation over the last three axes, with weight and bias."""

import torch.nn.functional as F
from suite import normal, sizes

backward = "go x weight bias eps"


def forward(x, weight, bias, eps):
    return F.layer_norm(x, weight.shape, weight, bias, eps)


def arguments(batch, features, height, width, eps=1e-5):
    shape = (features, height, width)
    return dict(x=normal(batch, *shape), weight=normal(*shape, mean=1.0, scale=0.5), bias=normal(*shape), eps=eps)


axes = "batch features height width"
quick = sizes(axes, (2, 4, 8, 8))
hidden = sizes(axes, (1, 1, 1, 7), (3, 5, 7, 9), (8, 1, 16, 33), (2, 3, 31, 17))
timing = sizes(axes, (1, 64, 256, 256), (8, 64, 256, 256), (8, 1, 256, 256), (16, 64, 256, 256), (64, 32, 512, 256))
