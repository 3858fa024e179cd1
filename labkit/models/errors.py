"""What can go wrong between a model's name and a model in memory.

Every message says what to do next. All are ValueErrors: the cause is something a user can change
(a name, a device, a full disk), never a bug in the lab.
"""

from __future__ import annotations


class ModelError(ValueError):
    """No model, for a reason the message names together with its remedy."""


class DownloadFailed(ModelError):
    """The weights could not be fetched: no network, no pip, or an index without them."""


class WrongHash(DownloadFailed):
    """What arrived is not the file this lab was written for."""


class DiskFull(ModelError):
    """The cache's disk has no room for the download and its conversion."""


class UnknownModel(ModelError):
    """No shape, folder or hub repository has this name."""


class NotUsable(ModelError):
    """The model exists, but is no causal LM, or has no safetensors, or no tokenizer."""


class NoDevice(ModelError):
    """The device or the number format asked for does not exist on this machine."""


class TooLarge(ModelError):
    """The memory would not hold it; refused before anything was built."""


class OutOfMemory(TooLarge):
    """The memory ran out while loading; what had been built is freed."""
