"""Calls that a container's Python cannot make are a result that says what to do."""

import pickle
from pathlib import Path

import pytest

from hydra import batch


def test_calls_of_another_python_are_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(batch.CALLS).write_bytes(pickle.dumps((3, 5)) + b"what only that one can read")
    batch.main()
    returned, error = pickle.loads(Path(batch.RESULT).read_bytes())
    assert not returned and isinstance(error, RuntimeError)
    assert "the calls are of Python 3.5, and " in str(error) and "python=" in str(error)
