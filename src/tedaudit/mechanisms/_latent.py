"""Shared by DP-BART and ADePT: noise on a clipped latent, its privacy claim and its likelihoods.

Any two clipped latents lie within a known distance of each other, whatever the texts, so the noise
covers any two texts. Noise is added in float64 to float32 numbers; the sum is rounded to float32
before it is released and decoded. If the model runs on a GPU all of that happens there, and the
released latents alone are copied.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tedaudit.errors import SpecError
from tedaudit.mechanisms._noise import Noise, clip_norm, laplaces, sigma_for, true_epsilon
from tedaudit.models.decoding import decode_all
from tedaudit.models.loading import Checkpoint
from tedaudit.models.sampling.noise import Tensor, make_normals
from tedaudit.models.zoo import load_tokenizer
from tedaudit.plugins.batches import Draws, PairLosses, Ragged, Rewrites, TextLikelihoods
from tedaudit.plugins.values import Array, Claim, Draw, Floats, InputLimit, Level, ModelUse, Note
from tedaudit.seeding import key_numbers, normals

Singles = npt.NDArray[np.float32]
Request = tuple[str, int, float]  # text, key, epsilon
_LATENTS = {"cpu": 1 << 24, "cuda": 1 << 25}  # float32 numbers that are decoded together: 64 MB, 128 MB
_CELLS = 1 << 22  # float64 noise values in memory at a time: 32 MB
_TEXTS = 256  # texts encoded and clipped at a time
_LARGEST = 1e38  # stands for an infinite component, so that a norm is finite
_TABLE = 2048  # texts whose latents are copied to the host at a time
_ON_GPU = "torch on cuda"  # in the key of a table
_SLACK = 1.001  # a larger epsilon or distance than stated is told from this factor on


@dataclass(frozen=True)
class Latent(ABC):
    """Encodes a text as a vector, clips it, adds noise and decodes the result."""

    model: str = ""
    """The model that encodes and decodes: a folder, a hub id or zoo:NAME."""
    clip: float = 1.0
    """Clip bound: on every component of the vector (clipping value) or on its L2 norm (norm)."""
    clipping: Literal["value", "norm"] = "norm"
    """What `clip` bounds. value: every component by itself. norm: the length of the vector."""
    noise: Noise = "analytic_gaussian"
    """analytic_gaussian and laplace are exact; gaussian (the classical formula) only below epsilon 1."""
    delta: float = 1e-5
    """Delta of the claim. Laplace noise has none."""
    window: int = 20
    """Tokens of a text that the encoder reads, start and end included; the rest is cut."""
    max_tokens: int = 20
    """Maximum number of tokens in a rewrite."""
    dtype: str = "float32"
    """Number format of the model: auto (bfloat16 on CUDA, otherwise float32) or a torch dtype."""
    device: str = field(default="auto", metadata={"incidental": True})
    """Where the model runs: auto (CUDA, or else the CPU) or a torch device."""
    noise_on: Literal["auto", "cpu"] = field(default="auto", metadata={"incidental": True})
    """Where the noise is drawn. auto: on the model's GPU if it has one. cpu: by numpy."""
    _right_scale: ClassVar[str] = ""  # the setting that scales noise for the true sensitivity

    def __post_init__(self) -> None:
        if not 0 < self.clip < math.inf:
            raise SpecError(f"clip is {self.clip}; it must be above 0 and finite.")
        if not 0 < self.delta < 1:
            raise SpecError(f"delta is {self.delta}; it must be above 0 and below 1.")
        if self.window < 3 or self.max_tokens < 2:
            raise SpecError(
                f"window is {self.window} and max_tokens is {self.max_tokens}; a window needs at least 3 "
                "tokens (two of them mark start and end), a rewrite at least 2."
            )

    @abstractmethod
    def _load_checkpoint(self) -> Checkpoint: ...

    @abstractmethod
    def _count_components(self) -> int:
        """Return how many components a latent has."""

    @abstractmethod
    def _run_encoder(self, texts: Sequence[str]) -> Tensor:
        """Return the flattened encoder output of each text, before clipping, where the model is."""

    @abstractmethod
    def _read_text(self, text: str) -> Sequence[int]:
        """Return the tokens of a text that the encoder reads, without padding."""

    @abstractmethod
    def _run_decoder(self, latents: Tensor, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the tokens decoded from each row; of the texts at most the mask is used."""

    def _write(self, decoded: str) -> str:
        """Return what is released of the decoded tokens."""
        return decoded.strip()

    def _compute_excess(self) -> float:
        """Return the true sensitivity divided by the one that the noise is scaled for."""
        return 1.0

    def claim(self, epsilon: float) -> Claim | None:
        """Promise epsilon for the whole text, and state the epsilon that the noise really gives."""
        delta = 0.0 if self.noise == "laplace" else self.delta
        excess = self._compute_excess()
        if self.noise == "laplace":
            actual = epsilon * excess
        else:
            actual = true_epsilon(excess, sigma_for(self.noise, 1.0, epsilon, delta), delta)
        return Claim(epsilon, "sentence", delta=delta, actual=actual)

    def arithmetic(self, epsilons: Sequence[float], texts: Sequence[str]) -> Iterator[Note]:  # noqa: ARG002
        """Yield whether formula and sensitivity are right, and what rounding does to tails."""
        if self.noise == "gaussian":
            yield from self._check_formula(epsilons)
        yield from self._check_sensitivity(epsilons[-1])
        yield from self._check_tails()

    def input_limit(self) -> InputLimit | None:
        """Return the window, counted with the tokenizer of a model of the zoo."""
        tokenizer = load_tokenizer(self.model)
        if tokenizer is None:
            return None
        return InputLimit(lambda text: len(tokenizer.encode(text).ids), self.window, "tokens")

    def models(self) -> Sequence[ModelUse]:
        """Name the checkpoint."""
        return [ModelUse("weights", self.model)]

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the weights, their number format, and where noise is made if on a GPU.

        Words and uniforms are the same everywhere. Normals of a GPU may differ from numpy's in the last bits,
        so rows of both do not lie in one table.
        """
        there = {"noise": _ON_GPU} if self._makes_noise_there() else {}
        return {**self._load_checkpoint().fingerprint(), **there}

    def noise_source(self) -> str:
        """Return what makes the noise: numpy, or torch on a GPU that is named."""
        if not self._makes_noise_there():
            return "numpy"
        import torch

        return f"torch on {torch.cuda.get_device_name(self._find_home())}"

    def _makes_noise_there(self) -> bool:
        return self.noise != "laplace" and self.noise_on == "auto" and self._find_home().type == "cuda"

    def sensitivity(self) -> float:
        """Return the largest distance between two latents: in L2, or in L1 for Laplace noise."""
        root = math.sqrt(self._count_components())
        distance = 2 * self.clip * (root if self.clipping == "value" else 1.0)
        return distance * root if self.noise == "laplace" else distance

    def noise_scale(self, epsilon: float) -> float:
        """Return the scale of the noise on each component: standard deviation, or Laplace's b."""
        return sigma_for(self.noise, self.sensitivity() / self._compute_excess(), epsilon, self.delta)

    def noise_norm(self, epsilon: float) -> float:
        """Return the root of the expected squared L2 norm of the noise, without sampling."""
        variance = (2.0 if self.noise == "laplace" else 1.0) * self.noise_scale(epsilon) ** 2
        return math.sqrt(variance * self._count_components())

    def noise_of(self, keys: Sequence[int], epsilon: float) -> Floats:
        """Return the noise that a draw with each of these keys adds to the latent, one row per key."""
        standard = self._draw_standard(keys).cpu().numpy()
        return np.asarray(self.noise_scale(epsilon) * standard, dtype=np.float64)

    def largest_norm(self) -> float:
        """Return the L2 norm that no clipped latent exceeds."""
        return self.clip * (math.sqrt(self._count_components()) if self.clipping == "value" else 1.0)

    def pieces(self, text: str) -> tuple[str, ...]:
        """Return the tokens of a text that the encoder reads; those beyond the window are missing."""
        tokenizer = self._load_checkpoint().tokenizer
        return tuple(str(tokenizer.decode([token])) for token in self._read_text(text))

    def encode(self, texts: Sequence[str]) -> Sequence[Singles] | Singles:
        """Return the latent of each text after clipping and before noise, flat like a released one."""
        distinct = sorted(set(texts))
        table = np.zeros((len(distinct), self._count_components() if distinct else 0), dtype=np.float32)
        for start in range(0, len(distinct), _TABLE):
            ((_, clean),) = self._encode_alike(distinct[start : start + _TABLE])
            table[start : start + _TABLE] = clean.cpu().numpy()
        row = {text: i for i, text in enumerate(distinct)}
        return table[[row[text] for text in texts]]

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Encode each distinct text once or twice, add each draw's noise, decode in batches."""
        asked = list_requests(draws)
        place: dict[Request, int] = {}
        parts = []
        for requests, latents in self._draw_latents(set(asked)):
            tokens = self._run_decoder(latents, [text for text, _, _ in requests])
            decoded = decode_all(self._load_checkpoint().tokenizer, tokens)
            outputs = [self._write(text) for text in decoded]
            released = latents.cpu().numpy()
            parts.append(Rewrites.from_texts(outputs, tokens=tokens, latents=released, units=1))
            place |= {request: len(place) + i for i, request in enumerate(requests)}
        return Rewrites.join(parts)[[place[request] for request in asked]]

    def latents(self, draws: Sequence[Draw]) -> Ragged:
        """Return the latents that `rewrite` releases, and decode none; on a CPU to the bit in any batch."""
        asked = list_requests(draws)
        place: dict[Request, int] = {}
        parts = [Ragged.absent(0, np.float32)]
        for requests, latents in self._draw_latents(set(asked)):
            parts.append(Ragged.from_matrix(latents.cpu().numpy()))
            place |= {request: len(place) + i for i, request in enumerate(requests)}
        return Ragged.join(parts).take([place[request] for request in asked])

    def _draw_latents(self, wanted: set[Request]) -> Iterator[tuple[list[Request], Tensor]]:
        """Yield requests whose latents have one length, and the latents that they release."""
        import torch

        for block in self._split_into_blocks(wanted):
            for texts, clean in self._encode_alike(list(dict.fromkeys(text for text, _, _ in block))):
                row = {text: i for i, text in enumerate(texts)}
                requests = [request for request in block if request[0] in row]
                latents = clean[torch.tensor([row[text] for text, _, _ in requests], device=clean.device)]
                step = max(1, _CELLS // latents.shape[1])
                for start in range(0, len(requests), step):
                    self._add_noise(latents[start : start + step], requests[start : start + step])
                yield requests, latents

    def _add_noise(self, latents: Tensor, requests: Sequence[Request]) -> None:
        """Add each request's noise to its latent, in place; repeated if it is longer than the noise."""
        import torch

        keys = list(dict.fromkeys(key for _, key, _ in requests))
        number = {key: i for i, key in enumerate(keys)}
        scale = {epsilon: self.noise_scale(epsilon) for epsilon in {epsilon for _, _, epsilon in requests}}
        which = torch.tensor([number[key] for _, key, _ in requests], device=latents.device)
        scales = [scale[epsilon] for _, _, epsilon in requests]
        factors = torch.tensor(scales, dtype=torch.float64, device=latents.device)
        noise = factors[:, None] * self._draw_standard(keys)[which]
        noise = noise.repeat(1, latents.shape[1] // noise.shape[1])
        latents.copy_(latents.double() + noise)

    def _encode_alike(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[str], Tensor]]:
        """Yield texts whose latents have one length, and those latents, clipped, where noise is added."""
        import torch

        steps = range(0, len(texts), _TEXTS)
        yield texts, torch.cat([self._clip(self._run_encoder(texts[i : i + _TEXTS])) for i in steps])

    def _clip(self, hidden: Tensor) -> Tensor:
        """Return encoder outputs clipped, as float32, where noise is added.

        What is no number, since a model overflows with few digits, is 0: noise added to it would be lost.
        """
        import torch

        numbers = torch.nan_to_num(hidden.to(self._find_home(), torch.float64), 0.0, _LARGEST, -_LARGEST)
        return round_inwards(self._clip_rows(numbers))

    def _find_home(self) -> Any:
        """Return the device that adds noise: the model's, if it has float64."""
        device = self._load_checkpoint().device  # which says what is missing, if torch is

        import torch

        return device if device.type == "cuda" else torch.device("cpu")

    def log_density(self, latent: Array, latents: Sequence[Array] | Array, epsilon: float) -> Floats:
        """Return the log density of a released latent around each of these (float64, with all constants)."""
        scale, size = self.noise_scale(epsilon), self._count_components()
        released = np.asarray(latent, dtype=np.float64)
        residuals = (released - np.asarray(row, dtype=np.float64) for row in latents)
        if self.noise == "laplace":
            return np.array([-float(np.abs(r).sum()) / scale for r in residuals]) - size * math.log(2 * scale)
        squares = np.array([float(r @ r) for r in residuals])
        return -squares / (2 * scale**2) - size * math.log(scale * math.sqrt(2 * math.pi))

    def latent_log_likelihood(self, latent: Array, candidates: Sequence[str], epsilon: float) -> Floats:
        """Return the log density of a released latent for each candidate as its source."""
        return self.log_density(latent, self.encode(candidates), epsilon)

    def text_log_likelihood(
        self, texts: Sequence[str], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> TextLikelihoods:
        """Score candidates by the density of the noise between their latents and the one read in the text.

        Decoding is deterministic: a text has the probability of all noise that is decoded to it, which nobody
        can add up. The encoder was trained to undo the decoder, so what it reads in the text stands for the
        latent that was released.
        """
        distinct = list(dict.fromkeys(text for row in candidates for text in row))
        clean, place = self.encode(distinct), {text: i for i, text in enumerate(distinct)}
        scores = []
        for start in range(0, len(texts), _TEXTS):
            read = self.encode(texts[start : start + _TEXTS])
            for latent, row in zip(read, candidates[start : start + _TEXTS], strict=True):
                scores.append(self._compare_read(latent, [clean[place[text]] for text in row], epsilon))
        return TextLikelihoods.scores(scores)

    def _compare_read(self, read: Singles, latents: Sequence[Singles], epsilon: float) -> Floats:
        """Return the log density of the noise between each latent and the one read in a published text."""
        return self.log_density(read, latents, epsilon)

    def compare(
        self, released: Sequence[Array], pairs: Sequence[tuple[str, str]], epsilon: float
    ) -> tuple[Floats, PairLosses]:
        """Return both densities and, in units of the noise, how far both latents lie apart."""
        texts = sorted({text for pair in pairs for text in pair})
        clean, row = self.encode(texts), {text: i for i, text in enumerate(texts)}
        scale = self.noise_scale(epsilon)
        densities = np.zeros((len(pairs), 2))
        largest, mu = np.full(len(pairs), math.inf), np.full(len(pairs), math.nan)
        for i, (latent, pair) in enumerate(zip(released, pairs, strict=True)):
            first, second = (clean[row[text]] for text in pair)
            densities[i] = self.log_density(latent, [first, second], epsilon)
            gap = self._find_gap(first, second)
            if gap is None:  # no output can come from both
                continue
            if self.noise == "laplace":
                largest[i] = float(np.abs(gap).sum()) / scale
            else:
                mu[i] = math.sqrt(float(gap @ gap)) / scale
                largest[i] = math.inf if mu[i] > 0 else 0.0
        return densities, PairLosses(largest, mu, Ragged.absent(len(pairs), np.float64))

    def _find_gap(self, first: Singles, second: Singles) -> Floats | None:
        """Return the difference of two latents that noise has to hide; None if it cannot hide it."""
        return np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)

    def _check_formula(self, epsilons: Sequence[float]) -> Iterator[Note]:
        """Yield whether the classical formula is used beyond what was proven for it."""
        real = {e: true_epsilon(1.0, sigma_for("gaussian", 1.0, e, self.delta), self.delta) for e in epsilons}
        wrong = {e: value for e, value in real.items() if value > e * _SLACK}
        if wrong:
            listed = ", ".join(f"{e:g} is really {value:.4g}" for e, value in wrong.items())
            text = f"the classical Gaussian formula is proven for epsilon < 1; at delta {self.delta:g}"
            yield Note(
                level="error", rule="Gaussian formula", text=f"{text} {listed}", fix="noise=analytic_gaussian"
            )

    def _check_sensitivity(self, epsilon: float) -> Iterator[Note]:
        """Yield whether the noise is scaled for another distance than two latents can have."""
        excess = self._compute_excess()
        if excess <= _SLACK:
            return
        distance = self.sensitivity()
        if self.noise == "laplace":
            real, norm = epsilon * excess, "L1"
        else:
            real, norm = true_epsilon(distance, self.noise_scale(epsilon), self.delta), "L2"
        text = (
            f"two latents clipped by {self.clipping} can be {distance:.4g} apart ({norm}), and the noise is "
            f"scaled for {distance / excess:.4g}: epsilon {epsilon:g} is really {real:.4g}"
        )
        yield Note(level="error", rule="sensitivity", text=text, fix=self._right_scale)

    def _check_tails(self) -> Iterator[Note]:
        """Yield what noise from uniforms leaves out, and what rounding it tells."""
        size = self._count_components()
        missing = size * 2.0**-53
        text = f"noise comes from 53-bit random numbers: over {size:,} components, tails of probability"
        beyond = self.noise != "laplace" and missing > self.delta
        level: Level = "warning" if beyond else "info"
        fix = "delta" if beyond else ""
        yield Note(
            level=level,
            rule="smallest probability",
            text=f"{text} {missing:.2g} in total are never drawn",
            fix=fix,
        )
        if self.noise == "laplace":
            text = (
                "Laplace noise is rounded to float32, so which numbers can occur depends on the text. That "
                "breaks pure epsilon if the latent itself is released; here only the decoded text is"
            )
            yield Note(
                level="warning", rule="rounding", text=text, fix="noise=analytic_gaussian, with a delta"
            )

    def _clip_rows(self, hidden: Tensor) -> Tensor:
        if self.clipping == "value":
            return hidden.clamp(-self.clip, self.clip)
        return shorten(hidden, self.clip)

    def _split_into_blocks(self, requests: set[Request]) -> Iterator[list[Request]]:
        """Yield requests in blocks of about one size whose latents fit in memory, ordered by text."""
        ordered = sorted(requests)
        kind = self._load_checkpoint().device.type
        most = max(1, _LATENTS.get(kind, _LATENTS["cpu"]) // self._count_components())
        step = max(1, math.ceil(len(ordered) / max(1, math.ceil(len(ordered) / most))))
        for start in range(0, len(ordered), step):
            yield ordered[start : start + step]

    def _draw_standard(self, keys: Sequence[int]) -> Tensor:
        """Return each key's noise at scale 1, as float64, where it is added."""
        import torch

        size, home = self._count_components(), self._find_home()
        if self.noise == "laplace":
            return torch.from_numpy(laplaces(keys, size)).to(home)
        if self._makes_noise_there():
            return make_normals(keys, size, device=home)
        return torch.from_numpy(normals(keys, size)).to(home)


def list_requests(draws: Sequence[Draw]) -> list[Request]:
    """Return what a latent is made of, for each draw."""
    batch = Draws.of(draws)
    return list(zip(batch.texts, key_numbers(batch.keys), batch.epsilons.tolist(), strict=True))


# --- Clipping where the model runs: bounds hold after rounding too, and a CPU gets numpy's numbers.


def shorten(vectors: Tensor, bound: float) -> Tensor:
    """Return rows scaled down to an L2 norm of at most the bound; shorter ones are unchanged."""
    import torch

    if vectors.device.type == "cpu":
        return torch.from_numpy(clip_norm(vectors.numpy(), bound))
    return shorten_there(vectors, bound)


def shorten_there(vectors: Tensor, bound: float) -> Tensor:
    """Shorten rows where they lie; norms may differ from numpy's in the last bits, by the order of sums."""
    import torch

    norms = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors * (bound / norms.clamp(min=1e-300)).clamp(max=1.0)


def round_inwards(values: Tensor) -> Tensor:
    """Round to float32 without increasing any magnitude, so that the clip still holds."""
    import torch

    rounded = values.float()
    return torch.where(rounded.abs() > values.abs(), rounded.nextafter(torch.zeros_like(rounded)), rounded)
