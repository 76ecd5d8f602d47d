"""Adds rows of one tensor to the rows of another that indices name."""

from suite import integers, normal, sizes


def forward(base, indices, values):
    return base.scatter_add(0, indices[:, None].expand_as(values), values)


def arguments(entries, rows, width):
    return dict(base=normal(entries, width), indices=integers(entries, rows), values=normal(rows, width))


axes = "entries rows width"
quick = sizes(axes, (16, 64, 16))
hidden = sizes(axes, (1, 1, 1), (3, 50, 7), (33, 5, 9))
timing = sizes(axes, (4096, 65536, 256))
