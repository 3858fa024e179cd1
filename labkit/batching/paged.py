"""transformers' own continuous batching, over the same requests: a cache in pages, not in rows.

It runs in a thread of its own and packs prompts and answers into one long row for each pass, so
that nothing is padded and no request waits for another's prompt. It can't be stopped between two
passes, so its clock is the wall's: nothing should be drawn while it runs. Its passes are not seen
from outside; each token's time is. All requests are handed over at the start, whenever they were
to arrive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from math import ceil
from time import perf_counter

from transformers import GenerationConfig
from transformers.generation.configuration_utils import ContinuousBatchingConfig

from .. import models
from ..experiments import random_ids
from ..records.serving import Request, RequestTimes, Serving
from .service import check, described, positions

PAGE = 32  # positions in a page; transformers' default of 256 suits longer texts
NO_EOS = -1


class PagedFailed(RuntimeError):
    """transformers gave a request back unfinished; the message has its reason."""


class Paged:
    """One run of it. `steps` gives the number of tokens so far, whenever a request has one more."""

    name = "paged"

    def __init__(self, loaded: models.Loaded, requests: Sequence[Request], slots: int):
        check(loaded, requests, slots)
        self.loaded, self.slots, self._requests = loaded, slots, tuple(requests)
        self._prompts = {r.number: random_ids(loaded, r.prompt_tokens, r.number) for r in requests}
        self._found: dict[int, RequestTimes] = {}
        self._started_at: str | None = None

    def steps(self) -> Iterator[int]:
        """Runs all requests. Closing the iterator ends the thread and frees its cache.

        Raises PagedFailed where transformers gives up on a request.
        """
        self._started_at = datetime.now(UTC).isoformat(timespec="seconds")
        with self._manager() as manager:
            start_s = perf_counter()
            for request in self._requests:
                manager.add_request(
                    self._prompts[request.number],
                    request_id=str(request.number),
                    max_new_tokens=request.new_tokens,
                    streaming=True,
                    record_timestamps=True,
                    eos_token_id=NO_EOS,
                )
            while not all(self._times(request).done for request in self._requests):
                self._take_in(manager, start_s)
                yield sum(len(times.token_ids) for times in self._found.values())

    def _take_in(self, manager, start_s: float) -> None:
        output = manager.get_result(timeout=1)
        if output is None:
            if not manager.is_running():
                raise PagedFailed("transformers' continuous batching ended before its requests did")
            return
        if output.error is not None:
            raise PagedFailed(f"transformers gave request {output.request_id} back: {output.error}")
        number, at_s = int(output.request_id), [t - start_s for t in output.timestamps]
        self._found[number] = RequestTimes(
            request=self._requests[number],
            start_s=output.lifespan[0] - start_s,
            first_token_s=at_s[0],
            last_token_s=at_s[-1],
            token_ids=tuple(output.generated_tokens),
        )

    @contextmanager
    def _manager(self):
        """Its manager, started; stopped at once on leaving, whatever still runs."""
        manager = self.loaded.model.init_continuous_batching(
            generation_config=GenerationConfig(do_sample=False, eos_token_id=NO_EOS),
            continuous_batching_config=ContinuousBatchingConfig(
                page_size=PAGE,
                num_blocks=self.slots * ceil((positions(self._requests) + 1) / PAGE),
                max_requests_per_batch=self.slots,
                max_batch_tokens=max(256, self.slots * 64),
                allow_block_sharing=False,
                auto_switch_to_flash=False,
            ),
        )
        manager.start()
        try:
            yield manager
        finally:
            manager.stop(hard_stop=True)

    def _times(self, request: Request) -> RequestTimes:
        return self._found.get(request.number, RequestTimes(request))

    def record(self) -> Serving:
        """The run so far, complete or not."""
        return Serving(
            policy=self.name,
            slots=self.slots,
            requests=tuple(map(self._times, self._requests)),
            passes=(),
            **described(self.loaded),
            started_at=self._started_at,
        )
