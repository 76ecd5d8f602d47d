"""What the task files share. README.md explains the format."""

import torch


def normal(*shape, scale=1.0, mean=0.0):
    """Normally distributed values. The bridge casts them to the dtype that is asked for."""
    return torch.randn(*shape) * scale + mean


def uniform(*shape, low=0.0, high=1.0):
    return torch.rand(*shape) * (high - low) + low


def weight(*shape):
    """A weight matrix or filter: outputs keep the scale of the inputs."""
    fan_in = 1
    for size in shape[1:]:
        fan_in *= size
    return torch.randn(*shape) / fan_in**0.5


def integers(high, *shape):
    """Indices below `high`; they keep their dtype."""
    return torch.randint(0, high, shape)


def sizes(names, *rows):
    """sizes("batch width", (4, 64), (1, 33)): one configuration a row."""
    return [dict(zip(names.split(), row, strict=True)) for row in rows]
