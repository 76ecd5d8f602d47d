"""Two runs decided the same, candidate by candidate."""
import json
import pathlib
import sqlite3
import sys

rows = []
for folder in map(pathlib.Path, sys.argv[1:3]):
    with sqlite3.connect(f"file:{folder / 'archive.db'}?mode=ro", uri=True) as archive:
        rows.append(archive.execute(
            "SELECT number, source_sha256, ptx_hash, verdict, stage, time_ns FROM candidate ORDER BY number").fetchall())
assert rows[0] == rows[1], rows
results = [json.loads((pathlib.Path(folder) / "result.json").read_text()) for folder in sys.argv[1:3]]
assert results[0]["fingerprint"] == results[1]["fingerprint"]
print("the same course")
