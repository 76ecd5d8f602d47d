"""Writes PTX tests: each case is an instruction applied lane by lane to listed operands, and the
result that a reference written here expects. The operands stand in global arrays of the file itself."""

import os

HEADER = """.version 8.8
.target {target}
.address_size 64
"""
BITS = {
    "u8": 8, "s8": 8, "b8": 8, "u16": 16, "s16": 16, "b16": 16, "u32": 32, "s32": 32, "b32": 32,
    "u64": 64, "s64": 64, "b64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64,
    "f16x2": 32, "bf16x2": 32, "pred": 32,
}


def wrap(type_name, x):
    """x as the type holds it, as a Python integer with its sign."""
    bits = BITS[type_name]
    x &= (1 << bits) - 1
    if type_name.startswith("s") and x >> (bits - 1):
        x -= 1 << bits
    return x


def unsigned(type_name, x):
    return x & ((1 << BITS[type_name]) - 1)


class Case:
    """text: PTX with $d, $a, $b, $c, $e for registers; `types` of d and the operands; `rows` of operand
    bits; `reference` maps operands (signed for signed types) to the result."""

    def __init__(self, name, text, d, types, rows, reference):
        self.name, self.text, self.d, self.types = name, text, d, types
        self.rows = [tuple(row) if isinstance(row, (tuple, list)) else (row,) for row in rows]
        self.reference = reference

    def expected(self):
        out = []
        for row in self.rows:
            operands = [wrap(t, x) for t, x in zip(self.types, row)]
            out.append(unsigned(self.d, self.reference(*operands)))
        return out


def register_bits(type_name):
    # 8-bit values live in 16-bit registers.
    return max(16, BITS[type_name])


def memory_type(type_name):
    if type_name in ("u8", "s8"):
        return type_name
    return f"b{BITS[type_name]}"


def print_type(type_name):
    return {"f16x2": "b32", "bf16x2": "b32", "pred": "u32"}.get(type_name, type_name)


def lines_of(name, type_name, values, hexadecimal):
    bits = BITS[type_name]
    texts = [f"{v:0{bits // 4}x}" if hexadecimal else str(wrap(type_name, v)) for v in values]
    lines = []
    for start in range(0, len(texts), 16):
        index = f"[{start}]" if len(texts) > 16 else ""
        lines.append(f"{name}{index} = {' '.join(texts[start:start + 16])}")
    return lines


def kernel(cases):
    variables, body, params = [], [], []
    for i, case in enumerate(cases):
        operands = "abce"[: len(case.types)]
        for letter, type_name, column in zip(operands, case.types, zip(*case.rows)):
            size = BITS[type_name]
            values = ", ".join(str(unsigned(type_name, x)) for x in column)
            variables.append(
                f".global .align 8 .u{size} {letter}{i}[{len(case.rows)}] = {{{values}}};")
        params.append(f"  .param .u64 out{i}")
        d_bits = register_bits(case.d)
        body.append(f"  // {case.name}")
        body.append("  {")
        body.append(f"    .reg .b{d_bits} %d;")
        body.append("    .reg .b64 %out, %in, %at;")
        body.append("    .reg .pred %in_range;")
        body.append(f"    setp.ge.u32 %in_range, %i, {len(case.rows)};")
        body.append(f"    @%in_range bra done{i};")
        for letter, type_name in zip(operands, case.types):
            body.append(f"    .reg .b{register_bits(type_name)} %{letter};")
            body.append(f"    mov.u64 %in, {letter}{i};")
            body.append(f"    mad.wide.u32 %at, %i, {BITS[type_name] // 8}, %in;")
            body.append(f"    ld.global.{memory_type(type_name)} %{letter}, [%at];")
        text = case.text
        for letter in "dabce":
            text = text.replace(f"${letter}", f"%{letter}")
        body.extend(f"    {line.strip()}" for line in text.strip().split("\n"))
        body.append(f"    ld.param.u64 %out, [out{i}];")
        body.append(f"    mad.wide.u32 %at, %i, {BITS[case.d] // 8}, %out;")
        body.append(f"    st.global.{memory_type(case.d)} [%at], %d;")
        body.append("  }")
        body.append(f"done{i}:")
    return variables, params, body


def write(folder, name, why, cases, target="sm_90", hexadecimal=None, declarations=()):
    """One test file. Floats are shown by their bits."""
    if hexadecimal is None:
        hexadecimal = any("f" in case.d for case in cases)
    threads = max(len(case.rows) for case in cases)
    arguments = " ".join(
        f"--arg {case.name}:{print_type(case.d)}[{len(case.rows)}]" for case in cases)
    out = [f"// {why}"]
    out.append(f"// RUN: %kernelsmith launch %s --block {threads}{' --hex' if hexadecimal else ''} {arguments}")
    out.append("// OUT:")
    for case in cases:
        out.extend(f"// | {line}" for line in lines_of(case.name, print_type(case.d), case.expected(), hexadecimal))
    out.append("// ERR:")
    variables, params, body = kernel(cases)
    out.append(HEADER.format(target=target))
    out.extend(declarations)
    out.extend(variables)
    out.append("")
    out.append(".visible .entry test(")
    out.append(",\n".join(params) + ")")
    out.append("{")
    out.append("  .reg .b32 %i;")
    out.append("  mov.u32 %i, %tid.x;")
    out.extend(body)
    out.append("  ret;")
    out.append("}")
    path = os.path.join(os.path.dirname(__file__), "..", folder)
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name + ".ptx"), "w") as file:
        file.write("\n".join(out) + "\n")
