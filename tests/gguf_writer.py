"""GGUF files as llama.cpp's converters write them, by the package gguf."""

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter


def write_gguf(path, architecture, metadata, tensors, kind=GGMLQuantizationType.F32) -> None:
    """Tensors as they are stored; of the metadata numbers, truth values and lists of them."""
    writer = GGUFWriter(path, architecture)
    adders = {bool: writer.add_bool, int: writer.add_uint32, list: writer.add_array}
    for key, value in metadata.items():
        adders[type(value)](f"{architecture}.{key}", value)
    for name, stored in tensors.items():
        writer.add_tensor(name, np.ascontiguousarray(stored), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
