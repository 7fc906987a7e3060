"""The window of idempotence: which requests were carried out, and with what result.

Two generations of requests: the present one takes new outcomes until it is full or too old; then
the older one is emptied and becomes the present one. So the last ``max_requests`` are always known,
and never more than twice as many are kept, without any order being stored or removed one by one.
"""

from __future__ import annotations

from flink_memory.counters import Counters
from flink_memory.state.encoding import decode_outcome, encode_outcome
from flink_memory.state.handles import AgentStates, MapHandle


class Outcomes:
    """Outcomes of one agent's requests.

    Args:
        states: The agent's states.
        max_requests: Size of a generation.
        max_age_ms: Age at which a generation ends; ``None`` for never.
    """

    __slots__ = ("_max_age_ms", "_max_requests", "_states")

    def __init__(self, states: AgentStates, max_requests: int, max_age_ms: int | None) -> None:
        self._states = states
        self._max_requests = max_requests
        self._max_age_ms = max_age_ms

    def get(self, request_id: str) -> bytes | None:
        """The stored result record of a request; empty if it was too large to keep; ``None`` if unknown."""
        stored = self._states.requests_0.get(request_id)
        if stored is None:
            stored = self._states.requests_1.get(request_id)
        return None if stored is None else decode_outcome(stored)[1]

    def put(self, counters: Counters, request_id: str, arrived_ms: int, result: bytes, *, quotes: bool) -> None:
        """Keep the outcome of a request; ``counters`` are brought forward."""
        if not counters.requests:
            counters.requests_since_ms = arrived_ms
        counters.requests += 1
        self._generation(counters.generation).put(request_id, encode_outcome(arrived_ms, result, quotes=quotes))

    def is_full(self, counters: Counters, now_ms: int) -> bool:
        """Whether the present generation has to end."""
        if counters.requests >= self._max_requests:
            return True
        age_ms = now_ms - counters.requests_since_ms
        return bool(counters.requests) and self._max_age_ms is not None and age_ms > self._max_age_ms

    def turn(self, counters: Counters) -> None:
        """End the present generation; what is older than it is forgotten."""
        counters.generation ^= 1
        counters.requests = 0
        self._generation(counters.generation).clear()

    def drop_results(self) -> None:
        """Drop the results that quote memory, as that may be what is being forgotten. O(requests)."""
        for generation in (self._states.requests_0, self._states.requests_1):
            for request_id, stored in list(generation.items()):
                arrived_ms, result, quotes = decode_outcome(stored)
                if result and quotes:
                    generation.put(request_id, encode_outcome(arrived_ms, b"", quotes=True))

    def _generation(self, generation: int) -> MapHandle:
        return self._states.requests_1 if generation else self._states.requests_0
