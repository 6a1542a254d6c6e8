"""The page on mutants says what there is."""

from pathlib import Path

from opgold.harness.gates.mutation.score import WAYS
from opgold.harness.gates.mutation.show import HEADERS
from opgold.kernels.mutants.operators import table

PAGE = (Path(__file__).parents[2] / "docs" / "mutation.md").read_text()


def test_the_operators_are_those_of_the_code():
    assert table() in PAGE


def test_every_option_is_said():
    from typer.main import get_command

    from opgold.harness.cli import app

    options = {name for parameter in get_command(app).commands["mutate"].params for name in parameter.opts}
    assert {name for name in options if name.startswith("--") and f"`{name}" not in PAGE} == {"--help"} & options


def test_headers_name_every_way_to_be_caught():
    assert set(WAYS) <= set(HEADERS)
