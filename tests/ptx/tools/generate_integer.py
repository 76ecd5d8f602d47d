"""The tests of integer, bit and carry instructions: plain Python integers are the reference."""

import random

from ptxgen import BITS, Case, unsigned, wrap, write

TYPES = ["u16", "s16", "u32", "s32", "u64", "s64"]
rng = random.Random(20)


def edges(t):
    n = BITS[t]
    return [0, 1, 2, 5, (1 << (n - 1)) - 1, 1 << (n - 1), (1 << n) - 1, (1 << n) - 7,
            rng.getrandbits(n), rng.getrandbits(n)]


def pairs(t, count=24):
    e = edges(t)
    out = [(1, (1 << BITS[t]) - 1), (1 << (BITS[t] - 1), (1 << BITS[t]) - 1), (e[-1], e[-2])]
    while len(out) < count:
        out.append((rng.choice(e), rng.choice(e)))
    return out


def triples(t, c_type=None, count=20):
    return [p + (rng.choice(edges(c_type or t)),) for p in pairs(t, count)]


def binary(name, types, reference, instruction=None, rows=pairs):
    cases = []
    for t in types:
        op = f"{instruction or name}.{t}"
        cases.append(Case(op, f"{op} $d, $a, $b;", t, [t, t], rows(t), reference))
    return cases


def clamp(t, x):
    n = BITS[t]
    low, high = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if t[0] == "s" else (0, (1 << n) - 1)
    return min(max(x, low), high)


def wide(t):
    return t[0] + str(2 * BITS[t])


def trunc_div(a, b):
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def nonzero(t):
    return [(a, b) for a, b in pairs(t, 40) if b != 0 and wrap(t, b) != 0][:20]


write("integer", "add", "add of every type wraps; .sat clamps",
      binary("add", TYPES, lambda a, b: a + b) +
      [Case("add.sat.s32", "add.sat.s32 $d, $a, $b;", "s32", ["s32", "s32"], pairs("s32"),
            lambda a, b: clamp("s32", a + b))])
write("integer", "sub", "sub of every type wraps; .sat clamps",
      binary("sub", TYPES, lambda a, b: a - b) +
      [Case("sub.sat.s32", "sub.sat.s32 $d, $a, $b;", "s32", ["s32", "s32"], pairs("s32"),
            lambda a, b: clamp("s32", a - b))])
write("integer", "mul_lo", "the low half of a product", binary("mul.lo", TYPES, lambda a, b: a * b))
write("integer", "mul_hi", "the high half of a product",
      [Case(f"mul.hi.{t}", f"mul.hi.{t} $d, $a, $b;", t, [t, t], pairs(t),
            lambda a, b, t=t: (a * b) >> BITS[t]) for t in TYPES])
write("integer", "mul_wide", "the whole product",
      [Case(f"mul.wide.{t}", f"mul.wide.{t} $d, $a, $b;", wide(t), [t, t], pairs(t),
            lambda a, b: a * b) for t in TYPES[:4]])
write("integer", "mad_lo", "multiply and add, low half",
      [Case(f"mad.lo.{t}", f"mad.lo.{t} $d, $a, $b, $c;", t, [t] * 3, triples(t),
            lambda a, b, c: a * b + c) for t in TYPES])
write("integer", "mad_hi", "multiply and add, high half; .sat clamps the sum",
      [Case(f"mad.hi.{t}", f"mad.hi.{t} $d, $a, $b, $c;", t, [t] * 3, triples(t),
            lambda a, b, c, t=t: ((a * b) >> BITS[t]) + c) for t in TYPES] +
      [Case("mad.hi.sat.s32", "mad.hi.sat.s32 $d, $a, $b, $c;", "s32", ["s32"] * 3, triples("s32"),
            lambda a, b, c: clamp("s32", ((a * b) >> 32) + c))])
write("integer", "mad_wide", "multiply and add a number of twice the width",
      [Case(f"mad.wide.{t}", f"mad.wide.{t} $d, $a, $b, $c;", wide(t), [t, t, wide(t)],
            triples(t, wide(t)), lambda a, b, c: a * b + c) for t in TYPES[:4]])


def low24(t, x):
    x &= 0xFFFFFF
    return x - (1 << 24) if t[0] == "s" and x >> 23 else x


write("integer", "mul24", "24-bit products: .lo has bits 0 to 31, .hi bits 16 to 47",
      [Case(f"mul24.{half}.{t}", f"mul24.{half}.{t} $d, $a, $b;", t, [t, t], pairs(t),
            lambda a, b, t=t, half=half: (low24(t, a) * low24(t, b)) >> (16 if half == "hi" else 0))
       for t in ("u32", "s32") for half in ("lo", "hi")])
write("integer", "mad24", "24-bit products and a sum",
      [Case(f"mad24.{half}.{t}", f"mad24.{half}.{t} $d, $a, $b, $c;", t, [t] * 3, triples(t),
            lambda a, b, c, t=t, half=half: wrap("u32", (low24(t, a) * low24(t, b)) >> (16 if half == "hi" else 0)) + c)
       for t in ("u32", "s32") for half in ("lo", "hi")] +
      [Case("mad24.hi.sat.s32", "mad24.hi.sat.s32 $d, $a, $b, $c;", "s32", ["s32"] * 3, triples("s32"),
            lambda a, b, c: clamp("s32", wrap("s32", (low24("s32", a) * low24("s32", b)) >> 16) + c))])
write("integer", "sad", "sum of absolute differences",
      [Case(f"sad.{t}", f"sad.{t} $d, $a, $b, $c;", t, [t] * 3, triples(t),
            lambda a, b, c: c + abs(a - b)) for t in TYPES])
write("integer", "div", "division rounds towards zero; the smallest integer by -1 wraps",
      binary("div", TYPES, trunc_div, rows=nonzero))
write("integer", "rem", "the remainder has the dividend's sign",
      binary("rem", TYPES, lambda a, b: a - b * trunc_div(a, b), rows=nonzero))
write("integer", "div_by_zero", "division by zero gives all ones, as compiled code does",
      [Case(f"{op}.{t}", f"{op}.{t} $d, $a, $b;", t, [t, t], [(0, 0), (7, 0), ((1 << BITS[t]) - 3, 0)],
            lambda a, b: -1) for op in ("div", "rem") for t in ("u32", "s32", "u64", "s64")])
write("integer", "abs_neg", "absolute value and negation wrap at the smallest integer",
      [Case(f"{op}.{t}", f"{op}.{t} $d, $a;", t, [t], edges(t), f)
       for op, f in (("abs", abs), ("neg", lambda a: -a)) for t in ("s16", "s32", "s64")])
write("integer", "min_max", "minimum and maximum of every type",
      binary("min", TYPES, min) + binary("max", TYPES, max) +
      [Case(f"{op}.relu.s32", f"{op}.relu.s32 $d, $a, $b;", "s32", ["s32", "s32"], pairs("s32"),
            lambda a, b, f=f: max(f(a, b), 0)) for op, f in (("min", min), ("max", max))])


def halves(t, f):
    def apply(a, b):
        lo = unsigned("u16", f(wrap(t, a), wrap(t, b)))
        hi = unsigned("u16", f(wrap(t, a >> 16), wrap(t, b >> 16)))
        return hi << 16 | lo
    return apply


write("integer", "x2", "pairs of 16-bit integers",
      [Case(f"{op}.{t}x2", f"{op}.{t}x2 $d, $a, $b;", "b32", ["b32", "b32"], pairs("u32"), halves(t, f))
       for op, f in (("add", lambda a, b: a + b), ("min", min), ("max", max)) for t in ("u16", "s16")] +
      [Case("max.relu.s16x2", "max.relu.s16x2 $d, $a, $b;", "b32", ["b32", "b32"], pairs("u32"),
            halves("s16", lambda a, b: max(a, b, 0)))])

# ---- bits ----

write("integer", "logic", "and, or, xor, not, cnot of every width",
      [Case(f"{op}.{t}", f"{op}.{t} $d, $a, $b;", t, [t, t], pairs(t), f)
       for op, f in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b))
       for t in ("b16", "b32", "b64")] +
      [Case(f"{op}.{t}", f"{op}.{t} $d, $a;", t, [t], edges(t), f)
       for op, f in (("not", lambda a: ~a), ("cnot", lambda a: 1 if a == 0 else 0))
       for t in ("b16", "b32", "b64")])
AMOUNTS = [0, 1, 4, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x80000000, 0xFFFFFFFF]


def shift_rows(t):
    return [(rng.getrandbits(BITS[t]) | 1 << (BITS[t] - 1) | 1, n) for n in AMOUNTS]


write("integer", "shl", "shift amounts above the width give zero",
      [Case(f"shl.{t}", f"shl.{t} $d, $a, $b;", t, [t, "u32"], shift_rows(t),
            lambda a, n, t=t: a << n if n < BITS[t] else 0) for t in ("b16", "b32", "b64")])
write("integer", "shr", "shift amounts above the width give zero or the sign",
      [Case(f"shr.{t}", f"shr.{t} $d, $a, $b;", t, [t, "u32"], shift_rows(t),
            lambda a, n: a >> min(n, 64)) for t in ("b16", "u16", "s16", "u32", "s32", "u64", "s64")])


def funnel(left, wrap_mode):
    def apply(a, b, c):
        n = c % 32 if wrap_mode else min(c, 32)
        both = b << 32 | a
        return (both << n) >> 32 if left else both >> n
    return apply


write("integer", "shf", "funnel shifts of b:a, wrapping or clamping the amount",
      [Case(f"shf.{d}.{m}.b32", f"shf.{d}.{m}.b32 $d, $a, $b, $c;", "b32", ["b32", "b32", "u32"],
            [(rng.getrandbits(32), rng.getrandbits(32), n) for n in AMOUNTS], funnel(d == "l", m == "wrap"))
       for d in "lr" for m in ("clamp", "wrap")])
write("integer", "popc_clz_brev", "counting and reversing bits",
      [Case(f"popc.{t}", f"popc.{t} $d, $a;", "u32", [t], edges(t), lambda a: bin(a).count("1"))
       for t in ("b32", "b64")] +
      [Case(f"clz.{t}", f"clz.{t} $d, $a;", "u32", [t], edges(t), lambda a, t=t: BITS[t] - a.bit_length())
       for t in ("b32", "b64")] +
      [Case(f"brev.{t}", f"brev.{t} $d, $a;", t, [t], edges(t),
            lambda a, t=t: int(f"{a:0{BITS[t]}b}"[::-1], 2)) for t in ("b32", "b64")])


def bfind(t, shift):
    def apply(a):
        x = unsigned(t, ~a if a < 0 else a)
        if x == 0:
            return 0xFFFFFFFF
        position = x.bit_length() - 1
        return BITS[t] - 1 - position if shift else position
    return apply


write("integer", "bfind", "the highest bit that is not the sign",
      [Case(f"bfind{s}.{t}", f"bfind{s}.{t} $d, $a;", "u32", [t], edges(t) + [0x10000, 1 << (BITS[t] - 2)],
            bfind(t, s != "")) for t in ("u32", "s32", "u64", "s64") for s in ("", ".shiftamt")])


def field_rows(t):
    rows = []
    for pos, length in [(0, 8), (4, 8), (8, 0), (28, 8), (31, 1), (32, 4), (60, 8), (0, 32), (0, 64), (3, 64),
                        (40, 255), (255, 255), (0x104, 0x108), (16, 16)]:
        rows.append((rng.getrandbits(BITS[t]), pos, length))
        rows.append((unsigned(t, -3), pos, length))
    return rows


def bfe(t):
    def apply(a, b, c):
        msb, bits = BITS[t] - 1, unsigned(t, a)
        pos, length = b & 0xFF, c & 0xFF
        sign = 0
        if t[0] == "s" and length:
            sign = bits >> min(pos + length - 1, msb) & 1
        d = 0
        for i in range(msb + 1):
            d |= (bits >> (pos + i) & 1 if i < length and pos + i <= msb else sign) << i
        return d
    return apply


def bfi(t):
    def apply(a, b, c, d):
        msb, f = BITS[t] - 1, b
        pos, length = c & 0xFF, d & 0xFF
        for i in range(length):
            if pos + i > msb:
                break
            f = f & ~(1 << (pos + i)) | (a >> i & 1) << (pos + i)
        return f
    return apply


write("integer", "bfe", "bit fields, also beyond the top and longer than the register",
      [Case(f"bfe.{t}", f"bfe.{t} $d, $a, $b, $c;", t, [t, "u32", "u32"], field_rows(t), bfe(t))
       for t in ("u32", "s32", "u64", "s64")])
write("integer", "bfi", "inserting bit fields",
      [Case(f"bfi.{t}", f"bfi.{t} $d, $a, $b, $c, $e;", t, [t, t, "u32", "u32"],
            [(rng.getrandbits(BITS[t]),) + row for row in field_rows(t)], bfi(t)) for t in ("b32", "b64")])


def fns(mask, base, offset):
    if offset == 0:
        return base if mask >> base & 1 else 0xFFFFFFFF
    order = range(base, 32) if offset > 0 else range(base, -1, -1)
    found = [i for i in order if mask >> i & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else 0xFFFFFFFF


write("integer", "fns", "the n-th set bit from a position on",
      [Case("fns.b32", "fns.b32 $d, $a, $b, $c;", "u32", ["b32", "u32", "s32"],
            [(0b10110, 0, 1), (0b10110, 0, 2), (0b10110, 0, 3), (0b10110, 0, 4), (0b10110, 4, -1), (0b10110, 4, -3),
             (0b10110, 4, -4), (0b10110, 2, 0), (0b10110, 3, 0), (0, 5, 1), (0xFFFFFFFF, 31, 1), (0xFFFFFFFF, 31, -32),
             (0xFFFFFFFF, 0, 32), (0x80000001, 0, 2)], fns)])


def prmt(mode):
    def apply(a, b, c):
        source = [(b << 32 | a) >> (8 * i) & 0xFF for i in range(8)]
        s, d = c & 3, 0
        for i in range(4):
            if mode == "":
                nibble = c >> (4 * i) & 0xF
                byte = source[nibble & 7]
                if nibble & 8:
                    byte = 0xFF if byte & 0x80 else 0
            else:
                byte = source[{"f4e": (0, 1, 2, 3), "b4e": (0, 7, 6, 5)}.get(mode, (0,) * 4)[i] + s & 7]
                if mode == "rc8":
                    byte = source[s]
                if mode == "ecl":
                    byte = source[((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3))[s][i]]
                if mode == "ecr":
                    byte = source[((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3))[s][i]]
                if mode == "rc16":
                    byte = source[((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3))[s][i]]
            d |= byte << (8 * i)
        return d
    return apply


write("integer", "prmt", "byte permutations in all modes",
      [Case("prmt.b32", "prmt.b32 $d, $a, $b, $c;", "b32", ["b32"] * 3,
            [(0x33221100, 0x77665544, s) for s in (0x3210, 0x7654, 0x0123, 0x5140, 0x7777, 0x0000)] +
            [(0x80FF017F, 0x8000FE00, s) for s in (0xBA98, 0xFEDC, 0x8F3C, 0x9876)], prmt(""))] +
      [Case(f"prmt.b32.{m}", f"prmt.b32.{m} $d, $a, $b, $c;", "b32", ["b32"] * 3,
            [(0x33221100, 0x77665544, s) for s in (0, 1, 2, 3, 6)], prmt(m))
       for m in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")])


def lop3(table):
    def apply(a, b, c):
        d = 0
        for i in range(32):
            index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)
            d |= (table >> index & 1) << i
        return d
    return apply


write("integer", "lop3", "any function of three bits by its table",
      [Case(f"lop3_{table:02x}", f"lop3.b32 $d, $a, $b, $c, {table};", "b32", ["b32"] * 3, triples("u32", count=6),
            lop3(table)) for table in (0x00, 0x01, 0x80, 0x96, 0xE8, 0xCA, 0x1E, 0x69, 0xFE, 0xFF, 0xC0, 0x3C)])


def szext(t, mode):
    def apply(a, b):
        if mode == "clamp" and b >= 32:
            return a
        n = b & 31
        x = a & ((1 << n) - 1)
        if t == "s32" and n and x >> (n - 1):
            x -= 1 << n
        return x
    return apply


def bmsk(mode):
    def apply(a, b):
        if mode == "clamp":
            if a >= 32:
                return 0
            width = min(b, 32)
        else:
            a, width = a & 31, b & 31
        return ((1 << width) - 1) << a
    return apply


N_ROWS = [(0xFFFF8765, n) for n in (0, 1, 3, 7, 8, 16, 31, 32, 33, 100)]
write("integer", "szext_bmsk", "extension from a bit; masks of ones",
      [Case(f"szext.{m}.{t}", f"szext.{m}.{t} $d, $a, $b;", t, [t, "u32"], N_ROWS, szext(t, m))
       for m in ("clamp", "wrap") for t in ("u32", "s32")] +
      [Case(f"bmsk.{m}.b32", f"bmsk.{m}.b32 $d, $a, $b;", "b32", ["u32", "u32"],
            [(0, 0), (0, 8), (4, 8), (28, 8), (31, 1), (32, 8), (0, 32), (36, 33), (5, 100), (0, 31)], bmsk(m))
       for m in ("clamp", "wrap")])


def parts(t, x, size):
    out = []
    for i in range(32 // size):
        v = x >> (size * i) & ((1 << size) - 1)
        out.append(v - (1 << size) if t == "s32" and v >> (size - 1) else v)
    return out


def dp4a(ta, tb):
    return lambda a, b, c: c + sum(x * y for x, y in zip(parts(ta, a, 8), parts(tb, b, 8)))


def dp2a(ta, tb, hi):
    return lambda a, b, c: c + sum(x * y for x, y in zip(parts(ta, a, 16), parts(tb, b, 8)[2 if hi else 0:]))


write("integer", "dp4a_dp2a", "dot products of bytes, and of halves with bytes",
      [Case(f"dp4a.{ta}.{tb}", f"dp4a.{ta}.{tb} $d, $a, $b, $c;", "b32", ["b32"] * 3, triples("u32", count=8),
            dp4a(ta, tb)) for ta in ("u32", "s32") for tb in ("u32", "s32")] +
      [Case(f"dp2a.{m}.{ta}.{tb}", f"dp2a.{m}.{ta}.{tb} $d, $a, $b, $c;", "b32", ["b32"] * 3,
            triples("u32", count=8), dp2a(ta, tb, m == "hi"))
       for m in ("lo", "hi") for ta in ("u32", "s32") for tb in ("u32", "s32")])

# ---- carry chains ----

# One result of a chain at a time; operands are the 32-bit words a, c (low) and b, e (high), or 64-bit.
CHAIN_ROWS = [(0xFFFFFFFF, 0, 1, 0), (0xFFFFFFFF, 0xFFFFFFFF, 1, 0), (0, 0, 1, 0), (5, 5, 6, 5),
              (0x80000000, 0x7FFFFFFF, 0x80000000, 1)] + [tuple(rng.getrandbits(32) for _ in range(4)) for _ in range(5)]


def both(low_a, high_a):
    return high_a << 32 | low_a


write("carry", "add", "64-bit sums from 32-bit words: the low word carries into the high one",
      [Case("high", "add.cc.u32 $d, $a, $c;\naddc.u32 $d, $b, $e;", "u32", ["u32"] * 4, CHAIN_ROWS,
            lambda a, b, c, e: (both(a, b) + both(c, e)) >> 32),
       Case("carry_out", "add.cc.s32 $d, $a, $c;\naddc.cc.s32 $d, $b, $e;\naddc.u32 $d, 0, 0;", "u32", ["u32"] * 4,
            CHAIN_ROWS, lambda a, b, c, e: (both(a, b) + both(c, e)) >> 64),
       Case("add64", "add.cc.u64 $d, $a, $b;\naddc.u64 $d, 0, 0;", "u64", ["u64", "u64"],
            [((1 << 64) - 1, 1), (1 << 63, 1 << 63), (5, 6)], lambda a, b: (a + b) >> 64)])
write("carry", "sub", "differences borrow from the high word",
      [Case("high", "sub.cc.u32 $d, $a, $c;\nsubc.u32 $d, $b, $e;", "u32", ["u32"] * 4, CHAIN_ROWS,
            lambda a, b, c, e: (both(a, b) - both(c, e)) >> 32),
       Case("borrow_out", "sub.cc.s32 $d, $a, $c;\nsubc.cc.s32 $d, $b, $e;\nsubc.u32 $d, 0, 0;", "u32", ["u32"] * 4,
            CHAIN_ROWS, lambda a, b, c, e: -1 if both(a, b) < both(c, e) else 0),
       Case("sub64", "sub.cc.u64 $d, $a, $b;\nsubc.u64 $d, 0, 0;", "u64", ["u64", "u64"],
            [((1 << 64) - 1, 1), (1, 2), (5, 5)], lambda a, b: -1 if a < b else 0)])
write("carry", "mad", "the words of a * b + c in turn: mad.lo.cc, madc.hi.cc, and the last carry",
      [Case("high", "mad.lo.cc.u32 $d, $a, $b, $c;\nmadc.hi.u32 $d, $a, $b, $e;", "u32", ["u32"] * 4, CHAIN_ROWS,
            lambda a, b, c, e: (a * b + both(c, e)) >> 32),
       Case("carry_out", "mad.lo.cc.u32 $d, $a, $b, $c;\nmadc.hi.cc.u32 $d, $a, $b, $e;\naddc.u32 $d, 0, 0;", "u32",
            ["u32"] * 4, CHAIN_ROWS, lambda a, b, c, e: (a * b + both(c, e)) >> 64),
       Case("madc_lo", "add.cc.u32 $d, $a, $c;\nmadc.lo.u32 $d, $a, $b, $e;", "u32", ["u32"] * 4, CHAIN_ROWS,
            lambda a, b, c, e: a * b + e + ((a + c) >> 32)),
       Case("mad64", "mad.lo.cc.u64 $d, $a, $b, $c;\nmadc.hi.u64 $d, $a, $b, 0;", "u64", ["u64"] * 3,
            [(rng.getrandbits(64), rng.getrandbits(64), rng.getrandbits(64)) for _ in range(6)],
            lambda a, b, c: (a * b + c) >> 64)])

# ---- comparisons ----

COMPARE = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
           "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def setp(op, t, f):
    return Case(f"setp.{op}.{t}", f".reg .pred %p;\nsetp.{op}.{t} %p, $a, $b;\nselp.u32 $d, 1, 0, %p;", "u32", [t, t],
                pairs(t, 12), lambda a, b: int(f(a, b)))


for t in TYPES:
    write("compare", f"setp_{t}", f"setp of {t}",
          [setp(op, t, f) for op, f in COMPARE.items()] +
          ([setp(op, t, COMPARE[name]) for op, name in UNSIGNED_NAMES.items()] if t[0] == "u" else []))
write("compare", "setp_bits", "setp of untyped values: equal or not",
      [setp(op, t, COMPARE[op]) for op in ("eq", "ne") for t in ("b16", "b32", "b64")])
write("compare", "set_integer", "set gives all ones, or 1.0",
      [Case(f"set.{op}.u32.{t}", f"set.{op}.u32.{t} $d, $a, $b;", "u32", [t, t], pairs(t, 10),
            lambda a, b, f=f: 0xFFFFFFFF if f(a, b) else 0) for op, f in COMPARE.items() for t in ("s32", "u32", "s16", "u64")] +
      [Case("set.lt.f32.s32", "set.lt.f32.s32 $d, $a, $b;", "b32", ["s32", "s32"], pairs("s32", 10),
            lambda a, b: 0x3F800000 if a < b else 0)], hexadecimal=True)


def bool_case(op, f, negate):
    sign = "!" if negate else ""
    text = (".reg .pred %p, %q, %r;\nsetp.ne.u32 %r, $c, 0;\n"
            f"setp.lt.{op}.s32 %p|%q, $a, $b, {sign}%r;\n"
            "selp.u32 $d, 1, 0, %p;\n@%q add.u32 $d, $d, 2;")

    def apply(a, b, c):
        r = bool(c) != negate
        return int(f(a < b, r)) + 2 * int(f(not a < b, r))
    return Case(f"lt.{op}{'.not' if negate else ''}", text, "u32", ["s32", "s32", "u32"],
                [(1, 2, 0), (2, 1, 0), (1, 2, 1), (2, 1, 1), (-1 & 0xFFFFFFFF, 0, 1)], apply)


write("compare", "setp_combined", "setp p|q with and, or, xor and a third predicate: q uses the negated comparison",
      [bool_case(op, f, n) for op, f in (("and", lambda x, y: x and y), ("or", lambda x, y: x or y),
                                         ("xor", lambda x, y: x != y)) for n in (False, True)])
write("compare", "selp_slct", "selection by a predicate and by a sign",
      [Case(f"selp.{t}", f".reg .pred %p;\nsetp.ne.u32 %p, $c, 0;\nselp.{t} $d, $a, $b, %p;", t, [t, t, "u32"],
            [(3, 4, 0), (3, 4, 1), ((1 << BITS[t]) - 1, 0, 7)], lambda a, b, c: a if c else b)
       for t in ("b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64")] +
      [Case(f"slct.{t}.s32", f"slct.{t}.s32 $d, $a, $b, $c;", t, [t, t, "s32"],
            [(3, 4, 0), (3, 4, 1), (3, 4, 0xFFFFFFFF), (5, 6, 0x80000000)], lambda a, b, c: a if c >= 0 else b)
       for t in ("b16", "u32", "s64", "b32")])
