"""Of two text tests that write files, only the one that fails leaves them.

    scratch_test.py KS_TEXT_TESTS
"""

import pathlib
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    tests = folder / "tests"
    tests.mkdir()
    (tests / "passes.test").write_text("# RUN: echo written > %t\n")
    (tests / "fails.test").write_text("# RUN: echo written > %t; false\n")
    done = subprocess.run(
        [sys.argv[1], "--root", tests, "--work", folder / "work", "--cache", folder / "cache", "--scratch", "mine", tests],
        capture_output=True, text=True)
    assert done.returncode == 1 and "1 passed, 1 failed" in done.stdout, done
    left = sorted(str(path.relative_to(folder / "work")) for path in (folder / "work").rglob("*") if path.is_file())
    assert left == ["mine/fails.test/t"], left
    assert str(folder / "work" / "mine" / "fails.test") in done.stdout, done.stdout
