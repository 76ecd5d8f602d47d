"""The tests of mma, wmma, ldmatrix, stmatrix and movmatrix. Matrices hold small integers, so that every
sum is exact; the layouts are the ISA's formulas; numpy multiplies."""

import os

import numpy as np

import exact
from ptxgen import HEADER

rng = np.random.default_rng(50)
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32,
        "e4m3": 8, "e5m2": 8}
RANGE = {"s8": (-128, 128), "u8": (0, 256), "s4": (-8, 8), "u4": (0, 16), "b1": (0, 2), "e4m3": (-4, 5), "e5m2": (-4, 5)}


def encode(t, x):
    x = int(x)
    if t in ("f16", "bf16", "f32", "f64"):
        return exact.from_value(t, exact.Fraction(x))
    if t == "tf32":
        return exact.from_value("f32", exact.Fraction(x))
    if t in ("e4m3", "e5m2"):
        exp_bits, mant_bits = (4, 3) if t == "e4m3" else (5, 2)
        sign, m = (1 if x < 0 else 0), abs(x)
        if m == 0:
            return 0
        e = m.bit_length() - 1
        return sign << 7 | (e + (1 << (exp_bits - 1)) - 1) << mant_bits | ((m << mant_bits) >> e) - (1 << mant_bits)
    return x & ((1 << BITS[t]) - 1)


def draw(t, rows, cols):
    low, high = RANGE.get(t, (-8, 9))
    return rng.integers(low, high, (rows, cols))


# (row, column) of element i of the lane with group g = lane / 4 and t = lane % 4: tables of the ISA.
def layout_a(m, k, t):
    if t in ("f16", "bf16"):
        if k == 8:
            return 4, lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1))
        return 8, lambda g, t, i: (g if i in (0, 1, 4, 5) else g + 8, t * 2 + (i & 1) + (8 if i >= 4 else 0))
    if t == "tf32":
        if k == 4:
            return 2, lambda g, t, i: (g if i == 0 else g + 8, t)
        return 4, lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4)
    if t == "f64":
        if m == 8:
            return 1, lambda g, t, i: (g, t)
        return m * k // 32, lambda g, t, i: (g if i % 2 == 0 else g + 8, t + i // 2 * 4)
    per = 32 // BITS[t]
    if m == 8:
        return per, lambda g, t, i: (g, t * per + i)
    if m * k // 32 == 2 * per:
        return 2 * per, lambda g, t, i: (g if i < per else g + 8, t * per + i % per)
    return 4 * per, lambda g, t, i: (g if i // per in (0, 2) else g + 8, t * per + i % per + (4 * per if i >= 2 * per else 0))


def layout_b(k, t):
    if t in ("f16", "bf16"):
        return k // 4, lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g)
    if t in ("tf32", "f64"):
        return k // 4, lambda g, t, i: (t + 4 * i, g)
    per = 32 // BITS[t]
    return k // 4, lambda g, t, i: (t * per + i % per + (4 * per if i >= per else 0), g)


def layout_c(m):
    return (2 if m == 8 else 4), lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1))


def fragment(matrix, layout, t):
    """Registers of all lanes: lane after lane."""
    count, place = layout
    width = 64 if t == "f64" else 32
    per = width // BITS[t]
    words = []
    for lane in range(32):
        elements = [encode(t, matrix[place(lane // 4, lane % 4, i)]) for i in range(count)]
        for start in range(0, count, per):
            words.append(sum(e << (BITS[t] * j) for j, e in enumerate(elements[start:start + per])))
    return words, count // per


def show(name, t, values):
    digits = max(BITS[t] // 4, 1)
    lines = []
    for start in range(0, len(values), 16):
        lines.append(f"// | {name}[{start}] = {' '.join(f'{int(v):0{digits}x}' for v in values[start:start + 16])}")
    return lines


def array(name, width, values):
    text = ", ".join(str(v) for v in values)
    return f".global .align 16 .u{width} {name}[{len(values)}] = {{{text}}};"


def save(folder, name, lines):
    path = os.path.join(os.path.dirname(__file__), "..", folder)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name + ".ptx"), "w") as file:
        file.write("\n".join(lines) + "\n")


def registers(letter, count):
    return "{" + ", ".join(f"%{letter}{i}" for i in range(count)) + "}"


def mma(m, n, k, ta, tb, tc, td, bit_op="", target="sm_90"):
    a, b, c = draw(ta, m, k), draw(tb, k, n), draw("s32" if tc == "s32" else tc, m, n)
    if bit_op == "xor.popc":
        d = c + (a[:, :, None] ^ b[None, :, :]).sum(1)
    else:
        d = c + a @ b
    width = 64 if ta == "f64" else 32
    wa, na = fragment(a, layout_a(m, k, ta), ta)
    wb, nb = fragment(b, layout_b(k, tb), tb)
    wc, nc = fragment(c, layout_c(m), tc)
    wd, nd = fragment(d, layout_c(m), td)
    op = f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{td}.{ta}.{tb}.{tc}" + (f".{bit_op}" if bit_op else "")
    lines = [f"// {op}"]
    lines.append(f"// RUN: %kernelsmith launch %s --block 32 --hex --arg out:b{width}[{32 * nd}]")
    lines.append("// OUT:")
    lines += show("out", "f64" if width == 64 else "f32", wd)
    lines += ["// ERR:", HEADER.format(target=target)]
    for name, words in (("a", wa), ("b", wb), ("c", wc)):
        lines.append(array(name, width, words))
    lines += ["", ".visible .entry test(.param .u64 out)", "{", "  .reg .b64 %at, %base;", "  .reg .b32 %lane;"]
    for letter, count in (("a", na), ("b", nb), ("c", nc), ("d", nd)):
        lines.append(f"  .reg .b{width} %{letter}<{count}>;")
    lines.append("  mov.u32 %lane, %laneid;")
    for letter, count in (("a", na), ("b", nb), ("c", nc)):
        lines.append(f"  mov.u64 %base, {letter};")
        lines.append(f"  mad.wide.u32 %at, %lane, {count * width // 8}, %base;")
        lines += [f"  ld.global.b{width} %{letter}{i}, [%at+{i * width // 8}];" for i in range(count)]
    lines.append(f"  {op} {registers('d', nd)}, {registers('a', na)}, {registers('b', nb)}, {registers('c', nc)};")
    lines.append("  ld.param.u64 %base, [out];")
    lines.append(f"  mad.wide.u32 %at, %lane, {nd * width // 8}, %base;")
    lines += [f"  st.global.b{width} [%at+{i * width // 8}], %d{i};" for i in range(nd)]
    lines += ["  ret;", "}"]
    name = f"m{m}n{n}k{k}_{ta}" + (f"_{tb}" if tb != ta else "") + f"_{tc}" + (f"_{td}" if td != tc else "")
    save("mma", name + ("_" + bit_op.split(".")[0] if bit_op else ""), lines)


for c in ("f16", "f32"):
    mma(16, 8, 8, "f16", "f16", c, c)
    mma(16, 8, 16, "f16", "f16", c, c)
mma(16, 8, 8, "bf16", "bf16", "f32", "f32")
mma(16, 8, 16, "bf16", "bf16", "f32", "f32")
mma(16, 8, 4, "tf32", "tf32", "f32", "f32")
mma(16, 8, 8, "tf32", "tf32", "f32", "f32")
mma(8, 8, 4, "f64", "f64", "f64", "f64")
for k in (4, 8, 16):
    mma(16, 8, k, "f64", "f64", "f64", "f64")
mma(8, 8, 16, "s8", "s8", "s32", "s32")
mma(16, 8, 16, "u8", "s8", "s32", "s32")
mma(16, 8, 32, "s8", "u8", "s32", "s32")
mma(16, 8, 32, "e4m3", "e5m2", "f32", "f32")
mma(8, 8, 32, "s4", "s4", "s32", "s32")
mma(16, 8, 32, "u4", "s4", "s32", "s32")
mma(16, 8, 64, "s4", "s4", "s32", "s32")
mma(16, 8, 128, "b1", "b1", "s32", "s32", "xor.popc")
mma(16, 8, 256, "b1", "b1", "s32", "s32", "and.popc")

# ---- wmma ----

COUNTS = {  # registers of a and b
    ("f16", 16): (8, 8), ("f16", 32): (8, 8), ("f16", 8): (8, 8), ("bf16", 16): (4, 4), ("bf16", 32): (8, 2), ("bf16", 8): (2, 8),
    ("s8", 16): (2, 2), ("s8", 32): (4, 1), ("s8", 8): (1, 4), ("u8", 16): (2, 2), ("tf32", 16): (4, 4), ("f64", 8): (1, 1)}


def in_memory(matrix, row_major, stride):
    rows, cols = matrix.shape
    flat = np.zeros((rows if row_major else cols) * stride, dtype=np.int64)
    for i in range(rows):
        for j in range(cols):
            flat[i * stride + j if row_major else j * stride + i] = matrix[i, j]
    return flat


def wmma(m, n, k, t, tc, td, la, lb, lc):
    a, b, c = draw(t, m, k), draw(t, k, n), draw(tc, m, n)
    d = c + a @ b
    na, nb = COUNTS[(t, m)]
    nc = 2 if t == "f64" else 4 if tc == "f16" else 8
    nd = 2 if t == "f64" else 4 if td == "f16" else 8
    # A stride that is larger than the matrix, and still aligned.
    pad = 16 if BITS[t] <= 8 else 8
    sa, sb = (k if la == "row" else m) + pad, (n if lb == "row" else k) + pad
    sc = (n if lc == "row" else m) + 8
    wa = [encode(t, x) for x in in_memory(a, la == "row", sa)]
    wb = [encode(t, x) for x in in_memory(b, lb == "row", sb)]
    wc = [encode(tc, x) for x in in_memory(c, lc == "row", sc)]
    wd = [encode(td, x) for x in in_memory(d, lc == "row", sc)]
    shape = f"m{m}n{n}k{k}"
    types = f"{td}.{tc}" if t == "f16" else f"{td}.{t}.{t}.{tc}"
    op = f"wmma.mma.sync.aligned.{la}.{lb}.{shape}.{types}"
    size = {"f16": 2, "bf16": 2, "tf32": 4, "f64": 8, "s8": 1, "u8": 1}[t]
    csize, dsize = BITS[tc] // 8, BITS[td] // 8
    lines = [f"// {op}, c and d in {lc} order, with strides beyond the matrix"]
    lines.append(f"// RUN: %kernelsmith launch %s --block 32 --hex --arg out:b{8 * dsize}[{len(wd)}]")
    lines.append("// OUT:")
    lines += show("out", td, wd)
    lines += ["// ERR:", HEADER.format(target="sm_90")]
    lines += [array("a", 8 * size, wa), array("b", 8 * size, wb), array("c", 8 * csize, wc)]
    lines += ["", ".visible .entry test(.param .u64 out)", "{", "  .reg .b64 %p;"]
    kinds = {"f16": "b32", "bf16": "b32", "tf32": "b32", "f64": "f64", "s8": "b32", "u8": "b32", "f32": "f32", "s32": "b32"}
    for letter, count, kind in (("a", na, t), ("b", nb, t), ("c", nc, tc), ("d", nd, td)):
        lines.append(f"  .reg .{kinds[kind]} %{letter}<{count}>;")
    space = ".global"
    lines.append("  mov.u64 %p, a;")
    lines.append(f"  wmma.load.a.sync.aligned.{la}.{shape}{space}.{t} {registers('a', na)}, [%p], {sa};")
    lines.append("  mov.u64 %p, b;")
    lines.append(f"  wmma.load.b.sync.aligned.{lb}.{shape}{space}.{t} {registers('b', nb)}, [%p], {sb};")
    lines.append("  mov.u64 %p, c;")
    lines.append(f"  wmma.load.c.sync.aligned.{lc}.{shape}{space}.{tc} {registers('c', nc)}, [%p], {sc};")
    lines.append(f"  {op} {registers('d', nd)}, {registers('a', na)}, {registers('b', nb)}, {registers('c', nc)};")
    lines.append("  ld.param.u64 %p, [out];")
    lines.append(f"  wmma.store.d.sync.aligned.{lc}.{shape}{space}.{td} [%p], {registers('d', nd)}, {sc};")
    lines += ["  ret;", "}"]
    save("wmma", f"{shape}_{t}_{tc}" + (f"_{td}" if td != tc else "") + f"_{la}_{lb}_{lc}", lines)


for m, n in ((16, 16), (32, 8), (8, 32)):
    wmma(m, n, 16, "f16", "f32", "f32", "row", "col", "row")
    wmma(m, n, 16, "f16", "f16", "f16", "col", "row", "col")
    wmma(m, n, 16, "bf16", "f32", "f32", "row", "row", "row")
    wmma(m, n, 16, "s8", "s32", "s32", "row", "col", "row")
wmma(16, 16, 16, "f16", "f32", "f16", "col", "col", "row")
wmma(16, 16, 16, "f16", "f16", "f32", "row", "row", "col")
wmma(16, 16, 16, "u8", "s32", "s32", "col", "row", "col")
wmma(16, 16, 8, "tf32", "f32", "f32", "row", "col", "row")
wmma(16, 16, 8, "tf32", "f32", "f32", "col", "row", "col")
wmma(8, 8, 4, "f64", "f64", "f64", "row", "col", "row")
wmma(8, 8, 4, "f64", "f64", "f64", "col", "row", "col")

# ---- ldmatrix, stmatrix, movmatrix ----


def ldmatrix(count, trans):
    data = np.arange(64 * count).reshape(count, 8, 8)
    out = []
    for lane in range(32):
        for j in range(count):
            m = data[j].T if trans else data[j]
            out.append(int(m[lane // 4, lane % 4 * 2]) | int(m[lane // 4, lane % 4 * 2 + 1]) << 16)
    dot = ".trans" if trans else ""
    op = f"ldmatrix.sync.aligned.m8n8.x{count}{dot}.shared.b16"
    lines = [f"// {op}: lane i gives the address of row i; rows lie 48 bytes apart"]
    lines.append(f"// RUN: %kernelsmith launch %s --block 32 --hex --arg out:b32[{32 * count}]")
    lines.append("// OUT:")
    lines += show("out", "f32", out)
    lines += ["// ERR:", HEADER.format(target="sm_90"), ".shared .align 16 .b8 rows[1536];", "",
              ".visible .entry test(.param .u64 out)", "{", "  .reg .b32 %lane, %row, %x, %v, %col;", "  .reg .b64 %at, %base;",
              f"  .reg .b32 %d<{count}>;", "  .reg .b16 %h;", "  .reg .pred %p;", "  mov.u32 %lane, %laneid;", "  mov.u32 %row, rows;",
              "  mad.lo.u32 %row, %lane, 48, %row;"]
    # Row i holds 8 i, 8 i + 1 ...; lanes beyond the matrices point nowhere, as PTX allows.
    lines += ["  shl.b32 %x, %lane, 3;"]
    for j in range(8):
        lines += [f"  add.u32 %v, %x, {j};", "  cvt.u16.u32 %h, %v;", f"  st.shared.u16 [%row+{2 * j}], %h;"]
    lines += ["  bar.warp.sync 0xffffffff;"]
    if count < 4:
        lines += [f"  setp.ge.u32 %p, %lane, {8 * count};", "  @%p mov.u32 %row, rows;"]
    lines += [f"  {op} {registers('d', count)}, [%row];", "  ld.param.u64 %base, [out];",
              f"  mad.wide.u32 %at, %lane, {4 * count}, %base;"]
    lines += [f"  st.global.b32 [%at+{4 * j}], %d{j};" for j in range(count)]
    lines += ["  ret;", "}"]
    save("matrix", f"ldmatrix_x{count}{'_trans' if trans else ''}", lines)


def stmatrix(count, trans):
    """Lane l stores 100 l + 2 j and 100 l + 2 j + 1 for matrix j; the rows are printed as they lie."""
    rows = np.zeros((8 * count, 8), dtype=np.int64)
    for lane in range(32):
        for j in range(count):
            for e in range(2):
                r, c = lane // 4, lane % 4 * 2 + e
                if trans:
                    r, c = c, r
                rows[8 * j + r, c] = 100 * lane + 2 * j + e
    out = rows.reshape(-1)
    dot = ".trans" if trans else ""
    op = f"stmatrix.sync.aligned.m8n8.x{count}{dot}.shared.b16"
    lines = [f"// {op}", f"// RUN: %kernelsmith launch %s --block 32 --arg out:u16[{64 * count}]", "// OUT:"]
    for start in range(0, len(out), 16):
        lines.append(f"// | out[{start}] = {' '.join(str(int(v)) for v in out[start:start + 16])}")
    lines += ["// ERR:", HEADER.format(target="sm_90"), f".shared .align 16 .b8 rows[512];", "",
              ".visible .entry test(.param .u64 out)", "{", "  .reg .b32 %lane, %row, %x, %y;", "  .reg .b64 %at, %base;",
              "  .reg .b32 %q<4>;", f"  .reg .b32 %d<{count}>;", "  .reg .pred %p;", "  mov.u32 %lane, %laneid;", "  mov.u32 %row, rows;",
              "  mad.lo.u32 %row, %lane, 16, %row;"]
    for j in range(count):
        lines += [f"  mad.lo.u32 %x, %lane, 100, {2 * j};", "  add.u32 %y, %x, 1;", "  shl.b32 %y, %y, 16;", f"  or.b32 %d{j}, %x, %y;"]
    lines += [f"  {op} [%row], {registers('d', count)};", "  bar.warp.sync 0xffffffff;", f"  setp.ge.u32 %p, %lane, {8 * count};", "  @%p ret;",
              "  ld.shared.v4.u32 {%q0, %q1, %q2, %q3}, [%row];", "  ld.param.u64 %base, [out];", "  mad.wide.u32 %at, %lane, 16, %base;",
              "  st.global.v4.u32 [%at], {%q0, %q1, %q2, %q3};", "  ret;", "}"]
    save("matrix", f"stmatrix_x{count}{'_trans' if trans else ''}", lines)


for count in (1, 2, 4):
    for trans in (False, True):
        ldmatrix(count, trans)
        stmatrix(count, trans)
matrix = np.arange(64).reshape(8, 8)
out = [int(matrix.T[lane // 4, lane % 4 * 2]) | int(matrix.T[lane // 4, lane % 4 * 2 + 1]) << 16 for lane in range(32)]
save("matrix", "movmatrix", ["// movmatrix transposes an 8 x 8 matrix held by a warp",
                             "// RUN: %kernelsmith launch %s --block 32 --hex --arg out:b32[32]", "// OUT:"] + show("out", "f32", out) +
     ["// ERR:", HEADER.format(target="sm_90"), ".visible .entry test(.param .u64 out)", "{", "  .reg .b32 %lane, %x, %y, %d;",
      "  .reg .b64 %at, %base;", "  mov.u32 %lane, %laneid;", "  shl.b32 %x, %lane, 1;", "  add.u32 %y, %x, 1;", "  shl.b32 %y, %y, 16;",
      "  or.b32 %x, %x, %y;", "  movmatrix.sync.aligned.m8n8.trans.b16 %d, %x;", "  ld.param.u64 %base, [out];",
      "  mad.wide.u32 %at, %lane, 4, %base;", "  st.global.b32 [%at], %d;", "  ret;", "}"])
