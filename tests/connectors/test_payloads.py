"""Any bytes as text; that the SQL makes what is read here is shown on a real Flink in tests/jobs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flink_memory.connectors.payloads import MARK, payload_of


@given(st.binary())
def test_bytes_behind_the_mark_come_back(payload: bytes) -> None:
    assert payload_of(MARK + payload.decode("latin-1")) == payload


@given(st.text().filter(lambda text: not text.startswith(MARK)))
def test_text_is_itself(text: str) -> None:
    assert payload_of(text) == text
