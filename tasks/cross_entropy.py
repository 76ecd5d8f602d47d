"""Mean cross entropy of logits against class indices."""

import torch.nn.functional as F
from suite import integers, normal, sizes

backward = "go logits targets"


def forward(logits, targets):
    return F.cross_entropy(logits, targets)


def arguments(batch, classes):
    return dict(logits=normal(batch, classes, scale=2.0), targets=integers(classes, batch))


axes = "batch classes"
quick = sizes(axes, (64, 10))
hidden = sizes(axes, (1, 2), (7, 33), (5, 1001), (100, 3))
timing = sizes(axes, (64, 10), (4096, 100), (4096, 10), (2048, 128256))
