"""The job, wired: tables, the key, the memory operator, tables.

Python runs in the operator alone. The key is read from the record by Flink, in Java: a Python operator on
either side of the exchange would fight with the memory operator for the interpreter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, OutputTag, StreamExecutionEnvironment
from pyflink.datastream.data_stream import DataStream, KeyedStream
from pyflink.java_gateway import get_gateway
from pyflink.table import StreamTableEnvironment, Table
from pyflink.table.expressions import col

from flink_memory.connectors.payloads import key_sql, payload_sql
from flink_memory.connectors.tables import Edges, SinkEdge, SourceEdge
from flink_memory.jobs.operator import CHANGELOG, DEAD_LETTERS, KEYED_RECORD

OPERATOR_UID = "memory"
_PHYSICAL = "org.apache.flink.streaming.api.transformations.PhysicalTransformation"
_KEY = Types.ROW([Types.STRING()])
_KEYED_PAYLOAD = Types.ROW_NAMED(["agent_id", "payload"], [Types.STRING(), Types.STRING()])


def build_pipeline(env: StreamExecutionEnvironment, edges: Edges, operator: KeyedProcessFunction) -> None:
    """Wire the job into ``env``; ``env.execute()`` then runs it.

    All that holds state has a uid: sources and sinks (offsets, transactions, open files) and the operator.
    """
    tables = StreamTableEnvironment.create(env)
    records = _keyed_records(tables, edges.requests)
    _name_chain(records._j_data_stream.getTransformation(), "requests")
    results = records.process(operator, KEYED_RECORD).name("memory").uid(OPERATOR_UID)
    sinks = {
        "results": (edges.results, _table(tables, results, "agent_id", "payload")),
        "changelog": (edges.changelog, _table(tables, _side(results, CHANGELOG), "agent_id", "payload")),
        "dead_letters": (edges.dead_letters, _table(tables, _side(results, DEAD_LETTERS), "payload")),
    }
    before = len(_transformations(env))
    statements = tables.create_statement_set()
    for name, (edge, table) in sinks.items():
        columns = ", ".join(f"{column} STRING" for column in edge.columns)
        tables.execute_sql(_create_table(name, columns, edge.options))
        statements.add_insert(name, _columns(table, edge))
    statements.attach_as_datastream()
    for name, root in zip(sinks, _transformations(env)[before:], strict=True):
        _name_chain(root, name)


def _keyed_records(tables: StreamTableEnvironment, edge: SourceEdge) -> KeyedStream:
    """Read payloads as text (see :mod:`flink_memory.connectors.payloads`), keyed by their ``agent_id``."""
    tables.execute_sql(_create_table("requests", "payload BYTES", edge.options))
    only = "WHERE payload <> X''" if edge.skip_empty else ""
    # A record without a usable key goes the same way as the others, under the empty key.
    columns = f"{key_sql('payload')} AS agent_id, {payload_sql('payload')} AS payload"
    query = f"SELECT {columns} FROM requests {only}"  # noqa: S608
    stream = tables.to_append_stream(tables.sql_query(query), _KEYED_PAYLOAD)
    selector = get_gateway().jvm.org.apache.flink.streaming.api.functions.python.KeyByKeySelector()
    return KeyedStream(stream._j_data_stream.keyBy(selector, _KEY.get_java_type_info()), Types.STRING(), stream)


def _create_table(name: str, columns: str, options: Mapping[str, str]) -> str:
    quoted = ", ".join(f"{_quoted(key)} = {_quoted(value)}" for key, value in options.items())
    return f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ({quoted})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _side(results: DataStream, tag: OutputTag) -> DataStream:
    # PyFlink's own get_side_output puts a Python map behind it: 9 microseconds a record, for nothing.
    return DataStream(results._j_data_stream.getSideOutput(tag.get_java_output_tag()))


def _table(tables: StreamTableEnvironment, stream: DataStream, *names: str) -> Table:
    return tables.from_data_stream(stream).alias(*names)


def _columns(table: Table, edge: SinkEdge) -> Table:
    return table.select(*[col(name) for name in edge.columns])


def _name_chain(last: Any, name: str) -> None:
    """Give a uid to every operator from ``last`` up to the first that has one, or to the source.

    They are numbered from the table connector's end, as that is what holds state: what SQL puts between
    it and the memory operator is stateless, and may differ from one version of Flink to the next.
    """
    physical = get_gateway().jvm.java.lang.Class.forName(_PHYSICAL)
    chain = []
    here = last
    while here is not None and here.getUid() is None:
        if physical.isInstance(here):
            chain.append(here)
        inputs = list(here.getInputs())
        here = inputs[0] if inputs else None
    if here is None:  # it ended at a source
        chain.reverse()
    for number, transformation in enumerate(chain):
        transformation.setUid(f"{name}-{number}")


def _transformations(env: StreamExecutionEnvironment) -> list[Any]:
    return list(env._j_stream_execution_environment.getTransformations())
