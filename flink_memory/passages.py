"""Which rows stand beside which in a conversation.

A turn such as "Yes, last Friday!" says what it is about only together with the turns around it. So
the passage of a row is the row itself and its neighbours in the same session, each counting half
as much as the one before it, up to four steps away on either side.

Places are rows plus one. Place 0 is nobody: it is its own neighbour, so that a walk past the end of
a session stays there and needs no test.
"""

from __future__ import annotations

from array import array
from typing import Any, Final

import numpy as np
import numpy.typing as npt

STEP_WEIGHTS: Final = (0.5, 0.25, 0.125, 0.0625)
"""Weight of a neighbour one, two, three, four steps away. Powers of two, so that every sum over a
passage is exact in binary and does not depend on the order of adding."""

_WALK_WEIGHTS: Final = np.array([1.0, *STEP_WEIGHTS, *STEP_WEIGHTS])

Places = npt.NDArray[np.int64]
Lengths = npt.NDArray[np.float32]


class Passages:
    """The rows in order of arrival, chained by session, and the length of each row's passage.

    A removed row is in no chain: its neighbours are neighbours of each other. The chains depend on
    nothing but the rows that are left and their order.

    Args:
        sessions: Shape ``(n,)``: session key of each row, 0 for none.
        lengths: Shape ``(n,)``: length of each row in terms.
        alive: Shape ``(n,)``: which rows are not removed.

    Attributes:
        count: Number of rows that are not removed.
        total_length: Sum of their passages' lengths, in terms.
    """

    __slots__ = (
        "_following",
        "_last",
        "_lengths",
        "_passages",
        "_previous",
        "count",
        "total_length",
    )

    def __init__(
        self,
        sessions: npt.NDArray[np.uint64],
        lengths: npt.NDArray[np.uint16],
        alive: npt.NDArray[np.bool_],
    ) -> None:
        chained = np.flatnonzero(alive & (sessions != 0))
        chained = chained[np.argsort(sessions[chained], kind="stable")]
        same = sessions[chained[1:]] == sessions[chained[:-1]]
        before, after = chained[:-1][same] + 1, chained[1:][same] + 1
        ends = chained[np.append(~same, True)] if len(chained) else chained
        previous, following = np.zeros((2, len(sessions) + 1), np.int32)
        previous[after] = before
        following[before] = after
        own = np.concatenate(([0], np.where(alive, lengths, 0))).astype(np.float32)
        passages = own.copy()
        for links in (previous, following):
            at = links
            for weight in STEP_WEIGHTS:
                passages += np.float32(weight) * own[at]
                at = links[at]
        self._last = dict(zip(sessions[ends].tolist(), (ends + 1).tolist(), strict=True))
        self._previous = array("i", previous.tobytes())
        self._following = array("i", following.tobytes())
        self._lengths = array("f", own.tobytes())
        self._passages = array("f", passages.tobytes())
        self._passages[0] = 0.0
        self.count = int(alive.sum())
        self.total_length = float(passages[1:][alive].sum(dtype=np.float64))

    def append(self, session: int, length: int) -> None:
        """Add a row behind all others.

        Args:
            session: Its session key, 0 for none.
            length: Its length in terms.
        """
        place = len(self._previous)
        before = self._last.get(session, 0) if session else 0
        self._previous.append(before)
        self._following.append(0)
        self._lengths.append(length)
        self._passages.append(length)
        self.count += 1
        self.total_length += length
        if session:
            self._last[session] = place
        if before:
            self._following[before] = place
            self._grow(place, before, length)

    def drop_single(self, row: int) -> None:
        """Take out a row of no session: nobody is its neighbour.

        Args:
            row: A row with session key 0, not removed yet.
        """
        self.count -= 1
        self.total_length -= self._passages[row + 1]
        self._lengths[row + 1] = self._passages[row + 1] = 0.0

    def spread(self, places: Places) -> Places:
        """The places to whose passages each place belongs.

        Args:
            places: Shape ``(m,)``, none of a removed row.

        Returns:
            Shape ``(9, m)``: the places themselves, then one to four steps on, then one to four
            steps back; 0 where the session ends. ``walk_weights`` has the weight of each line.
        """
        reached = np.empty((1 + 2 * len(STEP_WEIGHTS), len(places)), np.int64)
        reached[0] = places
        line = 1
        for links in (self._following, self._previous):
            chain = np.frombuffer(links, np.int32)
            at: npt.NDArray[np.signedinteger[Any]] = places
            for _ in STEP_WEIGHTS:
                at = chain[at]
                reached[line] = at
                line += 1
        return reached

    @staticmethod
    def walk_weights() -> npt.NDArray[np.float64]:
        """Weight of each line of ``spread``, shape ``(9,)``."""
        return _WALK_WEIGHTS

    def lengths_at(self, places: Places) -> Lengths:
        """Length of the passages at ``places``, same shape, in terms."""
        return np.frombuffer(self._passages, np.float32)[places]

    @property
    def nbytes(self) -> int:
        """Bytes held, the table of sessions estimated."""
        return 16 * len(self._previous) + 100 * len(self._last) + 700

    def _grow(self, place: int, neighbour: int, length: int) -> None:
        """Let the passages up to four steps before ``place`` and its own grow into each other."""
        lengths, passages, previous = self._lengths, self._passages, self._previous
        for weight in STEP_WEIGHTS:
            passages[neighbour] += weight * length
            passages[place] += weight * lengths[neighbour]
            self.total_length += weight * (length + lengths[neighbour])
            neighbour = previous[neighbour]
            if not neighbour:
                return
