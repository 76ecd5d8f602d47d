#!/usr/bin/env python3
"""What a verdict costs in processor time: p50, p95 and maximum over the bundled kernels, cold and warm, and by stage.

    bench/verdict_time.py                                # all of kernels/
    bench/verdict_time.py --every 6                      # a sample: every sixth
    bench/verdict_time.py --every 6 --beside OLD         # the same kernels by another build of the program, in turns
    bench/verdict_time.py --warm CACHE --only 'gelu|conv'  # what is in this cache, warm alone
    bench/verdict_time.py --task FILE ... --candidate FILE ...   # other pairs

Cold: nothing of the task or the candidate is in the cache, so PyTorch starts and the compilers run. Warm: the same
verdict again on the same day, with other secret data: what is left is the judge's own. Both count the program and all its
children; wall-clock time is not looked at, as other work changes it."""
import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parent.parent
# The upper half stays for a day and decides what PyTorch is asked; the lower half is of one run.
DAY = 10 << 32


def pairs_of(arguments):
    if arguments.task:
        return list(zip(arguments.task, arguments.candidate, [[]] * len(arguments.task)))
    pairs = []
    matches = lambda file: re.search(arguments.only, f"{file.parent.name}/{file.name}")  # noqa: E731
    for file in filter(matches, sorted(PROJECT.glob("kernels/*/*.cu"))):
        head = file.open().readline().split(":")[0]
        options = ["--backward"] if head.startswith("// Backward") else []
        dtypes = head.split("ward", 1)[1].replace(",", " ").split() or ["float32"]
        pairs.append((file.parent.name, str(file), options + ["--dtype", dtypes[0]]))
    return pairs[arguments.first::arguments.every]


def verdict(program, pair, seed, cache):
    """The report of one verdict, with the processor time of all of it."""
    task, candidate, options = pair
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([program, "verify", task, candidate, *options, "--seed", str(seed), "--report", report.name, "--quiet"],
                       env={**os.environ, "KERNELSMITH_CACHE": cache}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            result = json.load(open(report.name))
        except ValueError:
            return None
    result["all_seconds"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, round(share * (len(values) - 1)))]


def summary(values):
    return f"p50 {quantile(values, 0.5):6.1f} s   p95 {quantile(values, 0.95):6.1f} s   max {max(values):6.1f} s"


def forget(cache):
    """Only what the compilers make once on a machine stays: precompiled headers and a library."""
    shutil.rmtree(cache / "tasks", ignore_errors=True)
    for entry in (cache / "candidates").glob("*"):
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)


def measure(program, pair, number, cache, arguments):
    """Cold and warm; the first one is nothing if only warm verdicts are asked for."""
    if arguments.warm:
        return None, verdict(program, pair, DAY + number, arguments.warm)
    forget(cache)
    return [verdict(program, pair, DAY + 2 * number + i, str(cache)) for i in (1, 2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelsmith", default=str(PROJECT / "build" / "kernelsmith"))
    parser.add_argument("--beside", help="another build of the program")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first kernel of the sample")
    parser.add_argument("--only", default="", help="kernels whose name matches this expression")
    parser.add_argument("--warm", help="a cache that has verdicts of the same day by this command; cold ones are left out")
    parser.add_argument("--task", nargs="*", default=[])
    parser.add_argument("--candidate", nargs="*", default=[])
    arguments = parser.parse_args()
    programs = [arguments.kernelsmith] + ([arguments.beside] if arguments.beside else [])
    times = {program: ([], []) for program in programs}
    stages = {}
    verdicts = {}
    caches = {program: pathlib.Path(tempfile.mkdtemp(prefix="verdict_time_")) for program in programs}
    for program in programs if not arguments.warm else []:  # makes what stays of the compilers
        verdict(program, pairs_of(arguments)[0], DAY, str(caches[program]))
    for number, pair in enumerate(pairs_of(arguments), 1):
        line = []
        for program in programs:
            results = measure(program, pair, number, caches[program], arguments)
            warm = results[1]
            if warm is None:
                line.append("no report")
                continue
            for into, name, result in zip(times[program], ("cold", "warm"), results):
                if result is not None:
                    into.append(result["all_seconds"])
                    line.append(f"{name} {result['all_seconds']:6.1f}")
            line[-1] += f" {warm['verdict']}"
            if program == programs[0]:
                verdicts[warm["verdict"]] = verdicts.get(warm["verdict"], 0) + 1
                for stage in warm["stages"]:
                    stages.setdefault(stage["name"], []).append(stage.get("processor_seconds", float("nan")))
        print("   ".join(line), f"  {pathlib.Path(pair[1]).parent.name}/{pathlib.Path(pair[1]).name}", flush=True)
    for program in programs:
        for name, values in zip(("cold", "warm"), times[program]):
            if values:
                print(f"{program}, {len(values)} kernels, {name}: {summary(values)}")
    if len(programs) == 2:
        for name, i in (("cold", 0), ("warm", 1)):
            if not times[programs[0]][i]:
                continue
            new, old = (quantile(times[program][i], 0.5) for program in programs)
            print(f"p50 {name} over p50 of the other build: {new / old:.2f}")
    print("processor seconds of the stages, warm:")
    for name, values in stages.items():
        print(f"  {name:<14} {summary(values)}")
    print("verdicts:", ", ".join(f"{count} {name}" for name, count in sorted(verdicts.items())))
    for cache in caches.values():
        shutil.rmtree(cache, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
