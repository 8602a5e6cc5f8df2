import torch
from common.rows import IGNORED, ended, labels_of, squeezed
from common.vocabulary import END, PAD


def test_kept_tokens_move_to_the_front_and_say_where_they_went():
    ids = torch.tensor([[7, PAD, 8, PAD, 9], [PAD, PAD, PAD, 5, PAD]])
    found, place = squeezed(ids, ids != PAD)
    assert found.tolist() == [[7, 8, 9, PAD, PAD], [5, PAD, PAD, PAD, PAD]]
    assert [place[0, i].item() for i in (0, 2, 4)] == [0, 1, 2]
    assert place[1, 3].item() == 0


def test_an_end_follows_the_last_token_unless_the_row_was_cut():
    ids = torch.tensor([[7, 8, PAD, PAD], [7, 8, 9, 6], [PAD, PAD, PAD, PAD]])
    assert ended(ids).tolist() == [[7, 8, END, PAD], [7, 8, 9, 6], [END, PAD, PAD, PAD]]


def test_padding_is_no_label():
    assert labels_of(torch.tensor([[7, END, PAD]])).tolist() == [[7, END, IGNORED]]
