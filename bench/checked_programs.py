#!/usr/bin/env python3
"""What `kernelsmith sanitize ./program` costs: processor time of checked runs over that of plain ones.

    bench/checked_programs.py [--build BUILD] [--samples CUDA_SAMPLES] [--compare] [NAME ...]

Programs are those of tests/programs that the tests have built and, with --samples, some of a checkout
of NVIDIA's cuda-samples, which are built here. Processor time of all threads and of start-up; the
least of --times runs counts. --compare looks whether `--full`, which leaves the screen out, finds the
same.
"""

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Programs of different kinds; those of tests/programs are small and check themselves.
PROGRAMS = """vector_add saxpy transpose histogram reduce_tree reduce_shuffle scan_block matmul_tiled
softmax layernorm conv2d activations stencil nbody black_scholes mandelbrot_life fft bitonic_sort
merge_sort spmv""".split()
# Paths below Samples/, with arguments.
SAMPLES = {
    "0_Introduction/vectorAdd": [],
    "0_Introduction/matrixMul": [],
    "0_Introduction/simpleStreams": [],
    "0_Introduction/asyncAPI": [],
    "0_Introduction/simpleAtomicIntrinsics": [],
    "0_Introduction/simpleTemplates": [],
    "0_Introduction/simpleVoteIntrinsics": [],
    "0_Introduction/simpleZeroCopy": [],
    "0_Introduction/mergeSort": [],
    "2_Concepts_and_Techniques/reduction": ["--n=1048576"],
    "2_Concepts_and_Techniques/scan": [],
    "2_Concepts_and_Techniques/scalarProd": [],
    "2_Concepts_and_Techniques/sortingNetworks": [],
    "2_Concepts_and_Techniques/histogram": [],
    "2_Concepts_and_Techniques/threadFenceReduction": ["--n=65536"],
    "2_Concepts_and_Techniques/shfl_scan": [],
    "3_CUDA_Features/simpleCudaGraphs": [],
    "5_Domain_Specific/BlackScholes": [],
    "5_Domain_Specific/fastWalshTransform": [],
    "5_Domain_Specific/dwtHaar1D": [],
    "5_Domain_Specific/binomialOptions": [],
    "6_Performance/transpose": [],
    "6_Performance/alignedTypes": [],
}


def processor_seconds(command, folder, limit):
    """(seconds of all threads, exit code, output)"""
    with tempfile.TemporaryFile("w+") as out:
        # A limit of processor time: a busy machine must not change the answer.
        limited = ["sh", "-c", f'ulimit -t {limit}; exec "$@"', "sh"] + command
        child = subprocess.Popen(limited, cwd=folder, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return usage.ru_utime + usage.ru_stime, child.returncode, out.read()


def built_programs(build):
    found = {}
    for source in sorted((ROOT / "tests/programs").rglob("*.cu")):
        made = sorted(
            (path for path in (build / "test_caches/nvcc").glob(source.stem + "-*")
             if path.is_file() and os.access(path, os.X_OK)),
            key=lambda path: path.stat().st_mtime,
        )
        if made:
            found[source.stem] = ([str(made[-1])], str(ROOT))
    return found


def built_samples(checkout, build):
    """Builds the samples with the project's own nvcc; those that can't be built are left out."""
    nvcc = ROOT / ".venv/cuda/bin/nvcc"
    if not nvcc.exists():
        nvcc = "nvcc"
    target = build / "bench_samples"
    target.mkdir(parents=True, exist_ok=True)
    found = {}
    for sample, arguments in SAMPLES.items():
        folder = checkout / "Samples" / sample
        program = target / folder.name
        sources = sorted(str(path) for path in folder.glob("*") if path.suffix in (".cu", ".cpp"))
        if not program.exists() and sources:
            command = [
                str(nvcc), "-O2", "-lineinfo", "-std=c++17", "-cudart", "shared", "-gencode",
                "arch=compute_90,code=compute_90", "-I", str(checkout / "Common"), "-o", str(program),
            ]
            made = subprocess.run(command + sources, capture_output=True, text=True, check=False)
            if made.returncode != 0:
                print(f"not built: {sample}: {made.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        if program.exists():
            found[folder.name] = ([str(program)] + arguments, str(folder))
    return found


def findings_of(report):
    try:
        found = json.loads(report[report.index("{"):])["findings"]
    except (ValueError, KeyError):
        return None
    # Addresses are drawn anew in each process.
    return sorted(
        (f["kind"], f["severity"], f.get("line"), re.sub(r"0x[0-9a-f]+", "0x", f["message"]))
        for f in found
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--samples", type=pathlib.Path)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--all", action="store_true", help="every program of tests/programs")
    parser.add_argument("--times", type=int, default=2, help="runs of each; the least counts")
    parser.add_argument("--limit", type=int, default=600, help="seconds of processor time a run")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.build = options.build.resolve()
    programs = built_programs(options.build)
    if not options.all and not options.names:
        programs = {name: programs[name] for name in PROGRAMS if name in programs}
    if options.samples:
        # Then only as many of ours as are missing to 20.
        samples = built_samples(options.samples.resolve(), options.build)
        rest = max(0, 20 - len(samples)) if not options.names else len(programs)
        programs = samples | dict(list(programs.items())[:rest])
    if options.names:
        for name in set(options.names) - set(programs):
            print(f"there is no program {name}", file=sys.stderr)
        programs = {name: programs[name] for name in options.names if name in programs}
    kernelsmith = str(options.build / "kernelsmith")
    logarithms = []
    different = 0
    print(f"{'program':28} {'plain s':>8} {'checked s':>9} {'ratio':>7}")
    for name, (command, folder) in programs.items():
        def least(prefix):
            runs = [processor_seconds(prefix + command, folder, options.limit)
                    for _ in range(options.times)]
            return min(run[0] for run in runs), runs[-1][1], runs[-1][2]

        plain, plain_code, _ = least([kernelsmith, "run"])
        if plain_code != 0:
            print(f"{name:28} left out: it exits with {plain_code} by itself")
            continue
        checked, checked_code, report = least([kernelsmith, "sanitize", "--json"])
        findings = findings_of(report)
        if findings is None:
            print(f"{name:28} no report: exit code {checked_code} after {checked:.1f} s")
            different += 1
            continue
        note = f"{len(findings)} findings" if findings else ""
        if options.compare:
            _, _, full = processor_seconds(
                [kernelsmith, "sanitize", "--json", "--full"] + command, folder, options.limit)
            if findings_of(full) != findings:
                different += 1
                note += f" other findings with --full: {findings_of(full)} but {findings}"
        logarithms.append(math.log(checked / plain))
        print(f"{name:28} {plain:8.2f} {checked:9.2f} {checked / plain:7.2f} {note}", flush=True)
    if logarithms:
        mean = math.exp(sum(logarithms) / len(logarithms))
        print(f"geometric mean of {len(logarithms)} programs: {mean:.2f}")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
