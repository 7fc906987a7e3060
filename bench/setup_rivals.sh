#!/usr/bin/env bash
# Makes `.venv-bench`, where the rivals live: their pins collide with apache-flink's, so they never share its environment.
# Run it from anywhere; it does nothing when the environment already holds them. PYTHON chooses the interpreter.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
environment="${BENCH_VENV:-$root/.venv-bench}"
python="${PYTHON:-$root/.venv/bin/python}"
[ -x "$python" ] || python=python3

if ! "$environment/bin/python" -c 'import chromadb, faiss, mem0' 2>/dev/null; then
    "$python" -m venv "$environment"
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check \
        'mem0ai==2.2.1' 'chromadb==1.5.9' 'faiss-cpu==1.15.1'
fi
"$environment/bin/python" - <<'PY'
from importlib.metadata import version
print("rivals:", ", ".join(f"{name} {version(name)}" for name in ("mem0ai", "chromadb", "faiss-cpu", "numpy")))
PY
