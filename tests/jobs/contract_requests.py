"""Every row of the wire contract that exists so far, and what is broken in every way we could think of."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

DIMENSION = 32
AGENTS = ("ada", "Bob the 2nd", "\N{GRINNING FACE} \u00e9'\"\\", "x" * 256)


def lines() -> list[bytes]:
    """The whole input: the agents' requests interleaved, broken records between them."""
    scripts = [list(_numbered(agent, script(number))) for number, agent in enumerate(AGENTS)]
    longest = max(map(len, scripts))
    interleaved = [each[step] for step in range(longest) for each in scripts if step < len(each)]
    broken = [*DEAD, *(json.dumps(each).encode() for each in _refused())]
    distance = len(interleaved) // len(broken)
    for position, record in enumerate(broken):
        interleaved.insert((position + 1) * distance, record)
    return interleaved


DEAD: tuple[bytes, ...] = (
    b"not json at all",
    b'{"request_id": "cut", "agent_id": "ada", "op": "ge',
    b'["request_id", "agent_id"]',
    b"42",
    b"null",
    b'{"request_id": "bytes", "agent_id": "ada", "op": "\xff\xfe"}',
    b'{"agent_id": "ada", "op": "get", "memory_id": "no request id"}',
    b'{"request_id": "no agent", "op": "get", "memory_id": "x"}',
    b'{"request_id": "number", "agent_id": 5, "op": "get", "memory_id": "x"}',
    b'{"request_id": "", "agent_id": "ada", "op": "get", "memory_id": "x"}',
    b'{"request_id": "' + b"r" * 129 + b'", "agent_id": "ada", "op": "get", "memory_id": "x"}',
    b'{"request_id": "long agent", "agent_id": "' + b"a" * 257 + b'", "op": "get", "memory_id": "x"}',
    b'{"request_id": "object", "agent_id": {"id": "ada"}, "op": "get", "memory_id": "x"}',
    b'{"request_id": "half a pair", "agent_id": "\\ud800x", "op": "get", "memory_id": "x"}',
    b'{"request_id": "a mark", "agent_id": "\\ufeffada", "op": "get", "memory_id": "x"}',
    b'{"request_id": "a swapped mark", "agent_id": "\\ufffe\\u00d8da", "op": "get", "memory_id": "x"}',
    b"[" * 3_000,
    b"nul \x00 inside",
    b"\xef\xbb\xbf" + b'{"request_id": "mark", "agent_id": "ada", "op": "get", "memory_id": "x"}',
    b'{"request_id": "two", "agent_id": "ada", "op": "get"} {"request_id": "objects"}',
    b"   ",
)


def script(number: int) -> Iterator[dict[str, Any]]:
    """What one agent is asked, in order."""
    yield observe("s1", "I like green tea.", event_id="e1", producer="chat", metadata={"mood": "good", "n": 1})
    yield observe("s1", [{"type": "text", "text": "The train"}, {"type": "text", "text": "leaves at nine."}])
    yield observe("s1", "Looked up the weather.", type="agent_action", event_id="e3")
    yield observe("s1", "I like green tea.", event_id="e1", producer="chat", metadata={"mood": "good", "n": 1})
    yield {
        "op": "add",
        "memory": "Likes green tea.",
        "memory_id": "tea",
        "memory_type": "preference",
        "session_id": "s1",
    }
    yield {"op": "add", "memory": "Lives in Lisbon.", "metadata": {"topic": "home", "rank": 3}, "confidence": 0.5}
    yield {"op": "add", "memory": "Has a cat called Miso.", "memory_id": "cat", "importance": 0.9, "vector": vector(1)}
    yield {"op": "add", "memory": "Has a dog.", "memory_id": "cat"}  # a conflict
    yield {
        "op": "add_messages",
        "infer": False,
        "session_id": "s2",
        "messages": [
            {"role": "user", "content": "Remind me of my dentist."},
            {"role": "assistant", "content": [{"type": "text", "text": "When is it?"}]},
            {"role": "tool", "content": "calendar: friday", "tool_call_id": "c1"},
        ],
    }
    yield {"op": "update", "memory_id": "tea", "memory": "Likes black tea now.", "confidence": 0.7, "session_id": "s2"}
    yield {"op": "update", "memory_id": "cat", "metadata": {"topic": "pets"}, "importance": None}
    yield {"op": "update", "memory_id": "cat", "vector": base64_of(vector(2))}
    yield {"op": "update", "memory_id": "nobody", "memory": "x"}
    yield {"op": "search", "query": "what tea?", "request_id": "again"}
    yield {"op": "search", "query": "what tea?", "request_id": "again"}  # a duplicate
    yield {"op": "search", "vector": vector(2), "limit": 2}
    yield {"op": "search", "query": "the cat", "vector": base64_of(vector(1)), "explain": True}
    yield {"op": "search", "query": "tea train", "kinds": ["event"], "expand_context": 1}
    yield {"op": "search", "query": "tea", "kinds": ["memory"], "min_score": 0.05, "explain": True}
    yield {"op": "search", "query": "tea or home", "filter": "memory_type = 'fact' AND metadata.topic IN ('home')"}
    yield {"op": "search", "vector": vector(3, dimension=DIMENSION + 1)}
    yield {"op": "get", "memory_id": "tea"}
    yield {"op": "get", "memory_id": "nobody"}
    yield {"op": "history", "memory_id": "tea"}
    yield {"op": "delete", "memory_id": "tea"}
    yield {"op": "delete", "memory_id": "tea"}
    yield {"op": "history", "memory_id": "tea"}
    yield {"op": "add", "memory": "Likes tea after all.", "memory_id": "tea"}
    yield {"op": "history", "memory_id": "tea"}
    for item in range(30 + number):
        topic = ("work", "home", "pets")[item % 3]
        yield {
            "op": "add",
            "memory": f"Fact {item} about {topic}.",
            "memory_id": f"m{item}",
            "metadata": {"topic": topic, "n": item},
            **({"vector": vector(100 + item)} if item % 2 else {}),
        }
        if item % 7 == 3:
            yield {"op": "search", "query": f"fact {item} about work", "limit": 4}
            yield {"op": "delete", "memory_id": f"m{item - 2}"}
    yield {"op": "get_all", "limit": 5}
    yield {"op": "get_all", "limit": 5, "cursor": "7"}
    yield {"op": "get_all", "limit": 3, "filter": "metadata.topic = 'pets' AND metadata.n > 3"}
    yield {"op": "get_all", "filter": "NOT (metadata.topic IS NULL) AND created_at >= '2025-01-01T00:00:00Z'"}
    yield {"op": "get_history"}
    yield {"op": "get_history", "n": 2, "session_id": "s1"}
    yield {"op": "add", "memory": "Is over already.", "memory_id": "over", "expires_at": "2025-02-01T00:00:00Z"}
    yield {"op": "get", "memory_id": "over"}
    yield {"op": "history", "memory_id": "over"}
    yield {"op": "add", "memory": "Stays for long.", "memory_id": "stays", "expires_at": "2125-02-01T00:00:00Z"}
    yield {"op": "end_session", "session_id": "s1"}
    yield {"op": "forget", "event_ids": ["e1", "unknown"]}
    yield {"op": "forget", "memory_ids": ["m5", "unknown"]}
    yield {"op": "history", "memory_id": "m5"}
    yield {"op": "forget", "session_id": "s2"}
    yield {"op": "get_history", "n": 50}
    yield {"op": "search", "query": "dentist", "limit": 50, "explain": True}
    if number % 2:
        yield {"op": "forget", "everything": True}
        yield {"op": "search", "query": "tea"}
        yield {"op": "add", "memory": "A new life.", "memory_id": "tea"}
    yield {"op": "search", "query": "life fact", "limit": 50}
    yield {"op": "get_all"}


def observe(session_id: str, content: Any, type: str = "user_message", **fields: Any) -> dict[str, Any]:  # noqa: A002
    return {"op": "observe", "session_id": session_id, "type": type, "content": content, **fields}


def vector(seed: int, dimension: int = DIMENSION) -> list[float]:
    """A random vector; float32 values, so that both ways of writing it mean the same."""
    drawn: list[float] = np.random.default_rng(seed).standard_normal(dimension, dtype=np.float32).tolist()
    return drawn


def base64_of(values: list[float]) -> str:
    return base64.b64encode(np.array(values, dtype="<f4").tobytes()).decode()


def _numbered(agent_id: str, requests: Iterator[Mapping[str, Any]]) -> Iterator[bytes]:
    for number, request in enumerate(requests):
        record = {"request_id": f"{agent_id[:8]}-{number}", "agent_id": agent_id, **request}
        if number % 5:  # the others happen when they are processed
            record["timestamp"] = f"2025-03-{1 + number % 28:02d}T12:{number % 60:02d}:00.5+02:00"
        yield json.dumps(record, ensure_ascii=bool(number % 2)).encode()


def _refused() -> Iterator[dict[str, Any]]:
    """Requests of a known sender that are wrong: each gets an error result."""
    wrong: list[dict[str, Any]] = [
        {"op": "teleport"},
        {"op": 7},
        {},
        {"op": "get", "memory_id": "x", "memroy_id": "y"},
        {"op": "get"},
        {"op": "get", "memory_id": "x" * 257},
        {"op": "get_all", "limit": 0},
        {"op": "get_all", "limit": "5"},
        {"op": "get_all", "filter": "metadata.topic = "},
        {"op": "get_all", "cursor": "elsewhere"},
        {"op": "observe", "type": "thought", "content": "x"},
        {"op": "observe", "type": "user_message", "content": "x", "timestamp": "2025-03-01T12:00:00"},
        {"op": "add", "memory": ""},
        {"op": "add", "memory": "x", "confidence": 1.5},
        {"op": "add", "memory": "x", "vector": "no base64!"},
        {"op": "add", "memory": "x", "vector": [0.0] * DIMENSION},
        {"op": "add", "memory": "y" * 1_001},
        {"op": "add_messages", "messages": []},
        {"op": "add_messages", "messages": [{"role": "user", "content": "x"}]},  # infer comes later
        {"op": "update", "memory_id": "tea"},
        {"op": "search"},
        {"op": "search", "query": "x", "kinds": ["thing"]},
        {"op": "search", "query": "x", "filter": "nonsense ~ 3"},
        {"op": "forget"},
        {"op": "forget", "everything": True, "memory_ids": ["x"]},
        {"op": "recall", "query": "comes later"},
        {"op": "compact"},
    ]
    for number, fields in enumerate(wrong):
        yield {"request_id": f"wrong-{number}", "agent_id": AGENTS[0], **fields}
