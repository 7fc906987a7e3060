"""An example of one's own job with memory in it: support tickets that recall earlier ones of the same customer.

Nothing here is of the memory job: the stream, the records and the function are somebody's own, and memory is a
state of that function like any other. Run it with ``python -m flink_memory.jobs.example_memory_state``.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment

from flink_memory.embedding import HashingModel
from flink_memory.jobs.environment import EnvironmentSettings, stream_environment
from flink_memory.state.flink_memory_state import MemoryState, MemoryStateDescriptor

Ticket = tuple[str, str, str, str]
TICKET = Types.TUPLE([Types.STRING()] * 4)
#: Customer, what happened, number of the ticket, text.
TICKETS: list[Ticket] = [
    ("ada", "opened", "1", "The parcel with my keyboard has not arrived"),
    ("bob", "opened", "2", "I was charged twice for one invoice"),
    ("ada", "solved", "1", "The parcel was at the neighbour's; the courier now rings twice"),
    ("ada", "opened", "3", "My invoice names the wrong company"),
    ("bob", "solved", "2", "The second charge was paid back"),
    ("bob", "opened", "4", "A parcel is missing, and I was charged for it all the same"),
    ("ada", "opened", "5", "Another parcel of mine has not arrived"),
    ("bob", "forget me", "-", ""),
    ("bob", "opened", "6", "Charged twice again"),
]


class RecallSimilarTickets(KeyedProcessFunction):  # type: ignore[misc]  # PyFlink is not typed
    """Says of each new ticket what it is like, and how that was solved."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the memory: these two lines are all that it takes."""
        descriptor = MemoryStateDescriptor("tickets", HashingModel())
        self.tickets = MemoryState.of(runtime_context, descriptor)

    def process_element(self, value: Ticket, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        """Handle a ticket; ``self.tickets`` is always the current customer's."""
        customer, event, number, text = value
        if event == "opened":
            yield f"{customer} opened ticket {number}: {text}"
            for earlier in self.tickets.search(text, limit=1, min_score=0.12):
                solution = (earlier.metadata or {}).get("solution", "not solved yet")
                yield f"    like ticket {earlier.id} ({earlier.score:.2f}): {earlier.memory} -> {solution}"
            self.tickets.add(text, memory_id=number, memory_type="experience")
        elif event == "solved":
            self.tickets.update(number, metadata={"solution": text})
            yield f"{customer}'s ticket {number} is solved: {text}"
        else:
            forgotten = len(self.tickets.get_all())
            self.tickets.clear()
            yield f"{customer} is forgotten: {forgotten} tickets"


def recalled(env: StreamExecutionEnvironment, tickets: list[Ticket]) -> DataStream:
    """Wire the job: tickets in, lines of text out."""
    stream = env.from_collection(tickets, TICKET).key_by(lambda ticket: ticket[0], Types.STRING())
    return stream.process(RecallSimilarTickets(), Types.STRING()).name("recall").uid("recall")


def main() -> None:
    """Run it on a Flink inside this process, and print what it says."""
    env = stream_environment(EnvironmentSettings(restart_attempts=0))
    with recalled(env, TICKETS).execute_and_collect("tickets that recall") as lines:
        for line in lines:
            print(line)


if __name__ == "__main__":
    main()
