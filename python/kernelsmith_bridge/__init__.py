"""Reads PyTorch tasks for kernelsmith: graphs as JSON, tensors as safetensors.

`python -m kernelsmith_bridge` is the worker that the C++ side starts (src/tasks/worker.h); see worker.py
for the protocol. docs/graph_format.md describes what it writes.
"""
