"""The FAISS side of one agent in use: exact flat indexes, and graphs over sealed segments.

The rows of the log are split into parts. The last part is open and flat; parts before it may hold a
graph (HNSW over the part's own flat storage). A search is exact on flat parts and wherever a mask
leaves few rows; a graph is asked only when the mask keeps most of its part, since a filtered graph
search loses recall (0.51 at 10,000 vectors when 1 % pass) where a flat one does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import faiss as _faiss
import numpy as np

from flink_memory.effects import BuildGraph, Float32Matrix, Float32Vector
from flink_memory.state.rows import BoolMask, RowNumbers

#: FAISS without its stubs, which leave out much of what is used here.
faiss: Any = _faiss


#: Below this share of living rows a graph is passed over for an exact search.
GRAPH_MIN_SHARE = 0.8
#: Up to this share of rows, gathering them and multiplying is quicker than a masked scan.
GATHER_MAX_SHARE = 0.25

#: Bytes of a FAISS flat index beside its vectors, measured.
_INDEX_BYTES = 330
#: Bytes of a graph for each row at 32 links, measured.
_GRAPH_ROW_BYTES = 272


@dataclass(slots=True)
class _Part:
    start: int
    flat: Any
    graph: Any = None

    @property
    def count(self) -> int:
        return int(self.flat.ntotal)

    @property
    def end(self) -> int:
        return self.start + self.count

    def matrix(self, dimension: int) -> Float32Matrix:
        """The part's vectors; a view that is valid until the next addition."""
        if not self.count:
            return np.empty((0, dimension), dtype=np.float32)
        flat = faiss.rev_swig_ptr(self.flat.get_xb(), self.count * dimension)
        matrix: Float32Matrix = flat.reshape(self.count, dimension)
        return matrix


def compute_alone() -> None:
    """Have FAISS compute in the calling thread alone.

    OpenMP keeps this for each thread that calls it, so every thread that searches or builds says it for
    itself. A second thread would only take the core of another slot.
    """
    faiss.omp_set_num_threads(1)


class VectorIndex:
    """Vectors by row number, searched by inner product.

    Args:
        dimension: Of every vector.
        ef_search: Size of a graph search's candidate list, at least.
    """

    __slots__ = ("_parts", "dimension", "ef_search")

    def __init__(self, dimension: int, ef_search: int) -> None:
        self.dimension = dimension
        self.ef_search = ef_search
        self._parts = [_Part(0, faiss.IndexFlatIP(dimension))]

    @property
    def count(self) -> int:
        """Rows, dead ones included."""
        return self._parts[-1].end

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        graphs = sum(part.count for part in self._parts if part.graph is not None)
        return self.count * self.dimension * 4 + graphs * _GRAPH_ROW_BYTES + _INDEX_BYTES * len(self._parts)

    @property
    def has_graph(self) -> bool:
        """Whether any part has a graph."""
        return any(part.graph is not None for part in self._parts)

    def add(self, vectors: Float32Matrix) -> None:
        """Append rows, shape ``(n, dim)``."""
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        self._parts[-1].flat.add_c(len(vectors), faiss.swig_ptr(vectors))

    def load(self, matrices: Sequence[Float32Matrix], graph: bytes | None = None) -> None:
        """Append many rows with one allocation, as when an agent is read from state.

        Args:
            matrices: Each of shape ``(n, dim)``.
            graph: The graph over just these rows, as :func:`build_graph` made it, if there is one.
        """
        if graph is not None:
            self._open_part()
        part = self._parts[-1]
        at = part.count
        part.flat.ntotal = at + sum(len(matrix) for matrix in matrices)
        part.flat.codes.resize(part.count * self.dimension * 4)
        target = part.matrix(self.dimension)
        for matrix in matrices:
            target[at : at + len(matrix)] = matrix
            at += len(matrix)
        if graph is not None:
            part.graph = _attached(graph, part.flat)
            self._open_part()

    def vector(self, row: int) -> Float32Vector:
        """A copy of one row's vector, shape ``(dim,)``."""
        part = self._part_of(row)
        vector: Float32Vector = part.matrix(self.dimension)[row - part.start].copy()
        return vector

    def slice(self, start: int, end: int) -> Float32Matrix:
        """A copy of the vectors of rows ``start`` to ``end``, shape ``(end - start, dim)``."""
        result = np.empty((end - start, self.dimension), dtype=np.float32)
        for part in self._parts:
            low, high = max(start, part.start), min(end, part.end)
            if low < high:
                matrix = part.matrix(self.dimension)
                result[low - start : high - start] = matrix[low - part.start : high - part.start]
        return result

    def scores(self, query: Float32Vector, rows: RowNumbers) -> Float32Vector:
        """Inner products of ``query`` with the vectors of ``rows``, shape ``(len(rows),)``.

        Args:
            query: Shape ``(dim,)``.
            rows: Ascending.
        """
        result = np.empty(len(rows), dtype=np.float32)
        for part in self._parts:
            low, high = np.searchsorted(rows, (part.start, part.end))
            if low < high:
                result[low:high] = _scores_of(part, query, rows[low:high] - part.start)
        return result

    def top(self, query: Float32Vector, k: int, mask: BoolMask | None) -> tuple[RowNumbers, Float32Vector]:
        """The ``k`` rows nearest to ``query``, best first.

        Exact but for parts with a graph of which ``mask`` keeps most rows. Ties go to the lower row.

        Args:
            query: Shape ``(dim,)``.
            k: At least 1.
            mask: Rows that count, shape ``(count,)``; ``None`` for all.

        Returns:
            ``(rows, scores)``; fewer than ``k`` when fewer rows count.
        """
        found = [_top_of_part(part, query, k, mask, self.ef_search) for part in self._parts if part.count]
        if not found:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        if len(found) == 1:
            return found[0]
        rows = np.concatenate([rows for rows, _ in found])
        scores = np.concatenate([scores for _, scores in found])
        order = np.lexsort((rows, -scores))[:k]
        return rows[order], scores[order]

    def keep(self, mask: BoolMask) -> None:
        """Drop all rows outside ``mask``; graphs over parts that lose rows are dropped with them."""
        kept = [part.matrix(self.dimension)[mask[part.start : part.end]] for part in self._parts]
        graphs = [part.graph is not None and bool(mask[part.start : part.end].all()) for part in self._parts]
        old, self._parts = self._parts, [_Part(0, faiss.IndexFlatIP(self.dimension))]
        for part, matrix, has_graph in zip(old, kept, graphs, strict=True):
            if has_graph:
                self._open_part()
                part.start = self.count
                self._parts[-1] = part
                self._parts.append(_Part(part.end, faiss.IndexFlatIP(self.dimension)))
            elif len(matrix):
                self.load([matrix])

    def set_graph(self, start: int, end: int, graph: bytes) -> None:
        """Put a graph over rows ``start`` to ``end``.

        Args:
            start: First row of a segment.
            end: Row after its last.
            graph: As :func:`build_graph` made it of those rows.
        """
        storage = faiss.IndexFlatIP(self.dimension)
        storage.add(self.slice(start, end))
        pieces: list[_Part] = []
        for part in self._parts:
            pieces.extend(_outside(part, start, end, self.dimension))
        pieces.append(_Part(start, storage, _attached(graph, storage)))
        pieces.sort(key=lambda part: part.start)
        if pieces[-1].graph is not None:
            pieces.append(_Part(pieces[-1].end, faiss.IndexFlatIP(self.dimension)))
        self._parts = pieces

    def _open_part(self) -> None:
        """Make sure that the last part is empty and flat."""
        if self._parts[-1].count:
            self._parts.append(_Part(self.count, faiss.IndexFlatIP(self.dimension)))

    def _part_of(self, row: int) -> _Part:
        for part in self._parts:
            if row < part.end:
                return part
        raise IndexError(f"Expected a row below {self.count}, got {row}.")


def build_graph(ask: BuildGraph) -> bytes:
    """Build the graph of a segment; seconds of CPU without the interpreter's lock.

    About 60 to 100 us a row. Deterministic: one thread, FAISS's fixed seed.

    Returns:
        The graph without its vectors, as FAISS serializes it.
    """
    compute_alone()
    graph = faiss.IndexHNSWFlat(ask.vectors.shape[1], ask.neighbors, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = ask.ef_construction
    graph.add(np.ascontiguousarray(ask.vectors, dtype=np.float32))
    return bytes(faiss.serialize_index(graph, faiss.IO_FLAG_SKIP_STORAGE))


def _attached(graph: bytes, storage: Any) -> Any:
    """A graph without vectors, put over the flat index that has them."""
    index = faiss.deserialize_index(np.frombuffer(graph, dtype=np.uint8), faiss.IO_FLAG_SKIP_STORAGE)
    index.storage = storage
    index.own_fields = False
    return index


def _outside(part: _Part, start: int, end: int, dimension: int) -> list[_Part]:
    """What is left of a part when rows ``start`` to ``end`` become a part of their own."""
    if part.end <= start or part.start >= end:
        return [part] if part.count else []
    matrix = part.matrix(dimension)
    pieces = []
    for low, high in ((part.start, min(start, part.end)), (max(end, part.start), part.end)):
        if low < high:
            flat = faiss.IndexFlatIP(dimension)
            flat.add(matrix[low - part.start : high - part.start])
            pieces.append(_Part(low, flat))
    return pieces


def _top_of_part(
    part: _Part, query: Float32Vector, k: int, mask: BoolMask | None, ef_search: int
) -> tuple[RowNumbers, Float32Vector]:
    allowed = None if mask is None else mask[part.start : part.end]
    left = part.count if allowed is None else int(np.count_nonzero(allowed))
    if not left:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
    if allowed is not None and left == part.count:
        allowed = None
    if allowed is not None and left <= GATHER_MAX_SHARE * part.count:
        rows = np.flatnonzero(allowed)
        return _top_of_scores(rows + part.start, _scores_of(part, query, rows), k)
    if part.graph is not None and left >= GRAPH_MIN_SHARE * part.count:
        rows, _ = _faiss_search(part, True, query, min(2 * k, left), allowed, max(ef_search, 2 * k))
        # A graph rounds otherwise than a scan does: equal rows in two parts would not tie.
        return _top_of_scores(rows + part.start, _scores_of(part, query, rows), k)
    rows, scores = _flat_search(part, query, k, allowed, left)
    return _top_of_scores(rows + part.start, scores, k)


def _scores_of(part: _Part, query: Float32Vector, rows: RowNumbers) -> Float32Vector:
    """Inner products with some rows, to the bit as a search gives them.

    A product of matrices rounds otherwise, and not the same for equal rows: ties would be torn.
    """
    query, rows = np.ascontiguousarray(query, dtype=np.float32), np.ascontiguousarray(rows, dtype=np.int64)
    scores = np.empty(len(rows), dtype=np.float32)
    part.flat.compute_distance_subset(1, faiss.swig_ptr(query), len(rows), faiss.swig_ptr(scores), faiss.swig_ptr(rows))
    return scores


def _flat_search(
    part: _Part, query: Float32Vector, k: int, allowed: BoolMask | None, left: int
) -> tuple[RowNumbers, Float32Vector]:
    """At least the ``k`` best rows, and all that tie with the last of them: FAISS takes any of those."""
    wanted = k + 1
    while True:
        rows, scores = _faiss_search(part, False, query, min(wanted, left), allowed, 0)
        if wanted >= left or scores[-1] < scores[k - 1]:
            return rows, scores
        wanted *= 4


def _faiss_search(
    part: _Part, use_graph: bool, query: Float32Vector, k: int, allowed: BoolMask | None, ef_search: int
) -> tuple[RowNumbers, Float32Vector]:
    selector = bits = None
    if allowed is not None:
        bits = np.packbits(allowed, bitorder="little")
        selector = faiss.IDSelectorBitmap(len(bits), faiss.swig_ptr(bits))
    parameters = None
    if use_graph:
        parameters = faiss.SearchParametersHNSW(efSearch=ef_search, sel=selector)
    elif selector is not None:
        parameters = faiss.SearchParameters(sel=selector)
    index = part.graph if use_graph else part.flat
    query = np.ascontiguousarray(query, dtype=np.float32)
    scores, rows = np.empty(k, dtype=np.float32), np.empty(k, dtype=np.int64)
    # Without the checks of FAISS's wrapper, a fifth of a search among a thousand rows; the query is checked.
    index.search_c(1, faiss.swig_ptr(query), k, faiss.swig_ptr(scores), faiss.swig_ptr(rows), parameters)
    if rows[-1] >= 0:
        return rows, scores
    found = rows >= 0
    return rows[found], scores[found]


def _top_of_scores(rows: RowNumbers, scores: Float32Vector, k: int) -> tuple[RowNumbers, Float32Vector]:
    """The ``k`` best of some rows; ties go to the lower row."""
    if len(rows) > k:
        reach = scores >= np.partition(scores, -k)[-k]
        rows, scores = rows[reach], scores[reach]
    order = np.lexsort((rows, -scores))[:k]
    return rows[order], scores[order]
