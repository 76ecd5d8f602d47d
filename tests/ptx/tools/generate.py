"""Rewrites every generated test of tests/ptx: python tests/ptx/tools/generate.py

The files are committed; run this after changing a table here, then read the diff. A test whose expectation
changes without a reason in the ISA is a bug of the reference. Each generator seeds its own random numbers, so
the output is the same every time. `ptxas -arch=sm_90 -o /dev/null FILE` tells whether a test is valid PTX."""

import importlib

for name in ("generate_integer", "generate_float", "generate_pairs", "generate_atomic", "generate_matrix"):
    importlib.import_module(name)
