"""Results of requests, told the way a person would: what agents remember, found, and were told twice."""

from __future__ import annotations

import base64
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]
_WIDTH = 100
_DONE = {"ADD": "added", "UPDATE": "changed", "DELETE": "deleted", "EXPIRE": "expired"}


def story(
    requests: Sequence[Record], results: Sequence[Record], changes: Sequence[Record], dead_letters: Sequence[Record]
) -> Iterator[str]:
    """Tell what was asked and answered, agent by agent, and then what was refused.

    Args:
        requests: As they were sent.
        results: In any order of agents; each agent's in the order of its requests.
        changes: The changelog.
        dead_letters: What was no request.
    """
    asked = {request["request_id"]: request for request in requests}
    for agent_id in dict.fromkeys(request["agent_id"] for request in requests):
        yield f"\n=== {agent_id} " + "=" * (_WIDTH - len(agent_id) - 5)
        mine = [result for result in results if result["agent_id"] == agent_id and result["status"] == "ok"]
        yield _lived_through(mine, [change for change in changes if change["agent_id"] == agent_id], asked)
        for result in mine:
            if tell := _TOLD.get(result["op"]):
                yield ""
                yield from tell(asked[result["request_id"]], result["result"])
    yield "\n=== what could not be done " + "=" * (_WIDTH - 27)
    for result in results:
        if result["status"] == "error":
            yield f"{result['request_id']}, an error for its sender: {result['error']['message']}"
    for letter in dead_letters:
        raw = base64.b64decode(letter["raw"]).decode(errors="replace")
        yield f"A dead letter, as nobody could be told: {raw}"
        yield f"  {letter['error']['message']}"


def _lived_through(results: Sequence[Record], changes: Sequence[Record], asked: Mapping[str, Record]) -> str:
    sessions = dict.fromkeys(asked[result["request_id"]].get("session_id") for result in results)
    told = [result["result"] for result in results if result["op"] in ("observe", "add_messages")]
    seen = sum(len(result.get("event_ids", [None])) for result in told)
    actions = Counter(change["action"] for change in changes)
    changed = ", ".join(f"{number} {_DONE.get(action, action)}" for action, number in actions.items())
    return f"lived through sessions {', '.join(filter(None, sessions))}: {seen} events seen; memories: {changed}"


def _tell_search(request: Record, result: Record) -> Iterator[str]:
    yield f"asked: {request['query']}" + (f"   [only {request['filter']}]" if "filter" in request else "")
    for hit in result["hits"]:
        yield from _item(f"{hit['score']:.2f}", f"{hit['text']} ({hit['kind']})")


def _tell_memories(request: Record, result: Record) -> Iterator[str]:
    yield "remembers" + (f" (only {request['filter']})" if "filter" in request else "") + ":"
    for memory in result["memories"]:
        yield from _item("*", f"{memory['memory']} ({memory['memory_type']}, version {memory['version']})")


def _tell_changes(request: Record, result: Record) -> Iterator[str]:
    yield f"how the memory {request['memory_id']!r} came to be what it is:"
    for change in result["history"]:
        yield from _item(f"{change['at'][:10]} {change['action']:<6}", change["new_memory"] or "(gone)")


def _tell_events(_: Record, result: Record) -> Iterator[str]:
    yield f"the last {len(result['items'])} things that happened:"
    for event in result["items"]:
        yield from _item(f"{event['timestamp'][:10]} {event['type']}", str(event["content"]))


_TOLD: dict[str, Callable[[Record, Record], Iterator[str]]] = {
    "search": _tell_search,
    "get_all": _tell_memories,
    "history": _tell_changes,
    "get_history": _tell_events,
}


def _item(mark: str, text: str) -> Iterator[str]:
    indent = " " * (len(mark) + 4)
    yield from textwrap.wrap(f"  {mark}  {text}", _WIDTH, subsequent_indent=indent)
