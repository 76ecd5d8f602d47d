"""Product with an int8 weight that has one scale for each output."""

from suite import integers, normal, sizes, uniform

gradients = ["x", "scale"]


def forward(x, weight, scale):
    return (x @ weight.to(x.dtype).t()) * scale


def arguments(batch, inputs, outputs):
    import torch

    weight = (integers(255, outputs, inputs) - 127).to(torch.int8)
    return dict(x=normal(batch, inputs), weight=weight, scale=uniform(outputs, low=0.5, high=1.5) / (74 * inputs**0.5))


axes = "batch inputs outputs"
quick = sizes(axes, (16, 64, 32))
hidden = sizes(axes, (1, 1, 1), (5, 33, 17), (3, 130, 7))
timing = sizes(axes, (16, 4096, 14336))
