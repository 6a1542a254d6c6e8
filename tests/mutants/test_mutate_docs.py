"""The page on mutants says what there is."""

from pathlib import Path

from opgold.kernels.mutants.operators import table

PAGE = (Path(__file__).parents[2] / "docs" / "mutation.md").read_text()


def test_the_operators_are_those_of_the_code():
    assert table() in PAGE


def test_every_option_is_said():
    from typer.main import get_command

    from opgold.harness.cli import app

    options = {name for parameter in get_command(app).commands["mutate"].params for name in parameter.opts}
    assert [name for name in sorted(options) if name.startswith("--") and f"`{name}" not in PAGE] == []
