"""Train a checkpoint's body with a linear layer on top, one short course, and classify texts with it.

Only the seed brings chance in: order, first weights of the layer and dropout. Torch's own generator is
put back afterwards.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.errors import ModelError
from tedaudit.inference.loading import Checkpoint, choose_dtype, load_checkpoint
from tedaudit.seeding import derive, uniforms

_SMALL = 512  # hidden width below which a model takes larger steps
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
        """Return the learning rate of the body; the layer on top takes ten times larger steps."""
        return self.learning_rate or (2e-5 if width >= _SMALL else 3e-4)


def tuned_predictions(
    name: str, tuning: Tuning, lesson: tuple[Sequence[str], Sequence[int]], unseen: Sequence[str], key: int
) -> list[int]:
    """Train on texts with the numbers of their classes; return the class of each unseen text."""
    checkpoint = _body(name, tuning.device)
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
    return _body(name, device).checksum()


def _body(name: str, device: str) -> Checkpoint:
    try:
        import torch
    except ImportError as error:
        raise ModelError(
            f"The classifier '{name}' needs torch and transformers: pip install 'tedaudit[models]'. "
            "Without them there is: tfidf."
        ) from error
    with torch.random.fork_rng(devices=[]):  # a model is drawn at random before its weights are read
        # float32: small steps would be lost in shorter numbers; the work itself may use those
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
        """Return the tokens of each text; the empty text has at least one."""
        tokenizer, room = self._checkpoint.tokenizer, self._checkpoint.positions
        most = self._tuning.context if room is None else min(self._tuning.context, room)
        found = tokenizer(list(texts), truncation=True, max_length=most)["input_ids"] if texts else []
        return [list(one) or [self._padding] for one in found]

    def train(self, ids: Sequence[Sequence[int]], targets: npt.NDArray[Any], key: int) -> None:
        """Go over all texts in an order of the key's own, with a warm-up and steps that shrink to nothing."""
        import torch

        body, layer = list(self._body.parameters()), list(self._layer.parameters())
        groups = [{"params": body, "lr": self._rate}, {"params": layer, "lr": 10 * self._rate}]
        optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
        steps = self._tuning.epochs * -(-len(ids) // self._tuning.batch)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _share(step, steps))
        self._body.train()
        for epoch in range(self._tuning.epochs):
            order = np.argsort(uniforms([derive(key, "order", epoch)], len(ids))[0], kind="stable")
            for start in range(0, len(ids), self._tuning.batch):
                rows = order[start : start + self._tuning.batch]
                wanted = torch.as_tensor(targets[rows], device=self._checkpoint.device)
                loss = torch.nn.functional.cross_entropy(self._logits([ids[row] for row in rows]), wanted)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(body + layer, 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()

    def classify(self, ids: Sequence[Sequence[int]]) -> list[int]:
        """Return the likeliest class of each text."""
        import torch

        self._body.eval()
        found = np.zeros(len(ids), dtype=np.int64)
        with torch.inference_mode():
            for rows in _by_length(ids, 4 * self._tuning.batch):
                found[rows] = self._logits([ids[row] for row in rows]).argmax(dim=1).cpu().numpy()
        return [int(one) for one in found]

    def _logits(self, ids: Sequence[Sequence[int]]) -> Any:
        import torch

        device = self._checkpoint.device
        width = max(len(one) for one in ids)
        table = torch.tensor([[*one, *[self._padding] * (width - len(one))] for one in ids], device=device)
        mask = torch.tensor([[1] * len(one) + [0] * (width - len(one)) for one in ids], device=device)
        dtype = choose_dtype(self._tuning.dtype, device.type)
        with torch.autocast(device.type, dtype=dtype, enabled=device.type == "cuda"):
            hidden = self._body(input_ids=table, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).float()
        return self._layer((hidden.float() * weights).sum(dim=1) / weights.sum(dim=1))

    @property
    def _padding(self) -> int:
        found = self._checkpoint.tokenizer.pad_token_id
        return 0 if found is None else int(found)


def _share(step: int, steps: int) -> float:
    """Return which share of the learning rate a step has."""
    warm = max(1, int(_WARM_UP * steps))
    return (step + 1) / warm if step < warm else max(0.0, (steps - step) / max(1, steps - warm))


def _by_length(ids: Sequence[Sequence[int]], size: int) -> Iterator[list[int]]:
    """Yield rows of about the same length together, so that little is padded."""
    order = sorted(range(len(ids)), key=lambda row: (len(ids[row]), row))
    for start in range(0, len(order), size):
        yield order[start : start + size]
