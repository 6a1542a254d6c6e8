"""What docs/glue.md says is what there is."""

import importlib
import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "glue.md").read_text()


def test_the_example_prints_what_it_says(capsys):
    example = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    exec(compile(example, "glue.md", "exec"), {})  # the page's own code
    (said,) = re.findall(r"print\(.*\)  # (.*)", example)
    assert capsys.readouterr().out == f"{said}\n"


def test_every_check_is_named_and_is_there():
    rows = re.findall(r"^\| (`\w+\.check_.*?) \|", PAGE, re.MULTILINE)
    named = set()
    for row in rows:
        module, checks = row.split(".")[0].strip("`"), re.findall(r"check_\w+", row)
        named.update((module, check) for check in checks)
    package = Path(importlib.import_module("opgold.harness.glue").__file__).parent
    there = {
        (path.stem, check)
        for path in package.glob("*.py")
        for check in re.findall(r"^def (check_\w+)", path.read_text(), re.MULTILINE)
    }
    assert named == there
