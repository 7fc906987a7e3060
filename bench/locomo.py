"""How many of the turns that answer a question are found: LoCoMo, at the level of turns.

``python -m bench.locomo locomo_dev.json`` sends every turn as an ``observe`` and every question as a
``search`` to ``LocalMemory``, with the default configuration. ``measure`` takes any other way to retrieve::

    outcomes = measure(conversation, retrieve=lambda question: ["D1:3", ...])
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

import numpy as np

from flink_memory import LocalMemory
from flink_memory.clock import format_time
from flink_memory.config import EmbeddingConfig
from flink_memory.connectors.models import load_embedding_model
from flink_memory.embedding import EmbeddingModel

DEPTH: Final = 10
CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""The fifth, adversarial, has no answer to find."""

Retrieve = Callable[[str], Sequence[str]]

_EVIDENCE: Final = re.compile(r"D:?(\d+):(\d+)")
_SESSION: Final = re.compile(r"session_(\d+)")
_TURN_GAP_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said.

    Attributes:
        turn_id: Such as ``D3:11``: the eleventh turn of the third session.
        session_id: Such as ``session_3``.
        time_ms: When the session took place, and a second more for each turn.
        speaker: A first name.
        text: What was said; pictures and their captions are left out.
    """

    turn_id: str
    session_id: str
    time_ms: int
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the turns that answer it.

    Attributes:
        text: The question.
        category: A key of ``CATEGORIES``.
        evidence: Ids of known turns, each once, at least one.
    """

    text: str
    category: int
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """All turns of two speakers, in order, and what is asked about them."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How well one question was answered by the first ``DEPTH`` turns retrieved.

    Attributes:
        conversation: Its name.
        category: A key of ``CATEGORIES``.
        fraction: Share of the evidence found: its mean over questions is recall@k.
        any: 1 if any of it was found, else 0.
        all: 1 if all of it was found, else 0.
        reciprocal_rank: Of the first evidence found, 0 if none.
    """

    conversation: str
    category: int
    fraction: float
    any: float
    all: float
    reciprocal_rank: float


def load(path: Path) -> list[Conversation]:
    """Read conversations from a file in LoCoMo's own format."""
    return [_conversation(sample) for sample in json.loads(path.read_text("utf-8"))]


def measure(conversation: Conversation, retrieve: Retrieve) -> list[Outcome]:
    """Ask every question of a conversation.

    Args:
        conversation: What is asked.
        retrieve: Gives the ids of turns for a question, best first; at least ``DEPTH`` of them.

    Returns:
        One outcome for each question, in order.
    """
    return [_outcome(conversation.name, question, retrieve(question.text)) for question in conversation.questions]


def report(outcomes: Sequence[Outcome]) -> str:
    """A table of means: overall, by category, by conversation; of at least one outcome."""
    groups = {"all": list(outcomes)}
    for each in sorted(outcomes, key=lambda outcome: outcome.category):
        groups.setdefault(CATEGORIES[each.category], []).append(each)
    for each in outcomes:
        groups.setdefault(each.conversation, []).append(each)
    heading = f"{'':<24}{'questions':>10}{'recall@10':>11}{'any@10':>9}{'all@10':>9}{'MRR':>9}"
    return "\n".join([heading, *(_line(name, group) for name, group in groups.items())])


def from_memory(conversation: Conversation, model: EmbeddingModel) -> Retrieve:
    """Retrieve by the project as a user has it: each turn is observed, each question searched for among events.

    Args:
        conversation: Its turns are the agent's events.
        model: Embeds turns and questions.

    Returns:
        What ``measure`` takes.
    """
    memory = LocalMemory({}, model=model)
    for turn in conversation.turns:
        memory.observe(
            conversation.name,
            turn.text,
            event_id=turn.turn_id,
            session_id=turn.session_id,
            producer=turn.speaker,
            timestamp=format_time(turn.time_ms),
        )

    def retrieve(question: str) -> list[str]:
        return [hit["id"] for hit in memory.search(conversation.name, question, kinds=["event"], limit=DEPTH)]

    return retrieve


def evidence_ids(evidence: Iterable[str]) -> Iterator[str]:
    """Read the ids of turns; a few are joined, such as ``D8:6; D9:17``, or malformed, such as ``D:11:26``."""
    for text in evidence:
        for session, turn in _EVIDENCE.findall(text):
            yield f"D{int(session)}:{int(turn)}"


def _conversation(sample: dict[str, Any]) -> Conversation:
    sessions = sample["conversation"]
    numbers = sorted(int(found[1]) for name in sessions if (found := _SESSION.fullmatch(name)))
    turns = tuple(turn for number in numbers for turn in _turns(sessions, f"session_{number}"))
    known = {turn.turn_id for turn in turns}
    questions = []
    for each in sample["qa"]:
        evidence = tuple(turn for turn in dict.fromkeys(evidence_ids(each["evidence"])) if turn in known)
        if evidence and each["category"] in CATEGORIES:
            questions.append(Question(each["question"], each["category"], evidence))
    return Conversation(sample["sample_id"], turns, tuple(questions))


def _turns(sessions: dict[str, Any], name: str) -> Iterator[Turn]:
    start = datetime.strptime(sessions[f"{name}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=timezone.utc)
    for number, turn in enumerate(sessions[name]):
        time_ms = int(start.timestamp()) * 1_000 + number * _TURN_GAP_MS
        yield Turn(turn["dia_id"], name, time_ms, turn["speaker"], turn["text"])


def _outcome(conversation: str, question: Question, retrieved: Sequence[str]) -> Outcome:
    places = [place for place, turn in enumerate(retrieved[:DEPTH]) if turn in question.evidence]
    fraction = len(places) / len(question.evidence)
    return Outcome(
        conversation,
        question.category,
        fraction,
        any=float(fraction > 0),
        all=float(fraction == 1),
        reciprocal_rank=1 / (places[0] + 1) if places else 0.0,
    )


def _line(name: str, outcomes: Sequence[Outcome]) -> str:
    table = np.array([(each.fraction, each.any, each.all, each.reciprocal_rank) for each in outcomes])
    fraction, some, every, rank = table.mean(axis=0)
    return f"{name:<24}{len(outcomes):>10}{fraction:>11.4f}{some:>9.4f}{every:>9.4f}{rank:>9.4f}"


def main(arguments: Sequence[str]) -> int:
    """Measure retrieval on the file named by the first argument; 2 if there is none."""
    if len(arguments) != 1 or not Path(arguments[0]).is_file():
        sys.stderr.write("Usage: python -m bench.locomo LOCOMO.json\nExpected one argument, a LoCoMo file.\n")
        return 2
    model = load_embedding_model(EmbeddingConfig())
    outcomes: list[Outcome] = []
    for conversation in load(Path(arguments[0])):
        outcomes += measure(conversation, from_memory(conversation, model))
        sys.stderr.write(f"{conversation.name}: {len(conversation.turns)} turns\n")
    sys.stdout.write(report(outcomes) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
