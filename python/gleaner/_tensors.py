"""Decodes safetensors files: eight bytes of length, a header in JSON, the values."""

from __future__ import annotations

import json
import math

import numpy as np

#: Types of tensors by their name in a file, as numpy types.
_TYPES = {
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
    "I8": "<i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "U8": "<u1",
    "BOOL": "?",
}


def decode(data: bytes) -> dict[str, np.ndarray]:
    """Return the tensors of a file by name, as copies.

    Raises:
        ValueError: The bytes are not a valid file.
    """
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > len(data) - 8:
        raise ValueError("its header is cut off")
    header = json.loads(data[8 : 8 + length])
    values = data[8 + length :]
    if not isinstance(header, dict):
        raise ValueError("its header is not a table of tensors")
    return {
        name: _tensor(name, it, values) for name, it in header.items() if name != "__metadata__"
    }


def _tensor(name: str, about: object, values: bytes) -> np.ndarray:
    try:
        kind = np.dtype(_TYPES[about["dtype"]])  # type: ignore[index]
        shape = [int(size) for size in about["shape"]]  # type: ignore[index]
        begin, end = (int(place) for place in about["data_offsets"])  # type: ignore[index]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"its header does not describe {name}") from error
    if not 0 <= begin <= end <= len(values) or end - begin != math.prod(shape) * kind.itemsize:
        raise ValueError(f"{name} is not where its header says")
    return np.frombuffer(values[begin:end], kind).reshape(shape).copy()
