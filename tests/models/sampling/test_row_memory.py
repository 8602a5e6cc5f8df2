import torch

from tedaudit.models.loading import RowMemory


def test_rows_are_found_by_what_was_read_and_where_the_mask_was():
    memory = RowMemory()
    memory.keep([5, 6, 7], 1, torch.tensor([0.5, 1.5]))
    assert memory.find((5, 6, 7), 1).tolist() == [0.5, 1.5]
    assert memory.find([5, 6, 7], 2) is None
    assert memory.find([5, 6], 1) is None


def test_the_least_recently_used_row_makes_room():
    memory = RowMemory(cells=4)
    for token in (1, 2):
        memory.keep([token], 0, torch.full((2,), float(token)))
    assert memory.find([1], 0) is not None
    memory.keep([3], 0, torch.full((2,), 3.0))
    assert memory.find([2], 0) is None
    assert memory.find([1], 0).tolist() == [1.0, 1.0]
    assert memory.find([3], 0).tolist() == [3.0, 3.0]


def test_a_row_larger_than_the_memory_is_not_kept():
    memory = RowMemory(cells=4)
    memory.keep([1], 0, torch.zeros(4))
    memory.keep([2], 0, torch.zeros(5))
    assert memory.find([1], 0) is not None
    assert memory.find([2], 0) is None


def test_what_is_kept_does_not_follow_the_batch():
    batch = torch.zeros((2, 3))
    memory = RowMemory()
    memory.keep([1], 0, batch[0])
    batch += 1
    assert memory.find([1], 0).tolist() == [0.0, 0.0, 0.0]
