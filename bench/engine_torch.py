# PyTorch's CPU speed for ks_engine_bench: seconds of an addition of COUNT floats, of the row sums of a
# ROWS x COLUMNS matrix and of a product of SIDE x SIDE floats (its BLAS), the best of several, as one
# line of JSON.
#   engine_torch.py COUNT ROWS COLUMNS SIDE THREADS
import json
import sys
import time

import torch

count, rows, columns, side, threads = (int(word) for word in sys.argv[1:])
torch.set_num_threads(threads)
# On one thread the processor's time, as in ks_engine_bench.
now = time.process_time if threads == 1 else time.perf_counter


def best(run):
    times = []
    deadline = time.perf_counter() + 2.0
    while len(times) < 5 or (time.perf_counter() < deadline and len(times) < 100):
        begin = now()
        run()
        times.append(now() - begin)
    return min(times)


a = torch.arange(count, dtype=torch.float32).remainder_(97)
b = torch.arange(count, dtype=torch.float32).remainder_(61)
out = torch.empty_like(a)
add = best(lambda: torch.add(a, b, out=out))
assert out[5000 % count] == (5000 % count) % 97 + (5000 % count) % 61
matrix = torch.ones(rows, columns)
sums = torch.empty(rows)
total = best(lambda: torch.sum(matrix, 1, out=sums))
assert bool((sums == columns).all())
left = torch.full((side, side), 0.5)
product = torch.empty(side, side)
gemm = best(lambda: torch.mm(left, left, out=product))
assert bool((product == side / 4).all())
print(json.dumps({"vector_add": add, "row_sum": total, "sgemm": gemm, "version": torch.__version__}))
