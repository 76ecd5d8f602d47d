"""Batch normalisation in training: uses the batch's statistics and updates the running ones in place."""

import torch
import torch.nn.functional as F
from suite import normal, sizes, uniform

gradients = ["x", "weight", "bias"]
backward = "go x weight bias eps"


def forward(x, weight, bias, running_mean, running_var, momentum, eps):
    return F.batch_norm(x, running_mean, running_var, weight, bias, True, momentum, eps)


def arguments(batch, channels, size, momentum=0.1, eps=1e-5):
    return dict(
        x=normal(batch, channels, size, size),
        weight=normal(channels, mean=1.0, scale=0.5), bias=normal(channels),
        running_mean=normal(channels, scale=0.1), running_var=uniform(channels, low=0.5, high=1.5),
        momentum=momentum, eps=eps,
    )


axes = "batch channels size"
quick = sizes(axes, (4, 8, 8))
hidden = sizes(axes, (2, 1, 1), (3, 5, 7), (5, 3, 9), (7, 33, 2))
timing = sizes(axes, (64, 64, 112), (256, 512, 7))
