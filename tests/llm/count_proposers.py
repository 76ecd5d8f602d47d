"""Who made the candidates of an archive, and what became of them: for optimize.test."""
import sqlite3
import sys

archive = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
rows = archive.execute("SELECT proposer, verdict, time_ns, prompt, answer FROM candidate").fetchall()
model = [row for row in rows if row[0] == "llm"]
print("a model's candidate was timed:", any(row[2] for row in model))
print("a model's wrong candidate was refuted:", any(row[1] == "refuted" for row in model))
print("built-in ones beside them:", any(row[0] not in ("llm", "initial") for row in rows))
print("questions and answers kept:", all(row[3] and row[4] for row in model))
