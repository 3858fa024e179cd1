"""Who gets a slot when: the two policies, which differ in nothing else.

Both run on the same slots with the same forward passes (`service`, `slots`). Each yields every pass
as it is made; whoever looks on may stop by asking for no further one.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..records.serving import ServedPass
from .service import Service


def static(service: Service) -> Iterator[ServedPass]:
    """Serves a batch until its longest answer is complete, then takes the next one.

    Prompts are read together, padded to the longest. A finished row goes on being computed, for
    nobody: the batch is one rectangle.
    """
    while service.wait():
        batch = dict(enumerate(service.take(service.slots)))
        yield service.read(batch)
        while service.unfinished:
            yield service.write()
        service.release()


def continuous(service: Service) -> Iterator[ServedPass]:
    """Gives a slot to the next request as soon as one is free.

    A prompt is read alone and without padding; meanwhile the others wait.
    """
    while service.unfinished or service.wait():
        for slot in service.free_slots:
            for request in service.take(1):
                yield service.read({slot: request})
        service.release()
        if service.unfinished:
            yield service.write()
            service.release()
