"""Large pages change where a tensor lies, and nothing else."""

from __future__ import annotations

import mmap

import pytest
import torch

from labkit.pages import PAGE_BYTES, in_large_pages

LARGE = torch.arange(PAGE_BYTES // 4 + 1000, dtype=torch.float32).view(8, -1)
needs_large_pages = pytest.mark.skipif(
    not hasattr(mmap, "MADV_HUGEPAGE"), reason="this system grants no large pages"
)


@pytest.mark.parametrize("tensor", [LARGE, LARGE.t(), LARGE.bfloat16()])
def test_values_shape_and_order_of_bytes_stay(tensor):
    moved = in_large_pages(tensor)
    assert torch.equal(moved, tensor)
    assert moved.stride() == tensor.stride()


@needs_large_pages
def test_a_large_tensor_begins_with_a_page():
    assert in_large_pages(LARGE).data_ptr() % PAGE_BYTES == 0


def test_what_fills_no_page_stays_where_it_is():
    small = torch.ones(10)
    assert in_large_pages(small) is small


@needs_large_pages
def test_a_kernel_without_large_pages_is_no_error(monkeypatch):
    monkeypatch.setattr(mmap, "MADV_HUGEPAGE", -1)  # unknown advice: EINVAL
    assert in_large_pages(LARGE) is LARGE


@needs_large_pages
def test_the_memory_lives_as_long_as_the_tensor():
    total = in_large_pages(LARGE.clone()).t()[3:].sum()
    assert total == LARGE.t()[3:].sum()
