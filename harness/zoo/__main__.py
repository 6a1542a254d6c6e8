"""Runs the zoo of a folder, or some of its exhibits, and writes its page."""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from opgold.harness.zoo import table, trial
from opgold.harness.zoo.exhibit import Exhibit, ZooError, exhibits, one_of_each_twin
from opgold.kernels.build import BuildError, MissingCompiler


def main(arguments: list[str] | None = None) -> int:
    """Exit 0 if each bug is reported and each twin silent, 1 if not, 2 for a mistake in usage."""
    parser = argparse.ArgumentParser(prog="python -m opgold.harness.zoo", description=__doc__)
    parser.add_argument("folder", type=Path, help="the zoo, such as tests/zoo")
    parser.add_argument("names", nargs="*", help="exhibits, all unless named; findings of named ones are shown")
    parser.add_argument("--page", type=Path, help="write the table to this Markdown page; takes all exhibits")
    asked = parser.parse_args(arguments)
    try:
        chosen = _chosen(asked.folder, asked.names)
        if asked.page and asked.names:
            raise ZooError("--page: takes all exhibits; name none")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            forms = [
                *((exhibit, True) for exhibit in chosen),
                *((exhibit, False) for exhibit in one_of_each_twin(chosen)),
            ]
            list(pool.map(lambda form: trial.Planted(*form).prepare(form[0].op), forms))
    except (ZooError, BuildError, MissingCompiler) as error:
        print(error, file=sys.stderr)
        return 2
    wrong, rows = [], {}
    for exhibit in chosen:
        bug = trial.run(exhibit, bug=True)
        if asked.names:
            for finding in bug.findings:
                print(finding)
        print(f"{exhibit.name}: {len(bug.shown)} of {bug.ran}: {', '.join(sorted(bug.oracles)) or 'nothing'}")
        wrong += trial.of_bug(exhibit, bug)
        rows[exhibit.name] = table.row(exhibit, bug)
    for exhibit in one_of_each_twin(chosen):
        wrong += trial.of_twin(exhibit, trial.run(exhibit, bug=False))
    if asked.page:
        asked.page.write_text(table.page(chosen, rows), encoding="utf-8")
    for problem in wrong:
        print(problem, file=sys.stderr)
    return 1 if wrong else 0


def _chosen(folder: Path, names: list[str]) -> list[Exhibit]:
    found = exhibits(folder)
    there = {exhibit.name: exhibit for exhibit in found}
    for name in names:
        if name not in there:
            raise ZooError(f"no exhibit {name!r} in {folder}; there are {', '.join(there)}")
    return [there[name] for name in names] if names else found


if __name__ == "__main__":
    sys.exit(main())
