#!/usr/bin/env python3
"""NVIDIA's samples (github.com/NVIDIA/cuda-samples) under `kernelsmith run`: which of those that need only the CUDA runtime
pass, and why each other one does not (docs/results.md).

    bench/samples.py ../cuda-samples                       # builds what is not built, runs all
    bench/samples.py ../cuda-samples cdpQuadtree dct8x8    # these only
    bench/samples.py ../cuda-samples --list                # what counts as "only the runtime", and what the others need

A sample is built from the sources that its CMakeLists.txt names, by nvcc with -cudart shared and PTX in it. It runs in a folder
of links to its own files, so that what it writes stays in --build. It has --seconds of processor time, on whatever machine. How
a sample ends is its own verdict: 0 passed, 2 waived (it says that the machine lacks something, a second GPU for instance)."""
import argparse
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

WAIVED = 2       # EXIT_WAIVED of the samples' own headers
UNSUPPORTED = 3  # kernelsmith's
# A sample that sleeps or waits for ever uses no processor time: none in so many seconds is a hang.
IDLE_SECONDS = 120


def command_of(text, name):
    """The words between the parentheses of every call of a CMake command."""
    return [found.split() for found in re.findall(rf"\b{name}\s*\(([^)]*)\)", text)]


def seconds_of_session(session):
    """Processor time of the running processes of a session."""
    ticks = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Sample:
    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        text = re.sub(r"#.*", "", (folder / "CMakeLists.txt").read_text())
        targets = command_of(text, "add_executable")
        self.sources = [word for word in targets[0][1:] if "." in word] if targets else []
        self.separate = "CUDA_SEPARABLE_COMPILATION ON" in text
        self.openmp = "OpenMP" in text
        self.needs = sorted(self.find_needs(text, targets))

    def find_needs(self, text, targets):
        """What beside the CUDA runtime it is built with."""
        needs = {word.removeprefix("CUDA::") for word in re.findall(r"CUDA::\w+", text)} - {"cudart", "cudart_static"}
        needs |= {words[0] for words in command_of(text, "find_package") if words} - {"CUDAToolkit", "OpenMP", "Threads"}
        needs |= {words[0] for words in command_of(text, "find_library") if words}
        if not targets:
            needs.add("no program")
        if any(part in ("7_libNVVM", "Tegra") for part in self.folder.parts):
            needs.add("libNVVM" if "7_libNVVM" in self.folder.parts else "Tegra")
        if "D3D" in self.name:
            needs.add("Direct3D")
        return needs

    def build(self, options):
        """The program, or what the compiler says."""
        home = options.build / self.name
        home.mkdir(parents=True, exist_ok=True)
        for entry in self.folder.iterdir():
            link = home / entry.name
            if not link.exists() and not link.is_symlink():
                link.symlink_to(entry.resolve())
        program = home / f"{self.name}.program"
        if program.exists():
            return program, ""
        common = next(parent for parent in self.folder.parents if (parent / "Common").is_dir()) / "Common"
        command = [options.nvcc, "-std=c++17", "-O2", "-lineinfo", "--extended-lambda", "-cudart", "shared", "-gencode",
                   "arch=compute_90,code=compute_90", f"-I{common}", f"-I{self.folder}"]
        command += ["-rdc=true"] * self.separate + ["-Xcompiler", "-fopenmp"] * self.openmp
        command += [str(self.folder / source) for source in self.sources] + ["-o", str(program.resolve())]
        done = subprocess.run(command, capture_output=True, text=True)
        return (program, "") if done.returncode == 0 else (None, done.stderr + done.stdout)

    def run(self, program, options):
        """Exit code (negative: the signal), output, processor seconds."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (options.seconds, options.seconds + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        command = [str(options.kernelsmith.resolve()), "run", str(program.resolve())]
        with open(program.parent / "output.txt", "wb") as output:
            child = subprocess.Popen(command, cwd=program.parent, stdout=output, stderr=subprocess.STDOUT,
                                     stdin=subprocess.DEVNULL, preexec_fn=limit, start_new_session=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        used, since, code = 0, time.monotonic(), None
        while code is None:
            try:
                code = child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                now = seconds_of_session(child.pid)
                if now > used + 0.1:
                    used, since = now, time.monotonic()
                if time.monotonic() - since > IDLE_SECONDS:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
                    break
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return code, (program.parent / "output.txt").read_text(errors="replace"), seconds


def last_words(output):
    """The line that says best what went wrong: ours first, then the sample's own."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("kernelsmith: ")]
    wrong = [line for line in lines if re.search(r"error|fail|waiv|not support|mismatch", line, re.IGNORECASE)]
    return (ours or wrong or lines or [""])[0 if ours else -1][:160]


def judge(sample, options):
    """Verdict, reason, processor seconds."""
    program, message = sample.build(options)
    if program is None:
        errors = [line for line in message.splitlines() if "error" in line]
        return "not built", (errors or message.splitlines() or [""])[0][:160], 0
    code, output, seconds = sample.run(program, options)
    if code == 0:
        return "passed", "", seconds
    if code == WAIVED:
        return "waived", last_words(output), seconds
    if code is None:
        return "hangs", f"no processor time for {IDLE_SECONDS} s", seconds
    # `kernelsmith run` may pass a signal on as an exit code.
    if code in (-signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGKILL):
        return "too slow", f"more than {options.seconds} s of processor time", seconds
    if code == UNSUPPORTED or re.search(r"^kernelsmith: .*(not supported|unsupported)", output, re.MULTILINE):
        return "unsupported", last_words(output), seconds
    return "failed", f"exit code {code}: {last_words(output)}", seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=pathlib.Path, help="a checkout of the samples")
    parser.add_argument("names", nargs="*", help="samples; none: all")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/cuda_samples"))
    parser.add_argument("--kernelsmith", type=pathlib.Path, default=pathlib.Path("build/kernelsmith"))
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--seconds", type=int, default=300, help="of processor time for each (%(default)s)")
    parser.add_argument("--list", action="store_true", help="run nothing")
    options = parser.parse_args()
    folders = sorted(path.parent for path in options.samples.glob("Samples/*/**/CMakeLists.txt"))
    every = [Sample(folder) for folder in folders if command_of((folder / "CMakeLists.txt").read_text(), "project")]
    suitable = [sample for sample in every if not sample.needs]
    if options.list:
        for sample in every:
            print(f"{sample.name:32} {'runtime only' if not sample.needs else 'needs ' + ', '.join(sample.needs)}")
    unknown = set(options.names) - {sample.name for sample in suitable}
    if unknown:
        parser.error(f"no samples that need only the runtime: {', '.join(sorted(unknown))}")
    chosen = [] if options.list else [sample for sample in suitable if not options.names or sample.name in options.names]
    verdicts = {}
    for sample in chosen:
        began = time.monotonic()
        verdict, reason, seconds = judge(sample, options)
        verdicts[sample.name] = verdict
        print(f"{sample.name:32} {verdict:12} {seconds:7.1f} s cpu {time.monotonic() - began:7.1f} s  {reason}", flush=True)
    print(f"{len(suitable)} of {len(every)} samples need only the runtime")
    for verdict in sorted(set(verdicts.values())):
        names = [name for name, other in verdicts.items() if other == verdict]
        print(f"{len(names)} of {len(verdicts)} {verdict}" + ("" if verdict == "passed" else f": {', '.join(names)}"))


if __name__ == "__main__":
    sys.exit(main())
