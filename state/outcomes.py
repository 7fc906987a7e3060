"""The window of idempotence: which requests were carried out, and with what result.

Two generations of requests: the present one takes new outcomes until it is full or too old; then
the older one is emptied and becomes the present one. So the last ``max_requests`` are always known,
and never more than twice as many are kept, without any order being stored or removed one by one.

Keys are ``r/<request id>``. Beside them ``requests_0`` has ``generation``: u8 version, u8 which of the
two is the present one, i64 outcomes in it, i64 when its first came, in ms, u8 1 if the other one has
any, little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from flink_memory.state.encoding import decode_outcome, encode_outcome, unknown_version
from flink_memory.state.handles import AgentStates, MapHandle

VERSION = 1
_GENERATION = struct.Struct("<BBqqB")
_GENERATION_KEY = "generation"


@dataclass(slots=True)
class _Generation:
    """The present generation."""

    number: int = 0
    count: int = 0
    since_ms: int = 0
    has_other: bool = False


class Outcomes:
    """Outcomes of one agent's requests.

    Args:
        states: The agent's states.
        max_requests: Size of a generation.
        max_age_ms: Age at which a generation ends; ``None`` for never.
    """

    __slots__ = ("_max_age_ms", "_max_requests", "_present", "_states")

    def __init__(self, states: AgentStates, max_requests: int, max_age_ms: int | None) -> None:
        self._states = states
        self._max_age_ms = max_age_ms
        self._max_requests = max_requests
        self._present: _Generation | None = None

    def get(self, request_id: str) -> bytes | None:
        """The stored result record of a request; empty if it was not kept; ``None`` if unknown."""
        key = _key(request_id)
        present = self._read()
        stored = self._map(present.number).get(key) if present.count else None
        if stored is None and present.has_other:
            stored = self._map(present.number ^ 1).get(key)
        return None if stored is None else decode_outcome(stored)[1]

    def put(self, request_id: str, arrived_ms: int, result: bytes, *, quotes: bool) -> bool:
        """Keep the outcome of a request; returns whether a generation ended for it."""
        present = self._read()
        ended = self._is_over(present, arrived_ms)
        if ended:
            present.number ^= 1
            present.has_other = present.count > 0
            present.count = 0
            self._map(present.number).clear()
        if not present.count:
            present.since_ms = arrived_ms
        present.count += 1
        self._map(present.number).put(_key(request_id), encode_outcome(arrived_ms, result, quotes=quotes))
        self._states.requests_0.put(
            _GENERATION_KEY,
            _GENERATION.pack(VERSION, present.number, present.count, present.since_ms, present.has_other),
        )
        return ended

    def drop_results(self) -> None:
        """Drop the results that quote memory, as that may be what is being forgotten. O(requests)."""
        for number in (0, 1):
            for key, stored in list(self._map(number).items()):
                if key == _GENERATION_KEY:
                    continue
                arrived_ms, result, quotes = decode_outcome(stored)
                if result and quotes:
                    self._map(number).put(key, encode_outcome(arrived_ms, b"", quotes=True))

    def clear(self) -> None:
        """Forget all requests."""
        self._states.requests_0.clear()
        self._states.requests_1.clear()
        self._present = None

    def _is_over(self, present: _Generation, now_ms: int) -> bool:
        if present.count >= self._max_requests:
            return True
        age_ms = now_ms - present.since_ms
        return bool(present.count) and self._max_age_ms is not None and age_ms > self._max_age_ms

    def _read(self) -> _Generation:
        if self._present is None:
            stored = self._states.requests_0.get(_GENERATION_KEY)
            if stored is None:
                self._present = _Generation()
            elif stored[0] != VERSION:
                raise unknown_version("generation of requests", stored[0], VERSION)
            else:
                _, number, count, since_ms, has_other = _GENERATION.unpack(stored)
                self._present = _Generation(number, count, since_ms, bool(has_other))
        return self._present

    def _map(self, number: int) -> MapHandle:
        return self._states.requests_1 if number else self._states.requests_0


def _key(request_id: str) -> str:
    return f"r/{request_id}"
