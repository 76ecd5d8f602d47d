"""Compares a JSON profile of known_counts.cu with counts worked out by hand."""

import json
import sys

launches = {}
for launch in json.load(open(sys.argv[1], encoding="utf-8"))["launches"]:
    launches.setdefault(launch["kernel"], launch)
failures = []


def expect(kernel, field, value):
    launch = next((launch for name, launch in launches.items() if kernel in name), None)
    found = None if launch is None else launch.get(field, launch["derived"].get(field))
    if found != value:
        failures.append(f"{kernel} {field}: {found}, not {value}")


expect("3add", "global_loads", 512)
expect("3add", "sectors_per_load", 4)
expect("3add", "global_store_sectors", 256 * 4)
expect("3add", "unique_bytes", 3 * 8192 * 4)
expect("3add", "dram_read_bytes", 2 * 8192 * 4)
expect("3add", "flops", 8192)
expect("3add", "watched_blocks", 32)
expect("6column", "sectors_per_load", 32)
expect("10misaligned", "sectors_per_load", 5)
expect("4wide", "sectors_per_load", 16)
expect("4wide", "sectors_per_store", 16)
# 32 rows are stored in one pass each; a column takes 32, or 1 when it is padded.
expect("Li32E", "shared_wavefronts", 32 + 32 * 32)
expect("Li32E", "shared_worst_way", 32)
expect("Li33E", "shared_wavefronts", 64)
expect("Li33E", "bank_conflict_factor", 1)
expect("Li33E", "barriers", 32)
expect("6matmul", "flops", 2 * 64**3)
expect("6matmul", "unique_bytes", 3 * 64 * 64 * 4)
# Two loads a thread in each of four steps.
expect("6matmul", "global_load_bytes", 16 * 256 * 4 * 2 * 4)
for launch in launches.values():
    if not launch["registers_from_ptxas"]:
        failures.append(f"{launch['kernel']}: registers are estimated")
if failures:
    sys.exit("\n".join(failures))
