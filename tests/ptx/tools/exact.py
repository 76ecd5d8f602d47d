"""Exact arithmetic of binary formats with Python's fractions: the reference for the PTX tests.

A float is (sign, kind, magnitude): kind is "zero", "fin", "inf" or "nan", magnitude a Fraction.
"""

from fractions import Fraction
from math import isqrt

FORMATS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "f32": (8, 23), "f64": (11, 52)}
NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0xFFF8000000000000}
WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


def power(e):
    return Fraction(2) ** e


def decode(fmt, bits):
    exp_bits, mant_bits = FORMATS[fmt]
    sign = bits >> (exp_bits + mant_bits) & 1
    field = bits >> mant_bits & ((1 << exp_bits) - 1)
    mant = bits & ((1 << mant_bits) - 1)
    bias = (1 << (exp_bits - 1)) - 1
    if field == (1 << exp_bits) - 1:
        return (sign, "nan" if mant else "inf", Fraction(0))
    if field == 0 and mant == 0:
        return (sign, "zero", Fraction(0))
    whole = mant + (1 << mant_bits if field else 0)
    return (sign, "fin", whole * power(max(field, 1) - bias - mant_bits))


def value(x):
    """The signed Fraction of a finite float."""
    return -x[2] if x[0] else x[2]


def round_int(x, mode, negative=False):
    """A non-negative Fraction to an integer."""
    low = x.numerator // x.denominator
    rest = x - low
    if rest == 0:
        return low
    if mode == "rn":
        up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2 == 1)
    elif mode == "rna":
        up = rest >= Fraction(1, 2)
    elif mode == "rz":
        up = False
    elif mode == "rm":
        up = negative
    else:
        up = not negative
    return low + (1 if up else 0)


def encode(fmt, sign, magnitude, mode="rn"):
    """Bits of a rounded non-negative Fraction."""
    exp_bits, mant_bits = FORMATS[fmt]
    bias = (1 << (exp_bits - 1)) - 1
    top = sign << (exp_bits + mant_bits)
    if magnitude == 0:
        return top
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if power(exponent) > magnitude:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    unit = power(exponent - mant_bits)
    whole = round_int(magnitude / unit, mode, bool(sign))
    field = exponent + bias - 1
    code = (field << mant_bits) + whole
    infinity = ((1 << exp_bits) - 1) << mant_bits
    if code >= infinity:
        to_infinity = mode in ("rn", "rna") or (mode == "rm" and sign) or (mode == "rp" and not sign)
        code = infinity if to_infinity else infinity - 1
    return top | code


def infinity(fmt, sign):
    exp_bits, mant_bits = FORMATS[fmt]
    return sign << (exp_bits + mant_bits) | ((1 << exp_bits) - 1) << mant_bits


def from_value(fmt, v, mode="rn", zero_sign=0):
    if v == 0:
        return encode(fmt, zero_sign, Fraction(0))
    return encode(fmt, 1 if v < 0 else 0, abs(v), mode)


def nan_of(fmt, *operands):
    """f64 propagates the first NaN operand, quiet; the others are canonical."""
    if fmt == "f64":
        for bits in operands:
            if decode(fmt, bits)[1] == "nan":
                return bits | 0x0008000000000000
    return NAN[fmt]


def flush(fmt, bits):
    exp_bits, mant_bits = FORMATS[fmt]
    if bits >> mant_bits & ((1 << exp_bits) - 1) == 0:
        return bits & (1 << (exp_bits + mant_bits))
    return bits


def add(fmt, a, b, mode="rn"):
    x, y = decode(fmt, a), decode(fmt, b)
    if "nan" in (x[1], y[1]) or (x[1] == y[1] == "inf" and x[0] != y[0]):
        return nan_of(fmt, a, b)
    if x[1] == "inf" or y[1] == "inf":
        return infinity(fmt, x[0] if x[1] == "inf" else y[0])
    zero_sign = (x[0] | y[0]) if mode == "rm" else (x[0] & y[0])
    return from_value(fmt, value(x) + value(y), mode, zero_sign)


def neg(fmt, a):
    return a ^ (1 << (WIDTH[fmt] - 1))


def mul(fmt, a, b, mode="rn"):
    x, y = decode(fmt, a), decode(fmt, b)
    kinds = (x[1], y[1])
    if "nan" in kinds or ("inf" in kinds and "zero" in kinds):
        return nan_of(fmt, a, b)
    sign = x[0] ^ y[0]
    if "inf" in kinds:
        return infinity(fmt, sign)
    return encode(fmt, sign, x[2] * y[2], mode)


def fma(fmt, a, b, c, mode="rn"):
    x, y, z = decode(fmt, a), decode(fmt, b), decode(fmt, c)
    kinds = (x[1], y[1])
    if "nan" in kinds + (z[1],) or ("inf" in kinds and "zero" in kinds):
        return nan_of(fmt, a, b, c)
    sign = x[0] ^ y[0]
    if "inf" in kinds:
        if z[1] == "inf" and z[0] != sign:
            return nan_of(fmt, a, b, c)
        return infinity(fmt, sign)
    if z[1] == "inf":
        return infinity(fmt, z[0])
    zero_sign = (sign | z[0]) if mode == "rm" else (sign & z[0])
    product = -x[2] * y[2] if sign else x[2] * y[2]
    return from_value(fmt, product + value(z), mode, zero_sign)


def div(fmt, a, b, mode="rn"):
    x, y = decode(fmt, a), decode(fmt, b)
    if "nan" in (x[1], y[1]) or x[1] == y[1] == "inf" or x[1] == y[1] == "zero":
        return nan_of(fmt, a, b)
    sign = x[0] ^ y[0]
    if x[1] == "inf" or y[1] == "zero":
        return infinity(fmt, sign)
    if y[1] == "inf" or x[1] == "zero":
        return encode(fmt, sign, Fraction(0))
    return encode(fmt, sign, x[2] / y[2], mode)


def sqrt(fmt, a, mode="rn"):
    x = decode(fmt, a)
    if x[1] == "nan" or (x[0] and x[1] != "zero"):
        return nan_of(fmt, a)
    if x[1] in ("inf", "zero"):
        return a
    # 200 bits below the unit, and a sticky bit where the root is inexact.
    scaled = x[2].numerator * x[2].denominator << 800
    root = isqrt(scaled)
    exact = root * root == scaled
    magnitude = Fraction(2 * root + (0 if exact else 1), 2 * x[2].denominator << 400)
    return encode(fmt, 0, magnitude, mode)


def saturate(fmt, bits):
    x = decode(fmt, bits)
    if x[1] == "nan" or x[0] or x[1] == "zero":
        return 0
    one = encode(fmt, 0, Fraction(1))
    return min(bits, one)


def convert(to, fmt, bits, mode="rn"):
    x = decode(fmt, bits)
    if x[1] == "nan":
        if fmt == "f32" and to == "f64":
            return (bits & 0x80000000) << 32 | 0x7FF8000000000000 | (bits & 0x7FFFFF) << 29
        return NAN[to]
    if x[1] == "inf":
        return infinity(to, x[0])
    return encode(to, x[0], x[2], mode)


def to_integer(fmt, bits, mode, width, signed):
    x = decode(fmt, bits)
    low = -(1 << (width - 1)) if signed else 0
    high = (1 << (width - 1 if signed else width)) - 1
    if x[1] == "nan":
        if fmt != "f64" and width < 64:
            return 0
        return low if signed else 1 << (width - 1)
    if x[1] == "inf":
        return low if x[0] else high
    whole = round_int(x[2], mode, bool(x[0]))
    return min(max(-whole if x[0] else whole, low), high)


def integral(fmt, bits, mode):
    x = decode(fmt, bits)
    if x[1] == "nan":
        return nan_of(fmt, bits)
    if x[1] in ("inf", "zero"):
        return bits
    return encode(fmt, x[0], Fraction(round_int(x[2], mode, bool(x[0]))))


def compare(op, fmt, a, b):
    x, y = decode(fmt, a), decode(fmt, b)
    nan = "nan" in (x[1], y[1])
    if op == "num":
        return not nan
    if op == "nan":
        return nan
    if nan:
        return op.endswith("u")
    # "equ" and "neu" keep their last letter, the others lose it.
    base = op[:2]

    def key(v):
        if v[1] == "inf":
            return -power(5000) if v[0] else power(5000)
        return value(v)

    p, q = key(x), key(y)
    return {"eq": p == q, "ne": p != q, "lt": p < q, "le": p <= q, "gt": p > q, "ge": p >= q}[base]


def minmax(fmt, a, b, largest, nan_wins=False):
    x, y = decode(fmt, a), decode(fmt, b)
    if x[1] == "nan" and y[1] == "nan":
        return nan_of(fmt, a, b)
    if "nan" in (x[1], y[1]):
        if nan_wins:
            return NAN[fmt]
        return b if x[1] == "nan" else a
    if compare("eq", fmt, a, b):
        # Only zeros can differ here.
        less = a if x[0] >= y[0] else b
        more = b if x[0] >= y[0] else a
    else:
        less, more = (a, b) if compare("lt", fmt, a, b) else (b, a)
    return more if largest else less
