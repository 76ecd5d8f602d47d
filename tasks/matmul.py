"""Matrix product."""

from suite import normal, sizes, weight


def forward(a, b):
    return a @ b


def arguments(m, n, k):
    return dict(a=normal(m, k), b=weight(n, k).t().contiguous())


quick = sizes("m n k", (32, 32, 32))
hidden = sizes("m n k", (1, 1, 1), (17, 33, 5), (7, 65, 130), (100, 3, 31))
timing = sizes("m n k", (4096, 4096, 4096), (16, 4096, 16384))
