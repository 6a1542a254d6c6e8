"""What the documentation says is what there is."""

import re
from pathlib import Path

import pytest

from opgold.harness import oracles, pages
from opgold.reference import schema

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", ["ops.md", "oracles.md"])
def test_generated_pages_are_current(page, tmp_path):
    pages.write(tmp_path)
    assert (ROOT / "docs" / page).read_text() == (tmp_path / page).read_text(), "run: opgold docs docs"


def test_ci_runs_the_test_command_of_the_readme():
    commands = re.findall(r"^python3 -m venv .*pytest.*$", README, re.MULTILINE)
    assert len(commands) == 1
    assert commands[0] in (ROOT / ".ci" / "run").read_text().splitlines()


@pytest.mark.parametrize(
    "document", ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
)
def test_links_lead_somewhere(document):
    path = ROOT / document
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", path.read_text()):
        assert (path.parent / target).exists(), f"{document} links to {target}"


def test_readme_names_every_command():
    from opgold.harness.cli import app

    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        assert f"opgold {name}" in README


def test_oracle_modules_say_what_they_ask():
    for name, module in oracles.ALL.items():
        assert module.__doc__.rstrip(".").count("\n") == 0, name
        assert "?" in module.__doc__, name


@pytest.mark.parametrize("op", schema.ops())
def test_every_contract_names_its_errors_and_its_source(op):
    contract = schema.load(op).model.__doc__
    assert "Raises ValueError" in contract
    assert "Source:" in contract
