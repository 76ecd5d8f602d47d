"""Kullback-Leibler divergence of a distribution from predicted logits, averaged over the batch."""

import torch
import torch.nn.functional as F
from suite import normal, sizes

gradients = ["logits"]


def forward(logits, target):
    return F.kl_div(torch.log_softmax(logits, -1), target, reduction="batchmean")


def arguments(rows, width):
    return dict(logits=normal(rows, width), target=torch.softmax(normal(rows, width), -1))


axes = "rows width"
quick = sizes(axes, (32, 64))
hidden = sizes(axes, (1, 2), (7, 33), (3, 513), (5, 100))
timing = sizes(axes, (8192, 8192))
