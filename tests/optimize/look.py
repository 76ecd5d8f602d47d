"""Checks what `kernelsmith optimize` left in a folder, and prints what does not change from run to run."""
import json
import pathlib
import re
import sys

folder = pathlib.Path(sys.argv[1])
result = json.loads((folder / "result.json").read_text())
assert result["kind"] == "estimated"
assert result["best"]["us"] <= result["first"]["us"], result
assert result["best"]["us"] >= result["floor_us"], "faster than its bytes and flops allow"
assert sum(result["verdicts"].values()) == result["candidates"]
assert result["lineage"][-1]["number"] == result["best"]["number"]
assert result["why"]["reasons"] and result["why"]["counters"]
source = (folder / "forward.cu").read_text()
assert "PYBIND11_MODULE" in source and "__global__" in source
compile((folder / "module.py").read_text(), "module.py", "exec")
page = (folder / "report.html").read_text()
assert page.count("<svg ") == 3 and "prefers-color-scheme" in page
assert not re.search(r"(https?:|src=|url\(|@import)", page), "the page needs other files"
print("candidates", result["candidates"], "ended by", result["ended_by"])
confirmed = result["confirmed"]
print("confirmed", confirmed["verdict"] if isinstance(confirmed, dict) else confirmed)
