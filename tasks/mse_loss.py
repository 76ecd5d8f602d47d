"""Mean squared error."""

import torch.nn.functional as F
from suite import normal, sizes

gradients = ["prediction"]


def forward(prediction, target):
    return F.mse_loss(prediction, target)


def arguments(rows, width):
    return dict(prediction=normal(rows, width), target=normal(rows, width))


axes = "rows width"
quick = sizes(axes, (32, 256))
hidden = sizes(axes, (1, 1), (7, 33), (3, 1025), (5, 100))
timing = sizes(axes, (128, 32768), (8192, 8192))
