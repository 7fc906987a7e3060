"""Bytes that a release has written are read by every later one, and written the same while the layout holds."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from flink_memory.analysis import ANALYSIS_ID
from flink_memory.embedding import HashingModel
from flink_memory.errors import StateVersionError
from flink_memory.jobs.local import LocalMemory
from flink_memory.lexical import LexicalBlock
from flink_memory.state.dictionary import dictionary_states
from flink_memory.state.pending import PendingRequests
from tests.state.samples import AT_MS, SAMPLES, STORY_CONFIG, pack_states, tell_the_story, unpack_states

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", SAMPLES)
def test_golden_bytes_are_read_to_the_value_that_was_written(name: str) -> None:
    assert SAMPLES[name].read((GOLDEN / f"{name}.bin").read_bytes()) == SAMPLES[name].expected


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_value_is_written_to_the_golden_bytes(name: str) -> None:
    assert SAMPLES[name].write() == (GOLDEN / f"{name}.bin").read_bytes()


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "pending_range"])
def test_an_unknown_version_names_the_way_out(name: str) -> None:
    data = bytearray((GOLDEN / f"{name}.bin").read_bytes())
    data[0] = 250
    with pytest.raises(StateVersionError, match=r"newer (release|one)"):
        SAMPLES[name].read(bytes(data))


def test_an_unknown_version_of_the_pending_range_names_the_way_out() -> None:
    states = dictionary_states()
    states.pending.put("range", b"\xfa" + (GOLDEN / "pending_range.bin").read_bytes()[1:])
    with pytest.raises(StateVersionError, match="newer release"):
        PendingRequests(states.pending)


def test_the_pending_range_is_the_golden_one() -> None:
    pending = PendingRequests(dictionary_states().pending)
    for number in range(9):
        pending.append(AT_MS, str(number))
    for _ in range(3):
        pending.remove_first()
    assert pending._state.get("range") == (GOLDEN / "pending_range.bin").read_bytes()


def test_a_damaged_lexical_block_is_not_taken_for_a_newer_one() -> None:
    with pytest.raises(StateVersionError, match="damaged"):
        LexicalBlock.decode((GOLDEN / "lexical_block.bin").read_bytes()[:-1])


def an_agent_of_golden_bytes() -> LocalMemory:
    memory = LocalMemory(STORY_CONFIG, model=HashingModel(8), clock_ms=lambda: AT_MS)
    states = unpack_states((GOLDEN / "agent.bin").read_bytes(), dictionary_states())
    memory._runner.states["ada"] = states
    memory._numbers = count(1000)
    return memory


def test_an_agent_of_golden_bytes_remembers_its_story() -> None:
    memory = an_agent_of_golden_bytes()
    texts = {f"m{number}": f"Ada has {number} apples." for number in (1, 2, 5, 6, 7)}
    texts |= {"m3": "Ada ate them.", "m4": "Ada found one.", "m9": "Pears are fine, too."}
    records = {record["memory_id"]: record for record in memory.get_all("ada")}
    assert {name: record["memory"] for name, record in records.items()} == texts
    assert list(records) == ["m1", "m2", "m3", "m5", "m6", "m7", "m4", "m9"]
    assert records["m3"]["version"] == 2
    assert records["m3"]["expires_at"] == "2040-01-01T00:00:00.000Z"
    assert records["m1"]["access_count"] >= 1
    assert [item["event_id"] for item in memory.get_history("ada", session_id="s1")] == ["e1", "e3", "e5", "e7"]
    assert [change["action"] for change in memory.history("ada", "m4")] == ["ADD", "DELETE", "ADD"]
    assert [change["action"] for change in memory.history("ada", "m8")] == ["ADD", "DELETE"]
    assert memory.search("ada", "pears", limit=1)[0]["id"] == "m9"
    assert memory.search("ada", "pears", limit=1, filter="metadata.n = 5")[0]["id"] == "m5"
    repeat = memory.send({"op": "add", "agent_id": "ada", "request_id": "local-1", "memory": "Other."})
    assert (repeat["result"], repeat["duplicate"]) == ({"memory_id": "m0"}, True)
    memory.update("ada", "m9", importance=0.5)
    assert memory.changes[-1]["sequence"] == 16


def test_the_story_is_written_to_the_golden_bytes() -> None:
    """Where another stemmer is installed than the one that wrote them, words are compared by nobody."""
    data = (GOLDEN / "agent.bin").read_bytes()
    golden, told = unpack_states(data, dictionary_states()), tell_the_story()
    assert pack_states(golden) == data
    is_of_this_stemmer = ANALYSIS_ID.to_bytes(4, "little") in data
    without = () if is_of_this_stemmer else ("vector_tail", "vector_segments")
    assert pack_states(told, without) == pack_states(golden, without)
