"""The safetensors file format (an 8-byte length, a JSON header, the data), with torch alone.

The safetensors package is not needed: a python that has torch is all the bridge asks for."""

import ctypes
import json
import struct

import torch

_NAMES = {
    torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64",
    torch.int8: "I8", torch.int16: "I16", torch.int32: "I32", torch.int64: "I64", torch.uint8: "U8",
    torch.bool: "BOOL",
}  # fmt: skip
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}


def _bytes(tensor):
    flat = tensor.detach().cpu().contiguous()
    if flat.numel() == 0:
        return b""
    # bytes(storage) would take the elements one by one: a minute for a hundred megabytes.
    return ctypes.string_at(flat.data_ptr(), flat.numel() * flat.element_size())


def save_file(tensors, path):
    header, blobs, offset = {}, [], 0
    for name, tensor in tensors.items():
        blob = _bytes(tensor.clone(memory_format=torch.contiguous_format))
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(blob)],
        }
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # data starts aligned, as the format asks
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for blob in blobs:
            file.write(blob)


def load_file(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        dtype = _DTYPES[entry["dtype"]]
        if begin == end:
            tensors[name] = torch.empty(entry["shape"], dtype=dtype)
        else:
            tensors[name] = torch.frombuffer(data[begin:end], dtype=dtype).reshape(entry["shape"])
    return tensors
