"""Keeps the libraries quiet while they load or download a model."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silence_loading() -> Iterator[None]:
    """Stop the libraries from printing progress bars and advice while a model loads."""
    from transformers.utils import logging as transformers_logging

    names = ("transformers", "sentence_transformers", "huggingface_hub")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    had_bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Recommended: pip install sacremoses")  # of Marian's tokenizer
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if had_bars:
            transformers_logging.enable_progress_bar()


@contextmanager
def silence_downloads() -> Iterator[None]:
    """Stop huggingface_hub from drawing progress bars."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
