"""GGUF files as llama.cpp's converters write them, by the package gguf."""

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter


def write_gguf(path, architecture, metadata, tensors, kind=GGMLQuantizationType.F32) -> None:
    """Tensors as they are stored; of the metadata numbers and truth values."""
    writer = GGUFWriter(path, architecture)
    for key, value in metadata.items():
        add = writer.add_bool if isinstance(value, bool) else writer.add_uint32
        add(f"{architecture}.{key}", value)
    for name, stored in tensors.items():
        writer.add_tensor(name, np.ascontiguousarray(stored), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
