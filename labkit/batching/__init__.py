"""Many requests, one model: made-up traffic, and policies that share the model's slots among it.

    requests = Traffic(count=16, lengths="long tail").requests()
    services = serve(loaded, requests, slots=4)
    for service, done in in_turns(services):
        ...                                # no clock runs here: draw, print, break
    static, continuous = (service.record() for service in services)

Reading order: `traffic`, `policies`, `service`, `slots`. `paged` is transformers' own continuous
batching, over the same requests.
"""

from collections.abc import Sequence

from ..measure import interleaved as in_turns
from ..models import Loaded
from ..records.serving import Request
from .policies import continuous, static
from .service import Policy, Service, check
from .traffic import LENGTHS, Traffic

__all__ = ["LENGTHS", "POLICIES", "Service", "Traffic", "check", "in_turns", "serve"]

POLICIES = {"static": static, "continuous": continuous}


def serve(
    loaded: Loaded,
    requests: Sequence[Request],
    slots: int,
    policies: Sequence[str] = tuple(POLICIES),
    per_s: float | None = None,
) -> list[Service]:
    """A service for each policy, not started. Raises ValueError, with a remedy, as `check` does."""
    check(loaded, requests, slots, len(policies))
    chosen: list[Policy] = [POLICIES[name] for name in policies]
    return [Service(policy, loaded, requests, slots, per_s) for policy in chosen]
