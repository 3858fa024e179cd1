"""Memory in large pages, for tensors that are read from end to end.

For each page of memory that a core walks into, it looks up where that page lies. In pages of 4 KiB
the weights of a small model are 130,000 such look-ups a step, and on two x86 cores they cost a
tenth of its time. Linux grants pages of 2 MiB to memory that asks for them; where it does not, and
on other systems and devices, everything stays as it was.
"""

from __future__ import annotations

import mmap

import torch
from torch import Tensor

PAGE_BYTES = 2 * 2**20


def in_large_pages(tensor: Tensor) -> Tensor:
    """A copy in large pages, with the same order of bytes; the tensor itself where there are none.

    The tensor must be dense. Whether pages are granted is the system's choice, and is not told.
    """
    if tensor.device.type != "cpu" or tensor.nbytes < PAGE_BYTES:
        return tensor
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return tensor
    memory = mmap.mmap(-1, tensor.nbytes + PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except OSError:  # a kernel without them
        return tensor
    raw = torch.frombuffer(memory, dtype=torch.uint8)
    start = -raw.data_ptr() % PAGE_BYTES
    flat = raw[start : start + tensor.nbytes].view(tensor.dtype)
    return flat.as_strided(tensor.size(), tensor.stride()).copy_(tensor)
