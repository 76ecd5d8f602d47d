"""The tests of atom and red: each lane has a cell of its own, so that both the value before and the
value after are known; sums into one cell are in contended.ptx."""

import random
from functools import partial

import exact
import ptxgen
from ptxgen import BITS, Case

rng = random.Random(40)


def edges(t):
    n = BITS[t]
    return [0, 1, 7, (1 << (n - 1)) - 1, 1 << (n - 1), (1 << n) - 1, rng.getrandbits(n)]


def rows(t, count=10):
    return [(rng.choice(edges(t)), rng.choice(edges(t))) for _ in range(count)]


def access(space):
    """PTX that puts the address of the lane's cell into %q, and the space to write after the mnemonic."""
    cells = "shared_cells" if space == "shared" else "global_cells"
    text = f".reg .b64 %q;\nmov.u64 %q, {cells};\nmad.wide.u32 %q, %i, 16, %q;\n"
    if space == "generic":
        return text + "cvta.global.u64 %q, %q;\n", ""
    return text, "." + space


def cases(op, t, reference, space, scope="", operands="$b", width=2, table=None, suffix=""):
    setup, dot = access(space)
    bits = BITS[t]
    store = f"st{dot}.b{bits} [%q], $a;\n"
    name = f"{op}{suffix}.{t}.{space}"
    # .noftz and the like stand behind the operation.
    atom = f"atom{scope}{dot}.{op}{suffix}.{t}"
    table = table or (rows(t) if width == 2 else [r + (rng.choice(edges(t)),) for r in rows(t)])
    types = [t if t[0] in "us" else f"b{bits}"] * width
    kind = t if t[0] in "us" else f"b{bits}"
    old = Case(name + ".old", setup + store + f"{atom} $d, [%q], {operands};", kind, types, table, lambda a, *_: a)
    new = Case(name + ".new", setup + store + f".reg .b{bits} %old;\n{atom} %old, [%q], {operands};\nld{dot}.b{bits} $d, [%q];",
               kind, types, table, reference)
    return [old, new]


def red(op, t, reference, space, suffix="", table=None):
    setup, dot = access(space)
    bits = BITS[t]
    kind = t if t[0] in "us" else f"b{bits}"
    return Case(f"red.{op}{suffix}.{t}.{space}", setup + f"st{dot}.b{bits} [%q], $a;\nred{dot}.{op}{suffix}.{t} [%q], $b;\nld{dot}.b{bits} $d, [%q];",
                kind, [kind] * 2, table or rows(t), reference)


SPACES = ["global", "shared", "generic"]
CELLS = (".global .align 16 .b64 global_cells[64];", ".shared .align 16 .b64 shared_cells[64];")
write = partial(ptxgen.write, declarations=CELLS)
INTEGER = {
    "add": (["u32", "s32", "u64"], lambda a, b: a + b),
    "min": (["u32", "s32", "u64", "s64"], min),
    "max": (["u32", "s32", "u64", "s64"], max),
    "and": (["b32", "b64"], lambda a, b: a & b),
    "or": (["b32", "b64"], lambda a, b: a | b),
    "xor": (["b32", "b64"], lambda a, b: a ^ b),
    "inc": (["u32"], lambda a, b: 0 if a >= b else a + 1),
    "dec": (["u32"], lambda a, b: b if a == 0 or a > b else a - 1),
}
for op, (types, f) in INTEGER.items():
    write("atomic", op, f"atom.{op} and red.{op}: what was there comes back, the result is stored",
          [c for t in types for space in SPACES for c in cases(op, t, f, space)] +
          [red(op, t, f, space) for t in types for space in SPACES], hexadecimal=False)
write("atomic", "exch", "atom.exch",
      [c for t in ("b32", "b64") for space in SPACES for c in cases("exch", t, lambda a, b: b, space)])
CAS_ROWS = {t: [(a, a, b) for a, b in rows(t, 5)] + [(a, a ^ 1, b) for a, b in rows(t, 5)] for t in ("b16", "b32", "b64")}
write("atomic", "cas", "atom.cas stores only where the old value is as expected",
      [c for t in ("b16", "b32", "b64") for space in SPACES
       for c in cases("cas", t, lambda a, b, c: c if a == b else a, space, operands="$b, $c", width=3, table=CAS_ROWS[t])])

F32 = [0x3F800000, 0xBF800000, 0x00000001, 0x7F7FFFFF, 0x3DCCCCCD, 0x40490FDB, 0x7F800000, 0x80000000]
F64 = [0x3FF0000000000000, 0xBFF0000000000000, 1, 0x7FEFFFFFFFFFFFFF, 0x3FB999999999999A, 0x400921FB54442D18]
F16 = [0x3C00, 0xBC00, 0x0001, 0x7BFF, 0x2E66, 0x4248]
BF16 = [0x3F80, 0xBF80, 0x0001, 0x7F7F, 0x3DCD, 0x4049]


def float_rows(values, count=10):
    return [(rng.choice(values), rng.choice(values)) for _ in range(count)]


def pair_rows(values, count=10):
    return [tuple(rng.choice(values) << 16 | rng.choice(values) for _ in range(2)) for _ in range(count)]


def halves(fmt):
    return lambda a, b: exact.add(fmt, a >> 16, b >> 16) << 16 | exact.add(fmt, a & 0xFFFF, b & 0xFFFF)


def float_cases(t, reference, suffix, table, spaces=SPACES):
    return [c for space in spaces for c in cases("add", t, reference, space, table=table, suffix=suffix)] + \
        [red("add", t, reference, space, suffix=suffix, table=table) for space in spaces]


# atom.add.f32 on global memory flushes subnormals, on shared memory it does not; these rows give neither.
NORMAL = [x for x in F32 if x != 1]
write("atomic", "add_float", "atom.add of f32 and f64",
      float_cases("f32", lambda a, b: exact.add("f32", a, b), "", float_rows(NORMAL)) +
      float_cases("f64", lambda a, b: exact.add("f64", a, b), "", float_rows(F64)), hexadecimal=True)
TINY = [(1, 0), (0x00400000, 0x00400000), (0x80000001, 0x80000000), (0x00800000, 0x80000001), (0x00800001, 0x80800000)]


def flushing(a, b):
    return exact.flush("f32", exact.add("f32", exact.flush("f32", a), exact.flush("f32", b)))


write("atomic", "add_subnormal", "atom.add.f32 flushes subnormals in global memory, not in shared memory",
      float_cases("f32", flushing, "", TINY, ["global", "generic"]) +
      float_cases("f32", lambda a, b: exact.add("f32", a, b), "", TINY, ["shared"]), hexadecimal=True)
write("atomic", "add_half", "atom.add.noftz of f16, bf16 and pairs",
      float_cases("f16", lambda a, b: exact.add("f16", a, b), ".noftz", float_rows(F16)) +
      float_cases("bf16", lambda a, b: exact.add("bf16", a, b), ".noftz", float_rows(BF16)) +
      float_cases("f16x2", halves("f16"), ".noftz", pair_rows(F16)) +
      float_cases("bf16x2", halves("bf16"), ".noftz", pair_rows(BF16)), hexadecimal=True)
SCOPES = [".relaxed.cta", ".relaxed.gpu", ".relaxed.sys", ".acquire.gpu", ".release.sys", ".acq_rel.gpu", ".acq_rel.cta"]
write("atomic", "scopes", "orders and scopes change no value",
      [Case("add" + s, access("global")[0] + f"st.global.u32 [%q], $a;\natom{s}.global.add.u32 $d, [%q], $b;\nld.global.u32 $d, [%q];",
            "u32", ["u32", "u32"], [(1, 2), (5, 0xFFFFFFFF)], lambda a, b: a + b) for s in SCOPES])
