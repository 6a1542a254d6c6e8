"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opgold.harness import backends

Ops = Annotated[list[str] | None, typer.Argument(metavar="[OP]...", help="Ops; all of them if none is named.")]
BackendName = Annotated[str, typer.Option("--backend", help="Where the kernels run.")]
BackendNames = Annotated[
    list[str] | None,
    typer.Option(
        "--backend",
        help="Where the kernels run, or module:NAME for a module of Paddle ops; may be repeated. "
        f"{' and '.join(backends.DEFAULT)} if not given.",
    ),
]
Examples = Annotated[int, typer.Option(min=0, help="Generated cases of each op.")]
Seed = Annotated[int, typer.Option(help="Which cases are generated.")]
Jobs = Annotated[int, typer.Option(min=1, help="Ops that are run at a time.")]
Out = Annotated[Path, typer.Option(help="Folder for the reports.", file_okay=False)]
