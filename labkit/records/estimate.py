"""The work that one forward pass asks for, and the time that it must take on a machine.

`Cost` is arithmetic from a shape: it knows no machine. `Estimate` is a bound from rates: it knows
no kernel, so a real pass is slower wherever its kernels miss the roofs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """FLOPs and bytes of one forward pass for `tokens` tokens, all sequences together.

    FLOPs count matrix products only, 2 for a multiply and add. Bytes are the least that must pass
    through memory; activations, which good kernels keep in caches, are left out of the sums and
    counted apart. `dtype` is what the products are computed in.
    """

    tokens: int
    dtype: str
    linear_flops: int  # projections and MLP of all layers
    attention_flops: int  # scores and weighted sums
    head_flops: int  # logits of the positions that get them, usually the last of each sequence
    linear_bytes: int  # the layers' weights, once, and an embedding row for each token
    head_bytes: int  # the output head's weights, once, and the logits
    kv_read_bytes: int  # keys and values that attention reads from the cache
    kv_write_bytes: int  # keys and values of the new tokens
    kv_copy_bytes: int  # what a growing cache reads and writes again to append (torch.cat)
    activation_bytes: int = 0  # what the operators between the products read and write, one by one
    sequences: int = 1
    logit_rows: int = 1  # positions that get logits, of all sequences together
    layers: int = 0
    matrix_bytes: int = 0  # of one of the layers' weight matrices, on average

    @property
    def flops(self) -> int:
        return self.linear_flops + self.attention_flops + self.head_flops

    @property
    def weight_bytes(self) -> int:
        """What a pass reads however few tokens it is for."""
        return self.linear_bytes + self.head_bytes

    @property
    def kv_bytes(self) -> int:
        """Cache traffic of all three kinds."""
        return self.kv_read_bytes + self.kv_write_bytes + self.kv_copy_bytes

    @property
    def bytes(self) -> int:
        return self.weight_bytes + self.kv_bytes

    @property
    def intensity(self) -> float:
        """FLOPs for each byte. Below the machine's ridge point, memory is the slower of the two."""
        return self.flops / self.bytes


@dataclass(frozen=True)
class Estimate:
    """Least seconds for one forward pass, by what they are spent on.

    Compute and memory traffic run at the same time for `shared_s`; None: all the while that the
    shorter of the two takes, and then the longer one alone counts. `overhead_s` is the host's;
    None: unknown, and then the estimate is a bound without it. Where `overlaps`, the host queues
    work ahead of the device and only the larger of the two is waited for.
    """

    compute_s: float
    memory_s: float
    overhead_s: float | None = None
    overlaps: bool = False
    shared_s: float | None = None

    @property
    def device_s(self) -> float:
        """The roofline: max(compute, memory), or more where they can't run at once throughout."""
        if self.shared_s is None:
            return max(self.compute_s, self.memory_s)
        return self.compute_s + self.memory_s - self.shared_s

    @property
    def seconds(self) -> float:
        overhead_s = self.overhead_s or 0.0
        if self.overlaps:
            return max(self.device_s, overhead_s)
        return self.device_s + overhead_s

    @property
    def limiter(self) -> str:
        """Which of the three is the largest: "compute", "memory-bandwidth" or "host-overhead"."""
        seconds = {
            "compute": self.compute_s,
            "memory-bandwidth": self.memory_s,
            "host-overhead": self.overhead_s or 0.0,
        }
        return max(seconds, key=seconds.__getitem__)
