#!/usr/bin/env python3
"""Judges kernels that others have published beside their PyTorch references, which nobody here has written or chosen.

    bench/public_kernels.py FOLDER [--output build/public_kernels] [--every N] [--first M] [--only WORD] [--report]

FOLDER holds copies of public repositories, with their files or as bare git repositories. Pairs of a task and a candidate
are found by their layout:
  robust-kbench            highlighted/TASK/{forward,backward}/kernel.cu with tasks/TASK
  a KernelBench leader board  docs/assets/data.json with problems/ and solutions/ (ModelNew and load_inline)
  CUDA-L1                  optimized_cuda_code/*.json, lines with ref_code and custom_code (the same form)
Solutions in Python become .cu files by bench/public_kernels_convert.py, which runs their Python without a network.

Every pair is a folder of --output: task, candidate.cu and report.json. What is judged is not judged again, so the command can
be killed and repeated; --report prints the table of what there is. Nothing of others is kept elsewhere."""
import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parent.parent
CONVERT = PROJECT / "bench" / "public_kernels_convert.py"
# A verdict takes seconds to minutes; this is for one that hangs.
MOST_SECONDS = 1200


def checked_out(folder, output):
    """The folders of the repositories; bare ones are unpacked beside the results."""
    for git in sorted({path.parent for path in folder.glob("**/HEAD") if (path.parent / "objects").is_dir()}):
        if git.name == ".git":
            continue
        name = git.parent.name if git.name == "repo" else git.name
        tree = output / "sources" / name
        if not tree.exists():
            tree.mkdir(parents=True)
            archive = subprocess.Popen(["git", "--git-dir", str(git), "archive", "HEAD"], stdout=subprocess.PIPE)
            subprocess.run(["tar", "x", "-C", str(tree)], stdin=archive.stdout, check=True)
        yield tree
    yield folder
    yield from (each for each in sorted(folder.iterdir()) if each.is_dir())


def find_robust_kbench(tree):
    for kernel in sorted(tree.glob("highlighted/*/*ward/kernel.cu")):
        direction, name = kernel.parent.name, kernel.parent.parent.name
        task = next((path for path in sorted(tree.glob(f"tasks/**/{name}")) if (path / "func_forward.py").exists()), None)
        if task:
            yield {"name": f"robust_{name}_{direction}", "task": task, "cuda": kernel,
                   "options": ["--backward"] if direction == "backward" else []}


def find_leader_board(tree):
    index = tree / "docs" / "assets" / "data.json"
    if not index.exists():
        return
    for problem, solutions in json.loads(index.read_text()).items():
        match = re.match(r"Level (\d): (\d+)_(.*)", problem)
        task = index.parent / "problems" / f"l{match[1]}_p{match[2]}.py"
        for solution in solutions:
            yield {"name": f"board_l{match[1]}_{int(match[2]):03}_{plain(match[3])}_{plain(solution['display_name'])}",
                   "task": task, "python": index.parent / "solutions" / f"{solution['file']}.py", "options": []}


def find_cuda_l1(tree):
    for file in sorted(tree.glob("optimized_cuda_code/*.json")):
        for line in file.read_text().splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if "load_inline" in (row.get("custom_code") or ""):
                yield {"name": f"l1_{file.stem}_l{row['level_id']}_{row['task_id']:03}", "task_text": row["ref_code"],
                       "python_text": row["custom_code"], "options": []}


def plain(text):
    return re.sub(r"\W+", "_", text).strip("_")[:40]


FINDERS = [find_robust_kbench, find_leader_board, find_cuda_l1]


def prepare(pair, output):
    """The pair's folder, with its task and, if it needs no conversion, its candidate."""
    folder = output / "pairs" / pair["name"]
    folder.mkdir(parents=True, exist_ok=True)
    if "cuda" in pair:
        shutil.copyfile(pair["cuda"], folder / "candidate.cu")
        if not (folder / "task").exists():
            shutil.copytree(pair["task"], folder / "task", ignore=shutil.ignore_patterns("eval_results", "__pycache__"))
        return folder, folder / "task"
    task, solution = folder / "task.py", folder / "solution.py"
    task.write_text(pair["task_text"] if "task_text" in pair else pair["task"].read_text())
    solution.write_text(pair["python_text"] if "python_text" in pair else pair["python"].read_text())
    return folder, task


def convert(folders):
    """Solutions in Python that have no answer yet, all in one process that has PyTorch."""
    todo = [folder for folder in folders if (folder / "solution.py").exists() and not (folder / "conversion").exists()]
    if not todo:
        return
    python = PROJECT / ".venv" / "bin" / "python"
    process = subprocess.Popen(["unshare", "--map-root-user", "--net", str(python), str(CONVERT)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for number, folder in enumerate(todo, 1):
        process.stdin.write("\t".join(str(folder / name) for name in ("task.py", "solution.py", "candidate.cu")) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline().strip() or "its Python ends the process"
        (folder / "conversion").write_text(answer)
        print(f"# {number}/{len(todo)} {folder.name}: {answer}", flush=True)
    process.stdin.close()
    process.wait()


def judge(folder, task, options, arguments):
    report = folder / "report.json"
    if report.exists():
        return
    command = [arguments.kernelsmith, "verify", str(task), str(folder / "candidate.cu"), *options, "--report",
               str(folder / "making.json"), "--quiet", "--seed", str(arguments.seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS)
        text = (done.stdout + done.stderr).strip()
    except subprocess.TimeoutExpired:
        text = f"no verdict in {MOST_SECONDS} seconds"
    if (folder / "making.json").exists():
        (folder / "making.json").rename(report)
    else:
        report.write_text(json.dumps({"verdict": "no report", "findings": [], "text": text[-600:]}))


def deciding(result):
    """The finding that made the verdict what it is."""
    for finding in result["findings"]:
        if finding.get("weight") == "decides":
            return f"{finding['kind']}: {finding['message']}"
    return result.get("text", "")


def table(rows):
    counts = collections.Counter()
    reasons = collections.defaultdict(list)
    seconds = []
    for name, result in rows:
        counts[result["verdict"]] += 1
        if "processor_seconds" in result:
            seconds.append((result["processor_seconds"], name))
        if result["verdict"] != "verified":
            reasons[result["verdict"]].append((name, " ".join(deciding(result).split())))
    for verdict, entries in sorted(reasons.items()):
        print(f"\n{verdict}:")
        for name, reason in sorted(entries, key=lambda entry: entry[1]):
            print(f"  {name}\n      {reason[:400]}")
    print("\n" + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()), f"of {len(rows)}")
    if seconds:
        seconds.sort()
        print(f"processor time of a verdict: p50 {seconds[len(seconds) // 2][0]:.1f} s, "
              f"p95 {seconds[int(0.95 * (len(seconds) - 1))][0]:.1f} s, max {seconds[-1][0]:.1f} s ({seconds[-1][1]})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, default=PROJECT / "build" / "public_kernels")
    parser.add_argument("--kernelsmith", default=str(PROJECT / "build" / "kernelsmith"))
    parser.add_argument("--every", type=int, default=1, help="every Nth pair")
    parser.add_argument("--first", type=int, default=0, help="number of the first pair of the sample")
    parser.add_argument("--only", default="", help="pairs whose name matches this expression")
    parser.add_argument("--seed", type=int, default=(20 << 32) + 1)
    parser.add_argument("--report", action="store_true", help="judge nothing, print the table")
    arguments = parser.parse_args()
    output = arguments.output.resolve()
    pairs = {}
    for tree in checked_out(arguments.folder.resolve(), output):
        for finder in FINDERS:
            for pair in finder(tree):
                if re.search(arguments.only, pair["name"]):
                    pairs.setdefault(pair["name"], pair)
    chosen = [pairs[name] for name in sorted(pairs)][arguments.first::arguments.every]
    prepared = [(pair, *prepare(pair, output)) for pair in chosen]
    if not arguments.report:
        convert([folder for _, folder, _ in prepared])
    rows, not_converted = [], collections.Counter()
    for pair, folder, task in prepared:
        conversion = folder / "conversion"
        if conversion.exists() and conversion.read_text() != "converted":
            not_converted[conversion.read_text()[:70]] += 1
            continue
        if not arguments.report and (folder / "candidate.cu").exists():
            judge(folder, task, pair["options"], arguments)
        if (folder / "report.json").exists():
            rows.append((pair["name"], json.loads((folder / "report.json").read_text())))
            if not arguments.report:
                print(f"{rows[-1][1]['verdict']:<13} {rows[-1][1].get('processor_seconds', 0):6.1f} s  {pair['name']}", flush=True)
    table(rows)
    if not_converted:
        print(f"\n{sum(not_converted.values())} solutions whose Python does more than call CUDA functions:")
        for reason, count in not_converted.most_common():
            print(f"  {count:4} {reason}")


if __name__ == "__main__":
    sys.exit(main())
