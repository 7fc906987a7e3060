"""Write the golden bytes of layout 1: ``python tests/state/make_golden.py``.

A file that is there is never written again: released layouts stay readable. For a new layout, add new
samples under new names.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.state.samples import SAMPLES, pack_states, tell_the_story

FOLDER = Path(__file__).parent / "golden"


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    values = {name: sample.write for name, sample in SAMPLES.items()}
    values["agent"] = lambda: pack_states(tell_the_story())
    kept = 0
    for name, write in values.items():
        path = FOLDER / f"{name}.bin"
        if path.exists():
            kept += 1
            print(f"{path.name}: is there, left as it is")
        else:
            path.write_bytes(write())
            print(f"{path.name}: written")
    return 1 if kept else 0


if __name__ == "__main__":
    sys.exit(main())
