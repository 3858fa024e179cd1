"""A service at work: its queue, its slots, its clock, and the record of all three.

A policy (see `policies`) decides who gets which slot when, and asks the service for forward passes.
The service times each of them and notes what it made for whom. Its clock counts passes and nothing
else: what happens between two of them (drawing, the other policy's turn) costs nobody time, and
where no request is waiting the clock jumps to the next arrival.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter_ns
from typing import TypeVar

import torch

from .. import experiments, measure, models
from ..experiments import RaceRequest, random_ids
from ..generate import BadRequest
from ..records.serving import Request, RequestTimes, ServedPass, Serving
from ..records.trace import NS
from .slots import Slots

Policy = Callable[["Service"], Iterator[ServedPass]]
Given = TypeVar("Given")


class Service:
    """One policy serving requests with `slots` slots. `step` until it gives None.

    `prompts` has each request's token ids, drawn by its number: all policies read the same.
    """

    def __init__(
        self,
        policy: Policy,
        loaded: models.Loaded,
        requests: Sequence[Request],
        slots: int,
        per_s: float | None = None,
    ):
        self.loaded, self.slots, self.per_s = loaded, slots, per_s
        self.name = policy.__name__.replace("_", " ")
        self.now_s = 0.0
        self.passes: list[ServedPass] = []
        self._queue = deque(requests)
        self.prompts = {r.number: random_ids(loaded, r.prompt_tokens, r.number) for r in requests}
        self._times = {request.number: RequestTimes(request) for request in requests}
        self._holders: dict[int, int] = {}  # slot -> request, whether it still writes or not
        self._table = Slots(loaded.model, slots, positions(requests))
        self._running = policy(self)
        self._where = described(loaded)
        self._started_at: str | None = None

    # ---- for whoever looks on --------------------------------------------------------------------

    def warm_up(self) -> None:
        """Reads the longest prompt and makes a token more in all slots, off the clock."""
        longest = max(self.prompts.values(), key=len)
        self._table.prefill(range(self.slots), [longest] * self.slots)
        if len(longest) < self._table.positions:
            self._table.decode()
        for slot in range(self.slots):
            self._table.free(slot)

    def step(self) -> ServedPass | None:
        """The next forward pass; None when all requests are served."""
        self._started_at = self._started_at or datetime.now(UTC).isoformat(timespec="seconds")
        done = next(self._running, None)
        if done is not None:
            self.passes.append(done)
        return done

    def record(self) -> Serving:
        """The service so far, complete or not."""
        return Serving(
            policy=self.name,
            slots=self.slots,
            requests=tuple(self._times.values()),
            passes=tuple(self.passes),
            **self._where,
            per_s=self.per_s,
            started_at=self._started_at,
        )

    # ---- for the policy --------------------------------------------------------------------------

    @property
    def free_slots(self) -> list[int]:
        return [slot for slot in range(self.slots) if slot not in self._holders]

    @property
    def unfinished(self) -> bool:
        """Whether anybody who holds a slot still waits for tokens."""
        return any(not self._times[number].done for number in self._holders.values())

    def take(self, most: int) -> list[Request]:
        """Up to `most` of the requests that have arrived, in order."""
        taken = []
        while len(taken) < most and self._queue and self._queue[0].arrival_s <= self.now_s:
            taken.append(self._queue.popleft())
        return taken

    def wait(self) -> bool:
        """Jumps to the next arrival; False where nobody comes any more."""
        if self._queue:
            self.now_s = max(self.now_s, self._queue[0].arrival_s)
        return bool(self._queue)

    def read(self, batch: dict[int, Request]) -> ServedPass:
        """One prefill for the requests that get these slots: each makes its first token."""
        start_s = self.now_s
        for slot, request in batch.items():
            self._holders[slot] = request.number
            self._note(request.number, slot=slot, start_s=start_s)
        prompts = [self.prompts[request.number] for request in batch.values()]
        tokens, wall_ns = self._timed(lambda: self._table.prefill(list(batch), prompts))
        made = self._hand_out(dict(zip(batch, tokens, strict=True)))
        size = max(map(len, prompts)) * len(prompts)
        padding = size - sum(map(len, prompts))
        return self._pass("prefill", start_s, wall_ns, made, size, padding)

    def write(self) -> ServedPass:
        """One decode pass: a token in every slot that is held, wanted or not."""
        start_s = self.now_s
        tokens, wall_ns = self._timed(self._table.decode)
        made = self._hand_out(tokens)
        return self._pass("decode", start_s, wall_ns, made, len(tokens))

    def release(self) -> None:
        """Frees the slots of those who have all their tokens."""
        for slot, number in list(self._holders.items()):
            if self._times[number].done:
                self._note(number, release_s=self.now_s)
                self._table.free(slot)
                del self._holders[slot]

    # ---- inside ----------------------------------------------------------------------------------

    def _timed(self, call: Callable[[], Given]) -> tuple[Given, int]:
        """What `call` gives and its nanoseconds, by which the clock moves on."""
        measure.synchronise(self.loaded.device)
        start_ns = perf_counter_ns()
        tokens = call()  # as Python numbers: the device is done
        wall_ns = perf_counter_ns() - start_ns
        self.now_s += wall_ns * NS
        return tokens, wall_ns

    def _hand_out(self, tokens: dict[int, int]) -> int:
        """Gives each slot's token to its holder, if it still wants one; how many did."""
        made = 0
        for slot, token in tokens.items():
            times = self._times[self._holders[slot]]
            if times.done:
                continue
            first_s = self.now_s if times.first_token_s is None else times.first_token_s
            ids = (*times.token_ids, token)
            number = times.request.number
            self._note(number, first_token_s=first_s, last_token_s=self.now_s, token_ids=ids)
            made += 1
        return made

    def _note(self, number: int, **changes) -> None:
        self._times[number] = replace(self._times[number], **changes)

    def _pass(self, kind, start_s, wall_ns, made, size, padding=0) -> ServedPass:
        held = self._table.kv_bytes
        one = held / (self.slots * self._table.positions)
        used = round(one * sum(map(self._positions, self._holders.values())))
        return ServedPass(kind, start_s, wall_ns, made, size, padding, held, used)

    def _positions(self, number: int) -> int:
        """Cached positions that this request still needs; the last token is never read."""
        times = self._times[number]
        return 0 if times.done else times.request.prompt_tokens + len(times.token_ids) - 1


def described(loaded: models.Loaded) -> dict:
    """The fields of a `Serving` that say what ran where."""
    return {
        "name": loaded.name,
        "model": loaded.shape,
        "dtype": models.dtype_name(loaded.dtype),
        "machine": measure.this_machine(loaded.device),
        "threads": torch.get_num_threads() if loaded.device.type == "cpu" else None,
        "versions": measure.versions(),
    }


def positions(requests: Sequence[Request]) -> int:
    """Columns that a row needs for any of them, beside any other: the last token is never read."""
    prompt = max(request.prompt_tokens for request in requests)
    return prompt + max(request.new_tokens for request in requests) - 1


def check(
    loaded: models.Loaded, requests: Sequence[Request], slots: int, services: int = 1
) -> None:
    """Raises BadRequest, or ModelError where memory is too small, before anything is computed."""
    if slots < 1:
        raise BadRequest("ask for at least 1 slot")
    prompt = max(request.prompt_tokens for request in requests)
    longest = max(request.new_tokens for request in requests)
    window = loaded.shape.window if loaded.shape else None
    if window is not None and positions(requests) > window:
        raise BadRequest(
            f"{loaded.name} forgets what lies {window:,} positions back, and these slots don't: "
            f"ask for prompts and answers of fewer tokens together, or choose another model"
        )
    asked = RaceRequest(loaded, prompt=prompt, new_tokens=longest, batch=slots * services)
    experiments.validate(asked, loaded, prompt)
