"""The tests of packed halves in comparisons and of rarer forms of conversion and logic."""

import random

import exact
from exact import NAN
from generate_float import BF16_EDGES, E4M3, E5M2, F16_EDGES, F32_EDGES, TIES, compare_rows, draw, tf32
from ptxgen import Case, write

rng = random.Random(60)
EDGES = {"f16": F16_EDGES, "bf16": BF16_EDGES}


def pair_rows(fmt, count=16, width=2):
    rows = [tuple(draw(fmt) << 16 | draw(fmt) for _ in range(width)) for _ in range(count)]
    compare = compare_rows(fmt)
    return rows + [tuple(compare[i][k] << 16 | compare[-1 - i][k] for k in range(2)) + (rng.getrandbits(32),) * (width - 2)
                   for i in range(len(compare))]


def each(f):
    return lambda *x: f(*(v >> 16 for v in x)) << 16 | f(*(v & 0xFFFF for v in x))


def one(fmt):
    return exact.from_value(fmt, 1)


write("compare", "set_pairs", "set of pairs gives 1.0 or 0 in each half, or all ones as integers",
      [Case(f"set.{op}.{fmt}x2.{fmt}x2", f"set.{op}.{fmt}x2.{fmt}x2 $d, $a, $b;", "b32", ["b32", "b32"], pair_rows(fmt),
            each(lambda a, b, op=op, fmt=fmt: one(fmt) if exact.compare(op, fmt, a, b) else 0))
       for fmt in ("f16", "bf16") for op in ("eq", "lt", "geu", "nan")] +
      [Case(f"set.{op}.u32.{fmt}x2", f"set.{op}.u32.{fmt}x2 $d, $a, $b;", "b32", ["b32", "b32"], pair_rows(fmt),
            each(lambda a, b, op=op, fmt=fmt: 0xFFFF if exact.compare(op, fmt, a, b) else 0))
       for fmt in ("f16", "bf16") for op in ("ne", "gt")], hexadecimal=True)
write("compare", "setp_pairs", "setp of pairs: p from the low halves, q from the high ones",
      [Case(f"setp.{op}.{fmt}x2", f".reg .pred %p, %q;\nsetp.{op}.{fmt}x2 %p|%q, $a, $b;\nselp.u32 $d, 1, 0, %p;\n@%q add.u32 $d, $d, 2;",
            "u32", ["b32", "b32"], pair_rows(fmt),
            lambda a, b, op=op, fmt=fmt: int(exact.compare(op, fmt, a & 0xFFFF, b & 0xFFFF)) + 2 * int(exact.compare(op, fmt, a >> 16, b >> 16)))
       for fmt in ("f16", "bf16") for op in ("lt", "ge", "neu", "num")], hexadecimal=False)


def minmax(op, fmt, nan, xorsign):
    def apply(a, b):
        sign = (a ^ b) & 0x8000
        if xorsign:
            a, b = a & 0x7FFF, b & 0x7FFF
        bits = exact.minmax(fmt, a, b, op == "max", nan)
        if exact.decode(fmt, bits)[1] == "nan":
            return NAN[fmt]
        return bits | sign if xorsign else bits
    return each(apply)


write("half", "min_max_pairs", "min and max of pairs",
      [Case(f"{op}{m}.{fmt}x2", f"{op}{m}.{fmt}x2 $d, $a, $b;", "b32", ["b32", "b32"], pair_rows(fmt),
            minmax(op, fmt, ".NaN" in m, ".xorsign" in m))
       for op in ("min", "max") for fmt in ("f16", "bf16") for m in ("", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs")], hexadecimal=True)


def relu(fmt, bits):
    return 0 if bits & 0x8000 and exact.decode(fmt, bits)[1] != "nan" else bits


write("half", "fma_relu_pairs", "fma with .relu on pairs; .ftz and .sat",
      [Case(f"fma.rn.relu.{fmt}x2", f"fma.rn.relu.{fmt}x2 $d, $a, $b, $c;", "b32", ["b32"] * 3, pair_rows(fmt, width=3),
            each(lambda a, b, c, fmt=fmt: relu(fmt, exact.fma(fmt, a, b, c)))) for fmt in ("f16", "bf16")] +
      [Case("fma.rn.ftz.relu.f16x2", "fma.rn.ftz.relu.f16x2 $d, $a, $b, $c;", "b32", ["b32"] * 3, pair_rows("f16", width=3),
            each(lambda *x: relu("f16", exact.flush("f16", exact.fma("f16", *(exact.flush("f16", v) for v in x)))))),
       Case("mul.ftz.sat.f16x2", "mul.ftz.sat.f16x2 $d, $a, $b;", "b32", ["b32"] * 2, pair_rows("f16"),
            each(lambda a, b: exact.saturate("f16", exact.flush("f16", exact.mul("f16", exact.flush("f16", a), exact.flush("f16", b)))))),
       Case("add.ftz.f16x2", "add.ftz.f16x2 $d, $a, $b;", "b32", ["b32"] * 2, pair_rows("f16"),
            each(lambda a, b: exact.flush("f16", exact.add("f16", exact.flush("f16", a), exact.flush("f16", b)))))], hexadecimal=True)
NUMBERS = {fmt: [x for x in EDGES[fmt] if exact.decode(fmt, x)[1] != "nan"] for fmt in EDGES}
write("half", "sign_pairs", "abs and neg of pairs",
      [Case(f"{op}.{fmt}x2", f"{op}.{fmt}x2 $d, $a;", "b32", ["b32"],
            [x << 16 | y for x, y in zip(NUMBERS[fmt], reversed(NUMBERS[fmt]))],
            each(lambda a, op=op: a & 0x7FFF if op == "abs" else a ^ 0x8000)) for op in ("abs", "neg") for fmt in ("f16", "bf16")],
      hexadecimal=True)
write("cvt", "half_to_half", "f16 and bf16 into one another and from f64, rounded once",
      [Case("cvt.rn.bf16.f16", "cvt.rn.bf16.f16 $d, $a;", "bf16", ["b16"], F16_EDGES + [0x3C05, 0x3C0C, 0x3C04],
            lambda a: exact.convert("bf16", "f16", a)),
       Case("cvt.rn.f16.bf16", "cvt.rn.f16.bf16 $d, $a;", "f16", ["b16"], BF16_EDGES + [0x4780, 0x3300, 0x3380],
            lambda a: exact.convert("f16", "bf16", a)),
       Case("cvt.rn.bf16.f64", "cvt.rn.bf16.f64 $d, $a;", "bf16", ["b64"],
            [0x3FF0100000000000, 0x3FF0100000000001, 0x3FF00FFFFFFFFFFF, 0x7FF0000000000000, 1 << 63],
            lambda a: exact.convert("bf16", "f64", a)),
       Case("cvt.f64.bf16", "cvt.f64.bf16 $d, $a;", "f64", ["b16"], [x for x in BF16_EDGES if x != 0x7FC0],
            lambda a: exact.convert("f64", "bf16", a))])


def half_of(fmt, mode, with_relu, satfinite):
    def apply(bits):
        x = exact.decode("f32", bits)
        if with_relu and x[0] and x[1] != "nan":
            return 0
        h = exact.convert(fmt, "f32", bits, mode)
        return h - 1 if satfinite and h & 0x7FFF == exact.infinity(fmt, 0) else h
    return apply


write("cvt", "relu_satfinite", ".relu and .satfinite of conversions to halves and tf32",
      [Case(f"cvt.{mode}{m}.{fmt}.f32", f"cvt.{mode}{m}.{fmt}.f32 $d, $a;", fmt, ["b32"], TIES + F32_EDGES,
            half_of(fmt, mode, ".relu" in m, ".satfinite" in m))
       for fmt in ("f16", "bf16") for mode, m in (("rn", ".relu"), ("rz", ".relu"), ("rn", ".satfinite"), ("rn", ".relu.satfinite"))] +
      [Case("cvt.rna.satfinite.tf32.f32", "cvt.rna.satfinite.tf32.f32 $d, $a;", "b32", ["b32"], TIES + F32_EDGES,
            lambda a: (a & 0x80000000) | 0x7F7FE000 if (tf32("rna")(a) & 0x7FFFFFFF) == 0x7F800000 else tf32("rna")(a))],
      hexadecimal=True)


def widen_half(bits):
    return exact.convert("f32", "f16", bits)


write("cvt", "fp8_from_f16x2", "pairs of f16 to e4m3 and e5m2",
      [Case(f"cvt.rn.satfinite{r}.{name}x2.f16x2", f"cvt.rn.satfinite{r}.{name}x2.f16x2 $d, $a;", "b16", ["b32"],
            [x << 16 | y for x, y in zip(F16_EDGES, reversed(F16_EDGES))] + [draw("f16") << 16 | draw("f16") for _ in range(16)],
            lambda a, f=f, r=r: f(widen_half(a >> 16), r != "") << 8 | f(widen_half(a & 0xFFFF), r != ""))
       for name, f in (("e4m3", E4M3), ("e5m2", E5M2)) for r in ("", ".relu")], hexadecimal=True)


def lop3(table, a, b, c):
    d = 0
    for i in range(32):
        d |= (table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1) << i
    return d


ROWS = [(rng.getrandbits(32), rng.getrandbits(32), rng.getrandbits(32)) for _ in range(4)] + [(0, 0, 0), (1, 1, 1)]
write("integer", "lop3_predicate", "lop3 with a predicate: whether the result is not zero, combined with another",
      [Case(f"lop3.{op}.{q}", f".reg .pred %p, %q;\nsetp.eq.u32 %q, {q}, 1;\nlop3.{op}.b32 $d|%p, $a, $b, $c, 0x80, %q;\n"
            "selp.u32 $d, 1, 0, %p;", "u32", ["b32"] * 3, ROWS,
            lambda a, b, c, op=op, q=q: int((lop3(0x80, a, b, c) != 0) and q if op == "and" else (lop3(0x80, a, b, c) != 0) or q))
       for op in ("and", "or") for q in (0, 1)])
