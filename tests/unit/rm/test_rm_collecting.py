"""Python's garbage collector rests while a leader's memory is made, and never looks at it again."""

import gc

import pytest

from controlplane.rm.driver import collecting


def test_garbage_is_looked_for_again_once_the_last_memory_is_made() -> None:
    assert gc.isenabled()
    kept: list[object] = []
    try:
        with pytest.raises(ValueError, match="unreadable"), collecting.paused():
            with collecting.paused():
                kept.append({"a": [1]})
            assert not gc.isenabled(), "another is still being made"
            raise ValueError("unreadable")
        assert gc.isenabled() and gc.get_freeze_count() > 0
        assert not any(found is kept[0] for found in gc.get_objects())
        with collecting.paused():
            assert any(found is kept[0] for found in gc.get_objects()), "a leader before may have left garbage"
    finally:
        gc.unfreeze()
