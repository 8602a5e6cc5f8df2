"""Questions per second of the llm attack and texts per second of the embedding attack, on one GPU.

    python benchmarks/attacks.py --texts atis.txt --out benchmarks/results/attacks.json

Random weights in the shape of Qwen3-8B and of all-mpnet-base-v2, and a small tokenizer trained on the
texts: speed does not depend on what the weights say. `choice` is measured beside `generate` in the same
run, and beside the rate of plain bfloat16 matrix products on the same device.
"""

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from architectures import tokenizer_for

from tedaudit.attacks.llm import ANSWER, LLM, Style
from tedaudit.models.encoders.sentence import load_encoder
from tedaudit.models.judges.local import LocalJudge
from tedaudit.models.loading import Checkpoint
from tedaudit.plugins.values import Observation, Rewrite
from tedaudit.seeding import derive, uniforms

CHAT = (
    "{% for m in messages %}<s>{{ m['role'] }}\n{{ m['content'] }}</s>\n{% endfor %}"
    "<s>assistant\n<think>\n\n</think>\n\n"
)
SHAPES = {
    "8b": {
        "vocab_size": 151_936, "hidden_size": 4096, "intermediate_size": 12_288, "num_hidden_layers": 36,
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 4096,
        "tie_word_embeddings": False,
    },
    "tiny": {
        "vocab_size": 4096, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 4096,
        "tie_word_embeddings": False,
    },
}  # fmt: skip


def main() -> None:
    """Measure both attacks and write the figures down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=Path, required=True, help="one text a line")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--generated", type=int, default=1_000, help="trials for reading `generate`")
    parser.add_argument("--shape", choices=list(SHAPES), default="8b")
    options = parser.parse_args()
    texts = sorted({line.strip() for line in options.texts.read_text().splitlines() if line.strip()})
    device = "cuda" if torch.cuda.is_available() else "cpu"
    result: dict[str, Any] = {"machine": _machine(), "texts": len(texts), "rows": []}
    result["bfloat16_teraflops"] = round(_matrix_rate(device) / 1e12, 1)
    for row in (*judged(texts, options, device, result["bfloat16_teraflops"]), embedded(texts)):
        result["rows"].append(row)
        print(json.dumps(row), flush=True)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=1))


def judged(texts: list[str], options: Any, device: str, teraflops: float) -> list[dict[str, Any]]:
    """Return questions per second, by reading."""
    judge, run = _judge(texts, options.shape, device)
    rows = []
    for reading, trials in (("choice", options.trials), ("likelihood", options.trials // 4),
                            ("generate", options.generated)):  # fmt: skip
        attack = LLM(judge="hf:random", reading=reading)  # type: ignore[arg-type]
        attack._loaded = judge  # noqa: SLF001 (a model that was never saved)
        attack.guess(_observations(texts, 256, "warm up"))
        run["tokens"] = 0
        seen = _observations(texts, trials, reading)
        seconds = _timed(lambda some=seen, one=attack: one.guess(some))
        spent = 2 * run["parameters"] * run["tokens"] / seconds / 1e12
        rows.append(
            {
                "attack": "llm", "shape": options.shape, "reading": reading, "trials": trials,
                "seconds": round(seconds, 2), "trials_per_second": round(trials / seconds, 1),
                "tokens_per_trial": round(run["tokens"] / trials, 1), "teraflops": round(spent, 1),
                "share_of_bfloat16": round(spent / teraflops, 3),
            }
        )  # fmt: skip
    return rows


def _judge(texts: list[str], shape: str, device: str) -> tuple[LocalJudge, dict[str, float]]:
    """Return a judge with random weights, and a count of the tokens (padding left out) that it reads."""
    torch.manual_seed(0)
    config = transformers.Qwen3Config(**SHAPES[shape], pad_token_id=1, eos_token_id=2, bos_token_id=0)
    config._attn_implementation = "sdpa"  # noqa: SLF001
    with torch.device(device):
        torch.set_default_dtype(torch.bfloat16)
        model = transformers.Qwen3ForCausalLM(config).eval()
        torch.set_default_dtype(torch.float32)
    asked = Style().choice(texts[0], texts[1:3])  # its words in whole tokens, as in a large vocabulary
    tokenizer = tokenizer_for("judge", [*texts, *[asked.head + asked.body + ANSWER] * 100])
    tokenizer.chat_template = CHAT
    inner = sum(
        p.numel() for name, p in model.named_parameters() if "embed" not in name and "lm_head" not in name
    )
    run = {"tokens": 0.0, "parameters": float(inner)}

    def count(_: Any, arguments: Any, keywords: Any) -> None:
        ids = keywords.get("input_ids", arguments[0] if arguments else None)
        if ids is not None:
            run["tokens"] += int((ids != 1).sum()) if ids.shape[1] > 1 else ids.shape[0]

    model.base_model.register_forward_pre_hook(count, with_kwargs=True)
    return LocalJudge(Checkpoint("random", model, tokenizer)), run


def _observations(texts: list[str], trials: int, purpose: str) -> list[Observation]:
    """Return trials of two candidates; the output is a third text, so that every question differs."""
    picks = (uniforms([derive(0, "benchmark", purpose)], 3 * trials)[0] * len(texts)).astype(int)
    return [
        Observation(Rewrite(texts[a]), (texts[b], texts[c] if c != b else texts[c - 1]), derive(0, number))
        for number, (a, b, c) in enumerate(picks.reshape(-1, 3).tolist())
    ]


def embedded(texts: list[str]) -> dict[str, Any]:
    """Return texts per second of an encoder in the shape of all-mpnet-base-v2."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        body, whole = Path(folder) / "body", Path(folder) / "whole"
        config = transformers.MPNetConfig(vocab_size=30_527, pad_token_id=1)
        transformers.MPNetModel(config).save_pretrained(body)
        tokenizer_for("judge", texts).save_pretrained(body)
        inner = Transformer(str(body), max_seq_length=384)
        SentenceTransformer(modules=[inner, Pooling(768)]).save(str(whole))
        encoder = load_encoder(str(whole), half=True)
        encoder.encode(texts[:2048])
        many = [f"{text} {number}" for number in range(10) for text in texts]  # none is encoded twice
        seconds = _timed(lambda: encoder.encode(many))
    return {
        "attack": "embedding", "shape": "mpnet-base", "texts": len(many), "seconds": round(seconds, 2),
        "texts_per_second": round(len(many) / seconds),
    }  # fmt: skip


def _matrix_rate(device: str) -> float:
    """Return the rate of plain bfloat16 matrix products, the best of a few."""
    size = 8192 if device == "cuda" else 512
    left, right = (torch.randn(size, size, dtype=torch.bfloat16, device=device) for _ in range(2))
    best = 0.0
    for _ in range(5):
        seconds = _timed(lambda: [left @ right for _ in range(20)])
        best = max(best, 20 * 2 * size**3 / seconds)
    return best


def _timed(work: Callable[[], Any]) -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def _machine() -> dict[str, str]:
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor()
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    return {
        "device": name,
        "date": time.strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        **versions,
    }


if __name__ == "__main__":
    main()
