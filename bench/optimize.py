#!/usr/bin/env python3
"""The figures of `kernelsmith optimize` (docs/results.md): how much faster than the first translation, than PyTorch's eager
mode (estimated), how far above the bytes and flops that a task needs; and evolution beside random search at the same budget.

    bench/optimize.py improve --output build/optimize_bench            # 12 tasks, 60 candidates each
    bench/optimize.py versus --output build/optimize_bench             # 6 tasks, 3 seeds, both searches
    bench/optimize.py improve --output build/optimize_bench --report   # only the table of what there is

Every run is a folder of its own there. What is finished is not done again and what was cut short goes on, so the
command can be killed and repeated. "cpu s" is processor time a candidate, all of the command and its children in it
(two cores do 120 over it a minute when nothing else runs)."""
import argparse
import json
import math
import pathlib
import resource
import subprocess
import sys
import time

# Those whose timed shape costs the simulator least come first.
IMPROVE = ["layernorm", "linear_relu", "conv_relu_pool", "max_pool", "mse_loss", "linear", "cross_entropy", "softmax",
           "log_softmax", "matmul", "matmul_bias_gelu", "llama_rmsnorm"]
# Of these, those where there is something to find: max_pool is as fast as it gets from the start.
VERSUS = ["layernorm", "linear_relu", "conv_relu_pool", "mse_loss", "linear", "softmax"]
# Products and convolutions beside cuBLAS and cuDNN.
PLAIN = {"matmul", "linear", "batched_matmul", "conv1d", "unet_conv2d", "unet_linear", "depthwise_conv2d"}
# Where eager mode runs several operators, fusion can.
FUSIBLE = {"linear_relu", "conv_relu_pool", "cross_entropy", "matmul_bias_gelu", "llama_rmsnorm"}


def run(arguments, task, search, seed):
    """The result of one run, made or gone on with if it is not there."""
    folder = pathlib.Path(arguments.output) / f"{task}_{search}_{seed}"
    result = read(folder, arguments.candidates)
    if result or arguments.report:
        return result
    command = [arguments.kernelsmith, "optimize", task, "--candidates", str(arguments.candidates), "-q", "--json",
               "-o", str(folder), "--jobs", str(arguments.jobs)]
    if (folder / "archive.db").exists():
        command.append("--resume")
    else:
        command += ["--seed", str(seed), "--search", search]
    started = time.time()
    before = processor_seconds()
    done = subprocess.run(command, capture_output=True, text=True)
    note = folder / "processor_seconds"
    if folder.exists():  # of all sessions
        spent = float(note.read_text()) if note.exists() else 0
        note.write_text(str(spent + processor_seconds() - before))
    if done.returncode != 0:
        reason = done.stdout or done.stderr
        print(f"# {task} {search} {seed}: exit code {done.returncode}: {reason.strip()[:300]}", flush=True)
        return None
    result = read(folder, arguments.candidates)
    if result:
        print(f"# {task} {search} {seed}: {result['first']['us']:.2f} -> {result['best']['us']:.2f} us, "
              f"{time.time() - started:.0f} s", flush=True)
    return result


def processor_seconds():
    """Of all children that have ended, with theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def read(folder, candidates):
    try:
        result = json.loads((folder / "result.json").read_text())
    except (OSError, ValueError):
        return None
    note = folder / "processor_seconds"
    result["processor_seconds"] = float(note.read_text()) if note.exists() else float("nan")
    enough = result["candidates"] >= candidates or result["ended_by"] == "candidates"
    return result if enough else None


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def improve(arguments):
    rows = [(task, run(arguments, task, "evolution", arguments.seed)) for task in arguments.tasks or IMPROVE]
    print(f"{'task':<20} {'first us':>10} {'best us':>10} {'eager us':>10} {'floor us':>10} {'x first':>8} {'x eager':>8} "
          f"{'x floor':>8} {'cand.':>6} {'a minute':>8} {'cpu s':>6}")
    over_first, below_floor, slower = [], [], {"fusible": [], "plain": [], "one operator": []}
    for task, result in rows:
        if result is None:
            print(f"{task:<20} no result")
            continue
        first, best = result["first"]["us"], result["best"]["us"]
        over_first.append(first / best)
        if best < result["floor_us"]:
            below_floor.append(task)
        kind = "plain" if task in PLAIN else "fusible" if task in FUSIBLE else "one operator"
        if result["eager_us"] / best < (0.7 if kind == "plain" else 1.0):
            slower[kind].append(task)
        print(f"{task:<20} {first:>10.2f} {best:>10.2f} {result['eager_us']:>10.2f} {result['floor_us']:>10.2f} "
              f"{first / best:>8.2f} {result['eager_us'] / best:>8.2f} {best / result['floor_us']:>8.2f} "
              f"{result['candidates']:>6} {60 * result['candidates'] / result['seconds']:>8.1f} "
              f"{result['processor_seconds'] / result['candidates']:>6.1f}")
    print(f"speed over the first translation, geometric mean of {len(over_first)} tasks: {geometric_mean(over_first):.2f}")
    print(f"estimates below the task's own bytes and flops: {len(below_floor)} {' '.join(below_floor)}")
    for kind, what in (("fusible", "slower than estimated eager, several operators there"),
                       ("one operator", "slower than estimated eager, one operator there"),
                       ("plain", "slower than 0.7 of estimated eager, plain products and convolutions")):
        print(f"{what}: {len(slower[kind])} {' '.join(slower[kind])}")


def versus(arguments):
    won = counted = 0
    print(f"{'task':<20} {'seed':>4} {'evolution us':>13} {'random us':>13}")
    for task in arguments.tasks or VERSUS:
        pairs = []
        for seed in arguments.seeds:
            pair = [run(arguments, task, search, seed) for search in ("evolution", "random")]
            if None in pair:
                continue
            pairs.append([each["best"]["us"] for each in pair])
            print(f"{task:<20} {seed:>4} {pairs[-1][0]:>13.2f} {pairs[-1][1]:>13.2f}", flush=True)
        if not pairs:
            continue
        means = [geometric_mean([pair[i] for pair in pairs]) for i in (0, 1)]
        counted += 1
        won += means[0] < means[1]
        print(f"{task:<20} mean {means[0]:>13.2f} {means[1]:>13.2f}  "
              f"{'evolution' if means[0] < means[1] else 'random' if means[1] < means[0] else 'neither'} is ahead "
              f"by {abs(means[1] / means[0] - 1) * 100:.1f} %")
    print(f"evolution ahead on {won} of {counted} tasks")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["improve", "versus"])
    parser.add_argument("--kernelsmith", default="build/kernelsmith")
    parser.add_argument("--output", required=True)
    parser.add_argument("--tasks", nargs="*")
    parser.add_argument("--candidates", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--report", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    {"improve": improve, "versus": versus}[arguments.what](arguments)


if __name__ == "__main__":
    sys.exit(main())
