"""How one agent is kept under a Flink key."""
