"""The tests of floating-point arithmetic, comparison and conversion; exact.py is the reference."""

import random
import struct

import exact
from exact import FORMATS, NAN, WIDTH
from ptxgen import BITS, Case, unsigned, wrap, write

rng = random.Random(30)
MODES = ["rn", "rz", "rm", "rp"]

F32_EDGES = [0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x3F800001,
             0x3F7FFFFF, 0x40490FDB, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x4B800000, 0x33800000]
F64_EDGES = [0, 1 << 63, 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000000, 0xBFF0000000000000,
             0x3FF0000000000001, 0x400921FB54442D18, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000,
             0x7FF8000000000000, 0x3CA0000000000000]
F16_EDGES = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x3C00, 0xBC00, 0x3C01, 0x3BFF, 0x4248, 0x7BFF, 0xFBFF,
             0x7C00, 0xFC00, 0x7E00, 0x1400, 0x6801]
BF16_EDGES = [0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x0080, 0x3F80, 0xBF80, 0x3F81, 0x3F7F, 0x4049, 0x7F7F, 0xFF7F,
              0x7F80, 0xFF80, 0x7FC0, 0x4B80, 0x3380]
EDGES = {"f32": F32_EDGES, "f64": F64_EDGES, "f16": F16_EDGES, "bf16": BF16_EDGES}


def draw(fmt):
    """An edge, or a number of middling exponent, so that sums overlap."""
    if rng.random() < 0.4:
        return rng.choice(EDGES[fmt])
    exp_bits, mant_bits = FORMATS[fmt]
    bias = (1 << (exp_bits - 1)) - 1
    field = bias + rng.randint(-min(12, bias - 1), 12)
    return rng.getrandbits(1) << (exp_bits + mant_bits) | field << mant_bits | rng.getrandbits(mant_bits)


def rows(fmt, count, width):
    return [tuple(draw(fmt) for _ in range(width)) for _ in range(count)]


def with_ftz(fmt, f):
    return lambda *operands: exact.flush(fmt, f(*(exact.flush(fmt, x) for x in operands)))


OPS = {"add": (2, exact.add), "sub": (2, lambda fmt, a, b, mode: exact.add(fmt, a, exact.neg(fmt, b), mode)
               if exact.decode(fmt, b)[1] != "nan" else exact.nan_of(fmt, a, b)),
       "mul": (2, exact.mul), "div": (2, exact.div), "fma": (3, exact.fma), "sqrt": (1, exact.sqrt),
       "rcp": (1, lambda fmt, a, mode: exact.div(fmt, exact.from_value(fmt, 1), a, mode))}


def arithmetic(op, fmt, mode, count=24, ftz=False, sat=False):
    width, f = OPS[op]
    suffix = (".ftz" if ftz else "") + (".sat" if sat else "")
    name = f"{op}.{mode}{suffix}.{fmt}"

    def reference(*operands):
        result = lambda *x: f(fmt, *x, mode)
        bits = with_ftz(fmt, result)(*operands) if ftz else result(*operands)
        # .rcp has a NaN operand of its own; the propagated one is a's.
        return exact.saturate(fmt, bits) if sat else bits

    operands = ", ".join("$" + letter for letter in "abc"[:width])
    return Case(name, f"{name} $d, {operands};", fmt, [f"b{WIDTH[fmt]}"] * width,
                rows(fmt, count, width), reference)


for fmt in ("f32", "f64"):
    for op in OPS:
        write("float", f"{op}_{fmt}", f"{op} of {fmt} in every rounding mode, each one rounding of the exact value",
              [arithmetic(op, fmt, mode) for mode in MODES])
for op in ("add", "mul", "fma"):
    write("float", f"{op}_ftz_sat", f"{op}: .ftz flushes subnormal operands and results, .sat clamps to [0, 1] and NaN to 0",
          [arithmetic(op, "f32", "rn", ftz=True), arithmetic(op, "f32", "rz", ftz=True),
           arithmetic(op, "f32", "rn", sat=True), arithmetic(op, "f32", "rp", ftz=True, sat=True)])
write("float", "div_sqrt_rcp_ftz", "division, root and reciprocal with .ftz",
      [arithmetic(op, "f32", "rn", ftz=True) for op in ("div", "sqrt", "rcp")])


def default_case(name, fmt, op, count=16):
    width, f = OPS[op]
    operands = ", ".join("$" + letter for letter in "abc"[:width])
    return Case(name, f"{name} $d, {operands};", fmt, [f"b{WIDTH[fmt]}"] * width, rows(fmt, count, width),
                lambda *x: f(fmt, *x, "rn"))


write("float", "default_rounding", "no rounding modifier means to nearest",
      [default_case(f"{op}.{fmt}", fmt, op) for op in ("add", "sub", "mul") for fmt in ("f32", "f64")])


def minmax(op, fmt, modifiers=""):
    name = f"{op}{modifiers}.{fmt}"

    def reference(a, b):
        sign = (a ^ b) & (1 << (WIDTH[fmt] - 1))
        if ".ftz" in modifiers:
            a, b = exact.flush(fmt, a), exact.flush(fmt, b)
        if ".xorsign" in modifiers:
            mask = (1 << (WIDTH[fmt] - 1)) - 1
            a, b = a & mask, b & mask
        bits = exact.minmax(fmt, a, b, op == "max", ".NaN" in modifiers)
        if exact.decode(fmt, bits)[1] == "nan":
            return exact.nan_of(fmt, bits)
        return bits | sign if ".xorsign" in modifiers else bits

    special = [(0, 1 << (WIDTH[fmt] - 1)), (1 << (WIDTH[fmt] - 1), 0), (NAN[fmt], 5), (5, NAN[fmt]), (NAN[fmt], NAN[fmt])]
    return Case(name, f"{name} $d, $a, $b;", fmt, [f"b{WIDTH[fmt]}"] * 2, special + rows(fmt, 16, 2), reference)


write("float", "min_max", "-0 is less than +0; a NaN loses, or wins with .NaN; .xorsign.abs",
      [minmax(op, "f32", m) for op in ("min", "max") for m in ("", ".ftz", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs")] +
      [minmax(op, "f64") for op in ("min", "max")])
write("half", "min_max", "min and max of f16 and bf16",
      [minmax(op, fmt, m) for op in ("min", "max") for fmt in ("f16", "bf16") for m in ("", ".NaN", ".xorsign.abs")] +
      [minmax(op, "f16", ".ftz") for op in ("min", "max")])


def sign_op(op, fmt, ftz=""):
    name = f"{op}{ftz}.{fmt}"
    top = 1 << (WIDTH[fmt] - 1)

    def reference(a):
        bits = exact.flush(fmt, a) if ftz else a
        return bits & ~top if op == "abs" else bits ^ top

    numbers = [x for x in EDGES[fmt] if exact.decode(fmt, x)[1] != "nan"]
    return Case(name, f"{name} $d, $a;", fmt, [f"b{WIDTH[fmt]}"], numbers, reference)


write("float", "abs_neg", "signs of f32 and f64",
      [sign_op(op, fmt) for op in ("abs", "neg") for fmt in ("f32", "f64")] +
      [sign_op(op, "f32", ".ftz") for op in ("abs", "neg")])
write("half", "abs_neg", "signs of f16 and bf16", [sign_op(op, fmt) for op in ("abs", "neg") for fmt in ("f16", "bf16")])
write("float", "copysign", "the sign of a on the magnitude of b",
      [Case(f"copysign.{fmt}", f"copysign.{fmt} $d, $a, $b;", fmt, [f"b{WIDTH[fmt]}"] * 2, rows(fmt, 12, 2),
            lambda a, b, fmt=fmt: a & (1 << (WIDTH[fmt] - 1)) | b & ((1 << (WIDTH[fmt] - 1)) - 1)) for fmt in ("f32", "f64")])


def testp(kind, fmt):
    def reference(a):
        k = exact.decode(fmt, a)[1]
        subnormal = k == "fin" and exact.flush(fmt, a) != a
        return int({"finite": k in ("fin", "zero"), "infinite": k == "inf", "number": k != "nan", "notanumber": k == "nan",
                    "normal": k == "fin" and not subnormal, "subnormal": subnormal}[kind])
    name = f"testp.{kind}.{fmt}"
    return Case(name, f".reg .pred %p;\n{name} %p, $a;\nselp.u32 $d, 1, 0, %p;", "u32", [f"b{WIDTH[fmt]}"], EDGES[fmt],
                reference)


write("float", "testp", "classes of numbers",
      [testp(kind, fmt) for kind in ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
       for fmt in ("f32", "f64")], hexadecimal=False)

COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]


def compare_rows(fmt):
    nan, one, two, zero, minus = NAN[fmt], exact.from_value(fmt, 1), exact.from_value(fmt, 2), 0, 1 << (WIDTH[fmt] - 1)
    infinity, subnormal = exact.infinity(fmt, 0), 1
    return [(one, one), (one, two), (two, one), (zero, minus), (nan, one), (one, nan), (nan, nan), (infinity, one),
            (exact.infinity(fmt, 1), infinity), (subnormal, zero)]


def setp(op, fmt, ftz=False):
    name = f"setp.{op}{'.ftz' if ftz else ''}.{fmt}"

    def reference(a, b):
        if ftz:
            a, b = exact.flush(fmt, a), exact.flush(fmt, b)
        return int(exact.compare(op, fmt, a, b))

    return Case(name, f".reg .pred %p;\n{name} %p, $a, $b;\nselp.u32 $d, 1, 0, %p;", "u32", [f"b{WIDTH[fmt]}"] * 2,
                compare_rows(fmt), reference)


for fmt in ("f32", "f64", "f16", "bf16"):
    write("compare", f"setp_{fmt}", f"setp of {fmt}: ordered, unordered, num and nan",
          [setp(op, fmt) for op in COMPARISONS] + ([setp("eq", fmt, True)] if fmt in ("f32", "f16") else []),
          hexadecimal=False)
write("compare", "set_float", "set on floats gives all ones, or 1.0",
      [Case(f"set.{op}.u32.{fmt}", f"set.{op}.u32.{fmt} $d, $a, $b;", "u32", [f"b{WIDTH[fmt]}"] * 2, compare_rows(fmt),
            lambda a, b, op=op, fmt=fmt: 0xFFFFFFFF if exact.compare(op, fmt, a, b) else 0)
       for op in ("lt", "geu", "nan") for fmt in ("f32", "f64", "f16")] +
      [Case(f"set.{op}.f32.f32", f"set.{op}.f32.f32 $d, $a, $b;", "f32", ["b32", "b32"], compare_rows("f32"),
            lambda a, b, op=op: 0x3F800000 if exact.compare(op, "f32", a, b) else 0) for op in ("lt", "neu")] +
      [Case("set.lt.f16.f16", "set.lt.f16.f16 $d, $a, $b;", "f16", ["b16", "b16"], compare_rows("f16"),
            lambda a, b: 0x3C00 if exact.compare("lt", "f16", a, b) else 0)])
write("compare", "slct_f32", "selection by the sign of a float; -0 selects the first, NaN the second",
      [Case(f"slct{ftz}.b32.f32", f"slct{ftz}.b32.f32 $d, $a, $b, $c;", "b32", ["b32", "b32", "b32"],
            [(3, 4, c) for c in (0, 0x80000000, 0x3F800000, 0xBF800000, 0x7FC00000, 0xFF800000)] +
            ([(3, 4, 0x80000001)] if ftz else []),
            lambda a, b, c: a if exact.compare("ge", "f32", exact.flush("f32", c), 0) else b) for ftz in ("", ".ftz")],
      hexadecimal=False)

# ---- half precision ----

for fmt in ("f16", "bf16"):
    rounded = ".rn" if fmt == "bf16" else ""
    cases = []
    for op in ("add", "sub", "mul", "fma"):
        width, f = OPS[op]
        mode = ".rn" if op == "fma" else rounded
        operands = ", ".join("$" + letter for letter in "abc"[:width])
        name = f"{op}{mode}.{fmt}"
        cases.append(Case(name, f"{name} $d, {operands};", fmt, ["b16"] * width, rows(fmt, 32, width),
                          lambda *x, f=f: f(fmt, *x, "rn")))

        def pair(*x, f=f):
            lo = f(fmt, *(v & 0xFFFF for v in x), "rn")
            hi = f(fmt, *(v >> 16 for v in x), "rn")
            return hi << 16 | lo

        name = f"{op}{mode}.{fmt}x2"
        cases.append(Case(name, f"{name} $d, {operands};", "b32", ["b32"] * width,
                          [tuple(draw(fmt) << 16 | draw(fmt) for _ in range(width)) for _ in range(16)], pair))
    write("half", f"arithmetic_{fmt}", f"add, sub, mul, fma of {fmt} and pairs, rounded once", cases, hexadecimal=True)


def relu(bits):
    return 0 if bits & 0x8000 and exact.decode("f16", bits)[1] != "nan" else bits


write("half", "modes_f16", "f16 with .ftz, .sat and .relu",
      [Case("add.ftz.f16", "add.ftz.f16 $d, $a, $b;", "f16", ["b16"] * 2, rows("f16", 20, 2),
            with_ftz("f16", lambda a, b: exact.add("f16", a, b))),
       Case("mul.sat.f16", "mul.sat.f16 $d, $a, $b;", "f16", ["b16"] * 2, rows("f16", 20, 2),
            lambda a, b: exact.saturate("f16", exact.mul("f16", a, b))),
       Case("fma.rn.ftz.sat.f16", "fma.rn.ftz.sat.f16 $d, $a, $b, $c;", "f16", ["b16"] * 3, rows("f16", 20, 3),
            lambda *x: exact.saturate("f16", with_ftz("f16", lambda *y: exact.fma("f16", *y))(*x))),
       Case("fma.rn.relu.f16", "fma.rn.relu.f16 $d, $a, $b, $c;", "f16", ["b16"] * 3, rows("f16", 20, 3),
            lambda *x: relu(exact.fma("f16", *x)))])

# ---- cvt ----

INTS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]


def int_rows(t):
    n = BITS[t]
    return sorted({unsigned(t, x) for x in (0, 1, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 0x7FFFFFFF, 0x80000000,
                                             0xFFFFFFFF, (1 << (n - 1)) - 1, 1 << (n - 1), (1 << n) - 1, -5)})


def clamp(t, x):
    n = BITS[t]
    low, high = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if t[0] == "s" else (0, (1 << n) - 1)
    return min(max(x, low), high)


def can_overflow(t, source):
    """.sat is legal only where the source has values that the result has not."""
    low, high = (1 << (BITS[source] - 1), (1 << BITS[source]) - 1)
    ends = [-low, low - 1] if source[0] == "s" else [0, high]
    return any(clamp(t, x) != x for x in ends)


for source in INTS:
    write("cvt", f"int_from_{source}", f"cvt from {source} to every integer type: truncates or extends, .sat clamps",
          [Case(f"cvt.{t}.{source}", f"cvt.{t}.{source} $d, $a;", t, [source], int_rows(source), lambda a: a)
           for t in INTS if t != source] +
          [Case(f"cvt.sat.{t}.{source}", f"cvt.sat.{t}.{source} $d, $a;", t, [source], int_rows(source),
                lambda a, t=t: clamp(t, a)) for t in INTS if can_overflow(t, source)])


def from_int(fmt, mode):
    return lambda a: exact.from_value(fmt, exact.Fraction(a), mode)


def big_rows(t):
    n = BITS[t]
    extra = [rng.getrandbits(n) for _ in range(4)]
    odd = [x for x in (0x1000001, 0x1000003, 0x7FFFFFFF, 0xFFFFFF7F, (1 << 53) + 1, (1 << 63) - 1, 2049, 257) if x < 1 << n]
    return int_rows(t)[:6] + odd + extra + [(1 << n) - 1, 1 << (n - 1)]


for fmt in ("f16", "bf16", "f32", "f64"):
    # There is no bf16 to or from 8-bit integers.
    sources = ["u16" if fmt == "bf16" else "u8", "s16", "u32", "s32", "u64", "s64"]
    write("cvt", f"{fmt}_from_int", f"cvt from integers to {fmt} in every rounding mode",
          [Case(f"cvt.{mode}.{fmt}.{t}", f"cvt.{mode}.{fmt}.{t} $d, $a;", fmt, [t], big_rows(t), from_int(fmt, mode))
           for t in sources for mode in MODES], hexadecimal=True)


def float_rows(fmt):
    values = [0, 0.4, 0.5, 0.6, 1, 1.5, 2.5, 126.5, 127.5, 128, 200, 255.5, 256, 300, 32767.5, 40000, 65504, -0.4, -0.5, -0.6, -1.5,
              -2.5, -128.5, -129, -300]
    if fmt != "f16":
        values += [70000, 2147483520.0, 2147483648.0, 4294967040.0, 5e9, 9.2e18, 1e19, 2e19, 1e30, -1e10, -9.3e18]
    bits = [exact.from_value(fmt, exact.Fraction(v)) for v in values]
    return bits + [exact.infinity(fmt, 0), exact.infinity(fmt, 1), NAN[fmt] & ~(1 << (WIDTH[fmt] - 1)), 1]


for fmt in ("f16", "bf16", "f32", "f64"):
    for mode in MODES:
        write("cvt", f"int_from_{fmt}_{mode}i", f"cvt.{mode}i from {fmt} to every integer type: saturates, NaN as the ISA says",
              [Case(f"cvt.{mode}i.{t}.{fmt}", f"cvt.{mode}i.{t}.{fmt} $d, $a;", t, [f"b{WIDTH[fmt]}"], float_rows(fmt),
                    lambda a, t=t: exact.to_integer(fmt, a, mode, BITS[t], t[0] == "s"))
               for t in INTS if not (BITS[t] == 8 and fmt == "bf16")])
write("cvt", "integral", "rounding to an integral value in the same format",
      [Case(f"cvt.{mode}i.{fmt}.{fmt}", f"cvt.{mode}i.{fmt}.{fmt} $d, $a;", fmt, [f"b{WIDTH[fmt]}"],
            [x for x in float_rows(fmt) + EDGES[fmt] if exact.decode(fmt, x)[1] != "nan"],
            lambda a, fmt=fmt, mode=mode: exact.integral(fmt, a, mode)) for fmt in ("f16", "f32", "f64") for mode in MODES])
TIES = [0x3F801000, 0x3F803000, 0x3F800FFF, 0x3F801001, 0x3F808000, 0x3F818000, 0x3F807FFF, 0x477FEFFF, 0x477FF000, 0x33000000,
        0x33000001, 0x387FC000, 0x7F7FFFFF, 0x7F7F8000, 0xC2F6E979]
write("cvt", "f16_from_f32", "f32 to f16 in every mode, at and beside ties, subnormals and overflow",
      [Case(f"cvt.{mode}.f16.f32", f"cvt.{mode}.f16.f32 $d, $a;", "f16", ["b32"], TIES + F32_EDGES,
            lambda a, mode=mode: exact.convert("f16", "f32", a, mode)) for mode in MODES])
write("cvt", "bf16_from_f32", "f32 to bf16",
      [Case(f"cvt.{mode}.bf16.f32", f"cvt.{mode}.bf16.f32 $d, $a;", "bf16", ["b32"], TIES + F32_EDGES,
            lambda a, mode=mode: exact.convert("bf16", "f32", a, mode)) for mode in MODES])
write("cvt", "f32_from_halves", "f16 and bf16 to f32 are exact",
      [Case(f"cvt.f32.{fmt}", f"cvt.f32.{fmt} $d, $a;", "f32", ["b16"], EDGES[fmt], lambda a, fmt=fmt: exact.convert("f32", fmt, a))
       for fmt in ("f16", "bf16")] +
      [Case("cvt.f64.f16", "cvt.f64.f16 $d, $a;", "f64", ["b16"], [x for x in F16_EDGES if x != 0x7E00],
            lambda a: exact.convert("f64", "f16", a))])
F64_ROWS = [0x3FF0000010000000, 0x3FF0000010000001, 0x3FF000000FFFFFFF, 0x3FF0000030000000, 0x47EFFFFFF0000000, 0x47EFFFFFEFFFFFFF,
            0x36A0000000000000, 0x3690000000000000, 0x3690000000000001, 0x380FFFFFF0000000, 0x3FF0040000000001, 0x3FF0040000000000]
write("cvt", "from_f64", "f64 to f32 and f16 in one rounding",
      [Case(f"cvt.{mode}.{fmt}.f64", f"cvt.{mode}.{fmt}.f64 $d, $a;", fmt, ["b64"], F64_ROWS + F64_EDGES,
            lambda a, mode=mode, fmt=fmt: exact.convert(fmt, "f64", a, mode)) for fmt in ("f32", "f16") for mode in MODES] +
      [Case("cvt.f64.f32", "cvt.f64.f32 $d, $a;", "f64", ["b32"], [x for x in F32_EDGES if x != 0x7FC00000],
            lambda a: exact.convert("f64", "f32", a)),
       Case("cvt.rn.ftz.f32.f64", "cvt.rn.ftz.f32.f64 $d, $a;", "f32", ["b64"], F64_ROWS,
            lambda a: exact.flush("f32", exact.convert("f32", "f64", a)))])
write("cvt", "sat_float", ".sat of floats: [0, 1], NaN to 0",
      [Case("cvt.sat.f32.f32", "cvt.sat.f32.f32 $d, $a;", "f32", ["b32"], F32_EDGES, lambda a: exact.saturate("f32", a)),
       Case("cvt.sat.f64.f64", "cvt.sat.f64.f64 $d, $a;", "f64", ["b64"], F64_EDGES, lambda a: exact.saturate("f64", a)),
       Case("cvt.sat.f16.f16", "cvt.sat.f16.f16 $d, $a;", "f16", ["b16"], F16_EDGES, lambda a: exact.saturate("f16", a)),
       Case("cvt.rn.sat.f32.s32", "cvt.rn.sat.f32.s32 $d, $a;", "f32", ["s32"], [0, 1, 7, 0xFFFFFFFF],
            lambda a: 0x3F800000 if a > 0 else 0),
       Case("cvt.ftz.sat.f32.f32", "cvt.ftz.sat.f32.f32 $d, $a;", "f32", ["b32"], F32_EDGES,
            lambda a: exact.saturate("f32", exact.flush("f32", a)))])


def pack(fmt, mode, relu=False, satfinite=False):
    def one(bits):
        x = exact.decode("f32", bits)
        if relu and x[0] and x[1] != "nan":
            return 0
        h = exact.convert(fmt, "f32", bits, mode)
        if satfinite and h & 0x7FFF == exact.infinity(fmt, 0):
            h -= 1
        return h
    return lambda a, b: one(a) << 16 | one(b)


PACK_ROWS = list(zip(TIES + F32_EDGES, reversed(TIES + F32_EDGES)))
write("cvt", "packed_halves", "two f32 to a pair of halves: the first source is the high half",
      [Case(f"cvt.{mode}{m}.{fmt}x2.f32", f"cvt.{mode}{m}.{fmt}x2.f32 $d, $a, $b;", "b32", ["b32", "b32"], PACK_ROWS,
            pack(fmt, mode, ".relu" in m, ".satfinite" in m))
       for fmt in ("f16", "bf16") for mode, m in (("rn", ""), ("rz", ""), ("rn", ".relu"))], hexadecimal=True)


def tf32(mode, relu=False):
    def reference(bits):
        x = exact.decode("f32", bits)
        if x[1] == "nan":
            return 0x7FFFFFFF
        if relu and x[0]:
            return 0
        if x[1] == "inf":
            return bits
        return exact.encode("tf32", x[0], x[2], mode) << 13
    return reference


write("cvt", "tf32", "f32 to tf32: ties away from zero, or to even",
      [Case(f"cvt.{m}.tf32.f32", f"cvt.{m}.tf32.f32 $d, $a;", "b32", ["b32"], TIES + F32_EDGES, tf32(m.split(".")[0], "relu" in m))
       for m in ("rna", "rn", "rz", "rn.relu")], hexadecimal=True)


def mini(exp_bits, mant_bits, max_code, nan):
    """Nearest code by search through all codes of the format."""
    bias = (1 << (exp_bits - 1)) - 1

    def code_value(code):
        field, mant = code >> mant_bits, code & ((1 << mant_bits) - 1)
        whole = mant + ((1 << mant_bits) if field else 0)
        return whole * exact.power(max(field, 1) - bias - mant_bits)

    table = [code_value(code) for code in range(max_code + 1)]

    def encode(bits, relu=False):
        x = exact.decode("f32", bits)
        if x[1] == "nan":
            return nan
        if relu and x[0]:
            return 0
        if x[1] == "inf" or x[2] >= table[-1]:
            return x[0] << 7 | max_code
        best = min(range(max_code + 1), key=lambda code: (abs(table[code] - x[2]), code & 1))
        return x[0] << 7 | best
    return encode


E4M3, E5M2 = mini(4, 3, 0x7E, 0x7F), mini(5, 2, 0x7B, 0x7F)
MINI_ROWS = [exact.from_value("f32", exact.Fraction(v)) for v in
             (0, 1, 1.0625, 1.1875, 448, 460, 1000, 57344, 70000, 0.001953125, 0.0009765625, 0.0029296875, 2 ** -17, 2 ** -16, -3.3, -500)]
MINI_ROWS += [0x7F800000, 0xFF800000, 0x7FC00000, 0x80000000]
write("cvt", "fp8_from_f32", "two f32 to e4m3 and e5m2: nearest, saturating",
      [Case(f"cvt.rn.satfinite{r}.{name}x2.f32", f"cvt.rn.satfinite{r}.{name}x2.f32 $d, $a, $b;", "b16", ["b32", "b32"],
            list(zip(MINI_ROWS, reversed(MINI_ROWS))), lambda a, b, f=f, r=r: f(a, r != "") << 8 | f(b, r != ""))
       for name, f in (("e4m3", E4M3), ("e5m2", E5M2)) for r in ("", ".relu")], hexadecimal=True)


def widen(exp_bits, mant_bits, is_nan, is_inf):
    bias = (1 << (exp_bits - 1)) - 1

    def one(code):
        sign, code = code >> 7, code & 0x7F
        if is_nan(code):
            return 0x7FFF
        if is_inf(code):
            return sign << 15 | 0x7C00
        field, mant = code >> mant_bits, code & ((1 << mant_bits) - 1)
        whole = mant + ((1 << mant_bits) if field else 0)
        return exact.encode("f16", sign, whole * exact.power(max(field, 1) - bias - mant_bits))
    return lambda codes: one(codes >> 8) << 16 | one(codes & 0xFF)


ALL_CODES = [i << 8 | (255 - i) for i in range(0, 256, 5)]
write("cvt", "f16x2_from_fp8", "e4m3 and e5m2 to pairs of f16 are exact",
      [Case("cvt.rn.f16x2.e4m3x2", "cvt.rn.f16x2.e4m3x2 $d, $a;", "b32", ["b16"], ALL_CODES,
            widen(4, 3, lambda c: c == 0x7F, lambda c: False)),
       Case("cvt.rn.f16x2.e5m2x2", "cvt.rn.f16x2.e5m2x2 $d, $a;", "b32", ["b16"], ALL_CODES,
            widen(5, 2, lambda c: c > 0x7C, lambda c: c == 0x7C))], hexadecimal=True)


def pack_sat(t, size):
    def reference(a, b, c=0):
        mask = (1 << size) - 1
        return ((clamp_bits(t, size, a) & mask) << size | clamp_bits(t, size, b) & mask) | (c << 2 * size if size < 16 else 0)
    return reference


def clamp_bits(t, size, x):
    low, high = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if t == "s" else (0, (1 << size) - 1)
    return min(max(x, low), high)


PACK_INTS = [(1, 2, 0x12345678), (100000, 0xFFFFFFFB, 7), (300, 200, 0xABCD), (0x80000000, 0x7FFFFFFF, 1), (0xFFFFFF80, 127, 0xFFFF)]
write("cvt", "pack_sat", "cvt.pack: saturated fields, then the low bits of c",
      [Case(f"cvt.pack.sat.{t}16.s32", f"cvt.pack.sat.{t}16.s32 $d, $a, $b;", "b32", ["s32", "s32"], [r[:2] for r in PACK_INTS],
            pack_sat(t, 16)) for t in "us"] +
      [Case(f"cvt.pack.sat.{t}8.s32.b32", f"cvt.pack.sat.{t}8.s32.b32 $d, $a, $b, $c;", "b32", ["s32", "s32", "b32"], PACK_INTS,
            pack_sat(t, 8)) for t in "us"] +
      [Case(f"cvt.pack.sat.{t}4.s32.b32", f"cvt.pack.sat.{t}4.s32.b32 $d, $a, $b, $c;", "b32", ["s32", "s32", "b32"], PACK_INTS,
            pack_sat(t, 4)) for t in "us"], hexadecimal=True)

# ---- approximate functions: exact cases, and cases where the result is checked to a tolerance ----

INF, NINF, QNAN, ONE = 0x7F800000, 0xFF800000, 0x7FFFFFFF, 0x3F800000


def f32(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def table_case(name, text, pairs):
    mapping = dict(pairs)
    return Case(name, text, "f32", ["b32"], [p[0] for p in pairs], lambda a: mapping[a])


SPECIAL = {
    "ex2.approx.f32": [(NINF, 0), (0x80000000, ONE), (0, ONE), (1, ONE), (INF, INF), (0x7FC00000, QNAN), (f32(10), f32(1024)),
                       (f32(-149), 1), (f32(-126), 0x00800000), (f32(128), INF)],
    "ex2.approx.ftz.f32": [(f32(-127), 0), (f32(-126), 0x00800000), (0x80000001, ONE), (f32(-3), f32(0.125))],
    "lg2.approx.f32": [(NINF, QNAN), (f32(-1), QNAN), (0x80000000, NINF), (0, NINF), (INF, INF), (f32(8), f32(3)), (ONE, 0),
                       (1, f32(-149)), (0x7FC00000, QNAN)],
    "lg2.approx.ftz.f32": [(1, NINF), (0x80000001, NINF), (f32(0.25), f32(-2))],
    "rcp.approx.f32": [(NINF, 0x80000000), (0x80000000, NINF), (0, INF), (INF, 0), (0x7FC00000, QNAN), (f32(4), f32(0.25))],
    "rcp.approx.ftz.f32": [(1, INF), (0x80000001, NINF), (f32(2.0 ** 127), 0), (f32(-2), f32(-0.5))],
    "rsqrt.approx.f32": [(NINF, QNAN), (f32(-1), QNAN), (0x80000000, NINF), (0, INF), (INF, 0), (f32(4), f32(0.5)), (0x7FC00000, QNAN)],
    "rsqrt.approx.ftz.f32": [(1, INF), (0x80000001, NINF), (f32(16), f32(0.25))],
    "sqrt.approx.f32": [(NINF, QNAN), (0x80000000, 0x80000000), (0, 0), (INF, INF), (f32(9), f32(3)), (0x7FC00000, QNAN)],
    "sqrt.approx.ftz.f32": [(1, 0), (0x80000001, 0x80000000), (f32(25), f32(5))],
    "sin.approx.f32": [(NINF, QNAN), (0x80000000, 0x80000000), (0, 0), (INF, QNAN), (0x7FC00000, QNAN)],
    "cos.approx.f32": [(NINF, QNAN), (0x80000000, ONE), (0, ONE), (INF, QNAN), (0x7FC00000, QNAN)],
    "tanh.approx.f32": [(NINF, f32(-1)), (0x80000000, 0x80000000), (0, 0), (INF, ONE), (0x7FC00000, QNAN)],
}
write("float", "approx_special", "special cases of the approximate functions, and cases with an exact result",
      [table_case(name, f"{name} $d, $a;", table) for name, table in SPECIAL.items()])


def tolerance_case(name, values, function, relative, absolute=0.0):
    """1 where |result - function(x)| is within the ISA's limit."""
    import math
    rows = [(f32(v), f32(function(struct.unpack("<f", struct.pack("<f", v))[0]))) for v in values]
    # The expected value is itself rounded: half a unit in the last place more.
    text = (f".reg .f32 %x, %y, %limit;\n.reg .pred %p;\n{name} %x, $a;\nsub.f32 %y, %x, $b;\nabs.f32 %y, %y;\n"
            f"abs.f32 %limit, $b;\nfma.rn.f32 %limit, %limit, 0f{f32(relative + 2.0 ** -24):08X}, 0f{f32(absolute):08X};\n"
            "setp.le.f32 %p, %y, %limit;\nselp.u32 $d, 1, 0, %p;")
    return Case(name, text, "u32", ["b32", "b32"], rows, lambda a, b: 1)


import math  # noqa: E402

SPREAD = [0.001, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.01, 1.5, 2.7, 3.1, 4.6, 5.9, 6.2]
SIGNED = SPREAD + [-x for x in SPREAD]
BIG = [1e-30, 1e-10, 12345.678, 1e10, 3e37]
write("float", "approx_tolerance", "the approximate functions within the error that the ISA documents (1: within)",
      [tolerance_case("ex2.approx.f32", SIGNED + [100.5, -100.5], lambda x: 2.0 ** x, 2.0 ** -22),
       tolerance_case("lg2.approx.f32", SPREAD, math.log2, 0, 2.0 ** -22),
       tolerance_case("lg2.approx.ftz.f32", BIG, math.log2, 2.0 ** -22),
       tolerance_case("sin.approx.f32", SIGNED, math.sin, 0, 2.0 ** -20.5),
       tolerance_case("cos.approx.f32", SIGNED, math.cos, 0, 2.0 ** -20.5),
       tolerance_case("rcp.approx.f32", SIGNED + BIG, lambda x: 1 / x, 2.0 ** -23),
       tolerance_case("rsqrt.approx.f32", SPREAD + BIG, lambda x: x ** -0.5, 2.0 ** -22.9),
       tolerance_case("sqrt.approx.f32", SPREAD + BIG, math.sqrt, 2.0 ** -23),
       tolerance_case("tanh.approx.f32", SIGNED + [1e-20, 20.0], math.tanh, 2.0 ** -11)], hexadecimal=False)
write("float", "div_approx", "div.approx gives 0 above 2^126, div.full does not",
      [Case(name, f"{name} $d, $a, $b;", "f32", ["b32", "b32"], [r[:2] for r in table], lambda a, b, t=table: {r[:2]: r[2] for r in t}[(a, b)])
       for name, table in {
           "div.approx.f32": [(f32(6), f32(3), f32(2)), (f32(1), f32(2.0 ** 127), 0), (INF, f32(2.0 ** 127), QNAN),
                              (f32(1), 0, INF), (f32(1), INF, 0), (0, 0, QNAN), (f32(-8), f32(2), f32(-4))],
           "div.approx.ftz.f32": [(1, f32(1), 0), (f32(1), 1, INF), (f32(10), f32(4), f32(2.5))],
           "div.full.f32": [(f32(6), f32(3), f32(2)), (f32(1), f32(2.0 ** 126), f32(2.0 ** -126)), (f32(1), 0, INF), (INF, INF, QNAN)],
       }.items()])
write("half", "ex2_tanh", "ex2 and tanh of f16 and bf16: special cases and exact powers",
      [Case("ex2.approx.f16", "ex2.approx.f16 $d, $a;", "f16", ["b16"], [0xFC00, 0x8000, 0, 0x7C00, 0x7E00, 0x4200, 0xC200, 0xCE00, 0x4C00],
            lambda a: {0xFC00: 0, 0x8000: 0x3C00, 0: 0x3C00, 0x7C00: 0x7C00, 0x7E00: 0x7FFF, 0x4200: 0x4800, 0xC200: 0x3000,
                       0xCE00: 0x0001, 0x4C00: 0x7C00}[a]),
       Case("tanh.approx.f16", "tanh.approx.f16 $d, $a;", "f16", ["b16"], [0xFC00, 0x8000, 0, 0x7C00, 0x7E00],
            lambda a: {0xFC00: 0xBC00, 0x8000: 0x8000, 0: 0, 0x7C00: 0x3C00, 0x7E00: 0x7FFF}[a]),
       Case("ex2.approx.ftz.bf16", "ex2.approx.ftz.bf16 $d, $a;", "bf16", ["b16"], [0xFF80, 0x8000, 0, 0x7F80, 0x7FC0, 0x4040, 0x0001],
            lambda a: {0xFF80: 0, 0x8000: 0x3F80, 0: 0x3F80, 0x7F80: 0x7F80, 0x7FC0: 0x7FFF, 0x4040: 0x4100, 1: 0x3F80}[a]),
       Case("tanh.approx.bf16", "tanh.approx.bf16 $d, $a;", "bf16", ["b16"], [0xFF80, 0x8000, 0, 0x7F80, 0x7FC0],
            lambda a: {0xFF80: 0xBF80, 0x8000: 0x8000, 0: 0, 0x7F80: 0x3F80, 0x7FC0: 0x7FFF}[a])])
write("float", "gross_f64", "rcp and rsqrt of f64, .approx.ftz: only the upper word counts",
      [Case("rcp.approx.ftz.f64", "rcp.approx.ftz.f64 $d, $a;", "f64", ["b64"],
            [0x4010000000000000, 0x4010000012345678, 0, 1 << 63, 0x7FF0000000000000, 0x7FF8000000000000, 1 << 40, 0xBFE0000000000000],
            lambda a: {0x4010000000000000: 0x3FD0000000000000, 0x4010000012345678: 0x3FD0000000000000, 0: 0x7FF0000000000000,
                       1 << 63: 0xFFF0000000000000, 0x7FF0000000000000: 0, 0x7FF8000000000000: 0x7FFFFFFF00000000,
                       1 << 40: 0x7FF0000000000000, 0xBFE0000000000000: 0xC000000000000000}[a]),
       Case("rsqrt.approx.ftz.f64", "rsqrt.approx.ftz.f64 $d, $a;", "f64", ["b64"],
            [0x4010000000000000, 0x4010000012345678, 0, 1 << 63, 0x7FF0000000000000],
            lambda a: {0x4010000000000000: 0x3FE0000000000000, 0x4010000012345678: 0x3FE0000000000000, 0: 0x7FF0000000000000,
                       1 << 63: 0xFFF0000000000000, 0x7FF0000000000000: 0}[a]),
       Case("rsqrt.approx.f64", "rsqrt.approx.f64 $d, $a;", "f64", ["b64"], [0x4010000000000000, 0, 0x7FF0000000000000],
            lambda a: {0x4010000000000000: 0x3FE0000000000000, 0: 0x7FF0000000000000, 0x7FF0000000000000: 0}[a])])
