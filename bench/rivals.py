"""What a user would pick instead, run as such a user runs it: memories come one by one, so they are added one by one.

Runs inside `.venv-bench` (see setup_rivals.sh), one rival at one size for each process:

    .venv-bench/bin/python -m bench.rivals mem0 WORKLOAD_FOLDER DATA_FOLDER

Embeddings are free for all: mem0 gets an embedder that looks the vector up.

- **mem0** as its guide has it: one store, agents told apart by ``user_id``. ``infer=False`` (no LLM), FAISS on disk
  with its default distance (euclidean: on unit vectors the order of cosine), ``threshold=0.0``, as its default drops
  results, telemetry off. Each add rewrites the index and the documents, so a store of 10,000 takes many minutes to
  fill: ``--add-seconds`` bounds it (see ``one_by_one.measure``). Its rate is then that of a smaller store, which
  flatters it.
- **Chroma** as a ``PersistentClient`` with cosine and otherwise default settings. Of several agents there are two
  habits: a collection for each (``chroma``), or one collection with a metadata filter (``chroma-filter``). The project
  is compared with the first, which is the quicker at both adding and searching.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bench.one_by_one import run
from bench.workload import DIMENSION, NEIGHBOURS, Float32Matrix, Workload, memory_name, memory_number


class Mem0:
    """mem0 with FAISS on disk."""

    def __init__(self, workload: Workload, folder: Path) -> None:
        """Open an empty store in ``folder``."""
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder / "home"), OPENAI_API_KEY="unused")
        from mem0 import Memory  # type: ignore[import-not-found]

        store = {"path": str(folder / "faiss"), "collection_name": "memories", "embedding_model_dims": DIMENSION}
        self._memory = Memory.from_config(
            {"vector_store": {"provider": "faiss", "config": store}, "history_db_path": str(folder / "history.db")}
        )
        self._memory.embedding_model = _LookUp(workload)
        self._workload = workload
        self._numbers = {text: number for number, text in enumerate(workload.texts)}

    def add(self, number: int) -> None:
        """Add one memory, without an LLM."""
        self._memory.add(self._workload.texts[number], user_id=self._workload.memory_agent(number), infer=False)

    def fill(self, numbers: range) -> None:
        """Put many into its vector store with the payload that its own ``add`` writes; its history gets none."""
        texts = [self._workload.texts[number] for number in numbers]
        self._memory.vector_store.insert(
            vectors=self._workload.vectors[numbers.start : numbers.stop],
            ids=[f"bulk-{number}" for number in numbers],
            payloads=[
                {"user_id": self._workload.memory_agent(number), "role": "user", "data": text, "text_lemmatized": text,
                 "hash": "0" * 32, "created_at": "2026-01-01T00:00:00+00:00", "updated_at": "2026-01-01T00:00:00+00:00"}
                for number, text in zip(numbers, texts, strict=True)
            ],
        )  # fmt: skip

    def search(self, query: int) -> list[int]:
        """Search among the memories of the query's agent."""
        filters = {"user_id": self._workload.query_agent(query)}
        found = self._memory.search(f"query {query}", top_k=NEIGHBOURS, filters=filters, threshold=0.0)
        return [self._numbers[hit["memory"]] for hit in found["results"]]


class _LookUp:
    """An embedder that costs nothing: it has every vector already."""

    def __init__(self, workload: Workload) -> None:
        self._vectors: dict[str, Float32Matrix] = dict(zip(workload.texts, workload.vectors, strict=True))
        self._vectors.update({f"query {number}": vector for number, vector in enumerate(workload.queries)})

    def embed(self, text: str, memory_action: str | None = None) -> Float32Matrix:
        return self._vectors[text]


class Chroma:
    """Chroma, embedded, on disk, a collection for each agent."""

    def __init__(self, workload: Workload, folder: Path) -> None:
        """Open an empty database in ``folder``."""
        self._workload = workload
        self._client = _chroma_client(folder)
        self._collections: dict[str, Any] = {}

    def add(self, number: int) -> None:
        """Add one memory to its agent's collection, which is made at the first."""
        self.fill(range(number, number + 1))

    def fill(self, numbers: range) -> None:
        """Add memories to the collections of their agents, up to a thousand in one call."""
        agents = self._workload.agents
        for first in range(numbers.start, min(numbers.start + agents, numbers.stop)):
            collection = self._collection(self._workload.memory_agent(first))
            for batch in _batches(range(first, numbers.stop, agents)):
                collection.add(**_records(self._workload, batch))

    def search(self, query: int) -> list[int]:
        """Search the collection of the query's agent."""
        collection = self._collection(self._workload.query_agent(query))
        found = collection.query(query_embeddings=self._workload.queries[query : query + 1], n_results=NEIGHBOURS)
        return [memory_number(name) for name in found["ids"][0]]

    def _collection(self, agent: str) -> Any:
        if agent not in self._collections:
            self._collections[agent] = _chroma_collection(self._client, agent)
        return self._collections[agent]


class ChromaFilter:
    """Chroma, embedded, on disk, one collection whose records name their agent."""

    def __init__(self, workload: Workload, folder: Path) -> None:
        """Open an empty database in ``folder``."""
        self._workload = workload
        self._collection = _chroma_collection(_chroma_client(folder), "memories")

    def add(self, number: int) -> None:
        """Add one memory with its agent as metadata."""
        self.fill(range(number, number + 1))

    def fill(self, numbers: range) -> None:
        """Add memories, up to a thousand in one call."""
        for batch in _batches(numbers):
            agents = [{"agent": self._workload.memory_agent(number)} for number in batch]
            self._collection.add(**_records(self._workload, batch), metadatas=agents)

    def search(self, query: int) -> list[int]:
        """Search among the records of the query's agent."""
        found = self._collection.query(
            query_embeddings=self._workload.queries[query : query + 1],
            n_results=NEIGHBOURS,
            where={"agent": self._workload.query_agent(query)},
        )
        return [memory_number(name) for name in found["ids"][0]]


def _records(workload: Workload, numbers: range) -> dict[str, Any]:
    return {
        "ids": [memory_name(number) for number in numbers],
        "embeddings": workload.vectors[numbers.start : numbers.stop : numbers.step],
        "documents": [workload.texts[number] for number in numbers],
    }


def _batches(numbers: range, size: int = 1000) -> list[range]:
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def _chroma_client(folder: Path) -> Any:
    import chromadb  # type: ignore[import-not-found]

    return chromadb.PersistentClient(str(folder), settings=chromadb.Settings(anonymized_telemetry=False))


def _chroma_collection(client: Any, name: str) -> Any:
    return client.create_collection(name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}})


if __name__ == "__main__":
    run({"mem0": Mem0, "chroma": Chroma, "chroma-filter": ChromaFilter})
