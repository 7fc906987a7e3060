"""What an event or a chat message says: text, or a list of blocks."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import PlainValidator

from flink_memory.fields import refuse, require_json
from flink_memory.wording import shown

Block: TypeAlias = dict[str, Any]
MessageContent: TypeAlias = str | tuple[Block, ...]


def decode_event_content(value: object) -> MessageContent:
    """Check the content of an event: text, or a list of text blocks; not empty.

    Raises:
        PydanticCustomError: Anything else.
    """
    if type(value) is str:
        content: MessageContent = _checked_text(value)
    elif isinstance(value, (list, tuple)):
        content = tuple(_text_block(block, f"[{row}]") for row, block in enumerate(value))
    else:
        refuse(_expected_content(value))
    if not text_of(content):
        refuse('Expected content, got none. Send a text, or blocks such as {"type": "text", "text": "hello"}.')
    return content


def _text_block(block: object, path: str) -> Block:
    if type(block) is not dict:
        refuse(f'Expected a block such as {{"type": "text", "text": "hello"}}, got {shown(block)}.', path)
    if block.get("type") != "text":
        refuse(f'Expected a block of type "text", got {shown(block.get("type"))}.', f"{path}.type")
    if type(block.get("text")) is not str:
        refuse(f"Expected a string, got {shown(block.get('text'))}.", f"{path}.text")
    unknown = [name for name in block if name not in ("type", "text")]
    if unknown:
        refuse(f"A text block has no field {shown(unknown[0])}: its fields are type and text.", path)
    _checked_text(block["text"], f"{path}.text")
    return block


def decode_message_content(value: object) -> MessageContent | None:
    """Check the content of a chat message: text, null, or a list of blocks of any type.

    Raises:
        PydanticCustomError: Anything else.
    """
    if value is None:
        return None
    if type(value) is str:
        return _checked_text(value)
    if not isinstance(value, (list, tuple)):
        refuse(_expected_content(value))
    return tuple(_message_block(block, f"[{row}]") for row, block in enumerate(value))


def _message_block(block: object, path: str) -> Block:
    if type(block) is not dict or type(block.get("type")) is not str:
        refuse(f'Expected a block such as {{"type": "text", "text": "hello"}}, got {shown(block)}.', path)
    if block["type"] == "text" and type(block.get("text")) is not str:
        refuse(f"Expected a string, got {shown(block.get('text'))}.", f"{path}.text")
    require_json(block, path)
    return block


def _checked_text(text: str, path: str = "") -> str:
    require_json(text, path)
    return text


def _expected_content(value: object) -> str:
    return f"Expected a string or a list of blocks, got {shown(value)}."


def text_of(content: MessageContent | None) -> str:
    """Join what is text in a content, block by block, with newlines; ``""`` when there is none."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text" and block["text"])


EventContent = Annotated[MessageContent, PlainValidator(decode_event_content)]
OptionalMessageContent = Annotated[MessageContent | None, PlainValidator(decode_message_content)]
