"""Writes the Triton samples of the corpus: python triton_kernels.py <folder>."""
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax(out, x, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    v = tl.load(x + row * n + columns, mask=mask, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * n + columns, e / tl.sum(e, 0), mask=mask)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    left = a + rows[:, None] * K + k[None, :]
    right = b + k[:, None] * N + columns[None, :]
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        sums += tl.dot(tl.load(left), tl.load(right))
        left += BK
        right += BK * N
    tl.store(c + rows[:, None] * N + columns[None, :], sums.to(tl.float16))


def write(function, signature, constants, architecture, path):
    source = ASTSource(fn=function, signature=signature, constexprs=constants)
    compiled = triton.compile(source, target=GPUTarget("cuda", architecture, 32))
    with open(path, "w") as file:
        file.write(compiled.asm["ptx"])


folder = sys.argv[1]
blocks = {"BM": "constexpr", "BN": "constexpr", "BK": "constexpr"}
halves = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32", **blocks}
write(softmax, {"out": "*fp32", "x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 512}, 90,
      f"{folder}/triton_softmax_sm90.ptx")
write(matmul, halves, {"BM": 64, "BN": 64, "BK": 32}, 80, f"{folder}/triton_matmul_sm80.ptx")
write(matmul, halves, {"BM": 64, "BN": 64, "BK": 32}, 90, f"{folder}/triton_matmul_sm90.ptx")
write(matmul, halves, {"BM": 64, "BN": 64, "BK": 32}, 100, f"{folder}/triton_matmul_sm100.ptx")
