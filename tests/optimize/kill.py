"""kill.py SIGNAL FOLDER COMMAND...: sends the signal when the archive in FOLDER has its second candidate."""
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time

name, folder, command = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
with open(str(folder) + ".text", "w") as out:
    process = subprocess.Popen(command, stdout=out)


def candidates():
    try:
        with sqlite3.connect(f"file:{folder / 'archive.db'}?mode=ro", uri=True) as archive:
            return archive.execute("SELECT count(*) FROM candidate").fetchone()[0]
    except sqlite3.Error:
        return 0


deadline = time.time() + 500
while process.poll() is None and candidates() < 2:
    assert time.time() < deadline, "no candidates"
    time.sleep(0.05)
process.send_signal(getattr(signal, "SIG" + name))
code = process.wait(timeout=300)
done = candidates()
assert 2 <= done < 6, f"{done} candidates"
if name == "KILL":
    assert code == -signal.SIGKILL, code
    print("killed in the middle")
else:
    print("exit code", code)
