"""The memory job for a cluster: ``flink run -py jobs/agent_memory.py --input FILE --output DIR ...``.

Takes the arguments of ``flink-memory run``. Files must be where every TaskManager and the client see them; what
Flink itself needs (parallelism, state backend, checkpoints) comes from the cluster's ``config.yaml``.
"""

from __future__ import annotations

import sys

from flink_memory.jobs.cli import main

if __name__ == "__main__":
    code = main(["run", *sys.argv[1:]])
    if code:  # leaving by sys.exit(0) would look like a failure to Flink's driver
        sys.exit(code)
