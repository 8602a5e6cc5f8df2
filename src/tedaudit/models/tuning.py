"""Fine-tune a checkpoint's body briefly with a linear layer on top, and classify texts with it.

All randomness comes from the seed: order, initial weights of the layer and dropout. Torch's global
generator is restored afterwards.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.models.loading import Checkpoint, choose_dtype, load_checkpoint
from tedaudit.plugins.extras import require
from tedaudit.seeding import derive, uniforms

_SMALL = 512  # hidden width below which a model gets a larger learning rate
_WARM_UP = 0.1  # of all steps


@dataclass(frozen=True)
class Tuning:
    """How a classifier is trained; a learning rate of 0 means 2e-5, or 3e-4 for a small model."""

    learning_rate: float = 0.0
    epochs: int = 1
    batch: int = 16
    context: int = 128
    device: str = "auto"
    dtype: str = "auto"

    def rate(self, width: int) -> float:
        """Return the learning rate of the body; the layer on top uses ten times as much."""
        return self.learning_rate or (2e-5 if width >= _SMALL else 3e-4)


def train_and_predict(
    name: str, tuning: Tuning, lesson: tuple[Sequence[str], Sequence[int]], unseen: Sequence[str], key: int
) -> list[int]:
    """Train on texts and their class numbers; return the class of each unseen text."""
    checkpoint = _load_body(name, tuning.device)
    import torch

    texts, targets = lesson
    cuda = [checkpoint.device] if checkpoint.device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(derive(key, "weights") % 2**63)
        model = _Model(checkpoint, tuning, max(targets) + 1)
        model.train(model.ids(texts), np.asarray(targets), key)
        return model.classify(model.ids(unseen))


def body_checksum(name: str, device: str) -> str:
    """Return a hash of the weights that training starts from."""
    return _load_body(name, device).checksum()


def _load_body(name: str, device: str) -> Checkpoint:
    instead = "or use the classifier tfidf, which needs neither"
    require(f"The classifier '{name}'", "torch", "transformers", instead=instead)
    import torch

    with torch.random.fork_rng(devices=[]):  # loading draws random weights before it reads the real ones
        # float32: small updates would be lost in a shorter format; forward passes may still use one
        return load_checkpoint("body", name, "", device, "float32", "sdpa")


class _Model:
    """A copy of the body and its linear layer."""

    def __init__(self, checkpoint: Checkpoint, tuning: Tuning, classes: int) -> None:
        import torch

        body = copy.deepcopy(checkpoint.model)
        self._body = body.get_encoder() if body.config.is_encoder_decoder else body
        self._body.requires_grad_(requires_grad=True)
        width = body.get_input_embeddings().weight.shape[1]
        width = getattr(body.config, "hidden_size", width)
        self._layer = torch.nn.Linear(width, classes).to(checkpoint.device)
        self._rate = tuning.rate(width)
        self._tuning, self._checkpoint = tuning, checkpoint

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text, at least one even for an empty text."""
        tokenizer, room = self._checkpoint.tokenizer, self._checkpoint.positions
        limit = self._tuning.context if room is None else min(self._tuning.context, room)
        ids = tokenizer(list(texts), truncation=True, max_length=limit)["input_ids"] if texts else []
        return [list(tokens) or [self._padding] for tokens in ids]

    def train(self, ids: Sequence[Sequence[int]], targets: npt.NDArray[Any], key: int) -> None:
        """Train on all texts in an order set by the key, with a warm-up and a rate that decays to zero."""
        import torch

        body, layer = list(self._body.parameters()), list(self._layer.parameters())
        groups = [{"params": body, "lr": self._rate}, {"params": layer, "lr": 10 * self._rate}]
        optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
        steps = self._tuning.epochs * -(-len(ids) // self._tuning.batch)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _schedule_rate(step, steps))
        self._body.train()
        for epoch in range(self._tuning.epochs):
            order = np.argsort(uniforms([derive(key, "order", epoch)], len(ids))[0], kind="stable")
            for start in range(0, len(ids), self._tuning.batch):
                rows = order[start : start + self._tuning.batch]
                labels = torch.as_tensor(targets[rows], device=self._checkpoint.device)
                logits = self._compute_logits([ids[row] for row in rows])
                loss = torch.nn.functional.cross_entropy(logits, labels)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(body + layer, 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()

    def classify(self, ids: Sequence[Sequence[int]]) -> list[int]:
        """Return the likeliest class of each text."""
        import torch

        self._body.eval()
        classes = np.zeros(len(ids), dtype=np.int64)
        with torch.inference_mode():
            for rows in _batch_by_length(ids, 4 * self._tuning.batch):
                classes[rows] = self._compute_logits([ids[row] for row in rows]).argmax(dim=1).cpu().numpy()
        return [int(number) for number in classes]

    def _compute_logits(self, ids: Sequence[Sequence[int]]) -> Any:
        import torch

        device = self._checkpoint.device
        width = max(len(tokens) for tokens in ids)
        padded = [[*tokens, *[self._padding] * (width - len(tokens))] for tokens in ids]
        table = torch.tensor(padded, device=device)
        real = [[1] * len(tokens) + [0] * (width - len(tokens)) for tokens in ids]
        mask = torch.tensor(real, device=device)
        dtype = choose_dtype(self._tuning.dtype, device.type)
        with torch.autocast(device.type, dtype=dtype, enabled=device.type == "cuda"):
            hidden = self._body(input_ids=table, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).float()
        return self._layer((hidden.float() * weights).sum(dim=1) / weights.sum(dim=1))

    @property
    def _padding(self) -> int:
        token = self._checkpoint.tokenizer.pad_token_id
        return 0 if token is None else int(token)


def _schedule_rate(step: int, steps: int) -> float:
    """Return the share of the learning rate that a step uses."""
    warm = max(1, int(_WARM_UP * steps))
    return (step + 1) / warm if step < warm else max(0.0, (steps - step) / max(1, steps - warm))


def _batch_by_length(ids: Sequence[Sequence[int]], size: int) -> Iterator[list[int]]:
    """Yield batches of rows of about the same length, so that there is little padding."""
    order = sorted(range(len(ids)), key=lambda row: (len(ids[row]), row))
    for start in range(0, len(order), size):
        yield order[start : start + size]
