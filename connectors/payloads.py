"""Payloads of any bytes as text.

Text passes between Flink and Python many times faster than bytes do. A payload in UTF-8 passes as its text;
any other passes as U+0001, which begins no JSON, and then each byte as the character of the same number
(ISO 8859-1). A text that itself begins with U+0001 takes the second way too, so nothing is ambiguous; and one
that begins with a byte order mark, in either order of its bytes, as in thread mode a string loses it, or is read
with its bytes swapped, on its way into Python.
"""

from __future__ import annotations

MARK = "\x01"


def payload_of(text: str) -> str | bytes:
    """Read a payload that :func:`payload_sql` has made: text, or bytes where it had to be."""
    return text[1:].encode("latin-1") if text.startswith(MARK) else text


def payload_sql(payload: str) -> str:
    """Say in Flink SQL how column ``payload``, of type ``BYTES``, becomes that text; null becomes no bytes."""
    text = f"DECODE({payload}, 'UTF-8')"
    return (
        f"CASE WHEN ENCODE({text}, 'UTF-8') = {payload} "
        f"AND LEFT({text}, 1) NOT IN (U&'\\0001', U&'\\FEFF', U&'\\FFFE') THEN {text} "
        f"ELSE U&'\\0001' || COALESCE(DECODE({payload}, 'ISO-8859-1'), '') END"
    )


def key_sql(payload: str) -> str:
    """Say in Flink SQL which agent ``payload``, of type ``BYTES``, names; the empty text when it names none.

    Text that Python cannot be given as it is becomes other text: half of a surrogate pair a question mark, and
    byte order marks at its begin nothing. The operator sees that it is not the record's ``agent_id``.
    """
    named = f"COALESCE(JSON_VALUE(DECODE({payload}, 'UTF-8'), '$.agent_id'), '')"
    return f"LTRIM(DECODE(ENCODE({named}, 'UTF-8'), 'UTF-8'), U&'\\FEFF\\FFFE')"
