"""The operators of mutants, each with an example, and what one that no case tells from the original asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Operator:
    """`before` and `after` are an example."""

    before: str
    after: str
    asks: str


OPERATORS = {
    "comparison": Operator("a < b", "a <= b", "a case at the border"),
    "off by one": Operator("i < n; x[i]", "i <= n, i + 1 < n; x[i + 1]", "the last turn of a loop; unlike neighbours"),
    "condition": Operator("a && b", "a; b", "a case in which one side alone decides"),
    "dropped guard": Operator("if (a)", "if (true), if (false)", "a case on either side of a guard"),
    "arithmetic": Operator("a + b", "a - b", "operands that are not 0, and not 1"),
    "bits": Operator("a & b", "a | b", "bits that differ"),
    "assignment": Operator("a += b", "a = b", "two turns that add up"),
    "constant": Operator("2", "3", "a case that gets to the constant"),
    "dropped min/max": Operator("min(a, b)", "a, b", "either one being the lesser"),
    "swapped arguments": Operator("f(a, b)", "f(b, a)", "unlike arguments"),
    "64 to 32 bits": Operator("int64_t v = x[i]", "int32(x[i])", "a value that 32 bits do not hold"),
    "thread index": Operator(
        "threadIdx.x", "0, threadIdx.x + 1", "work for several threads, blocks, cores or clusters"
    ),
    "dropped statement": Operator("x[i] = v;", "", "a case in which the statement's work is seen"),
    "dropped barrier": Operator("__syncthreads();", "", "threads that read what others wrote, in several orders"),
    "dropped fence": Operator("mfence_lm();", "", "what was written before the fence, used behind it"),
    "dropped wait": Operator("GM2LM(a, b, n)", "GM2LM_ASYNC(a, b, n)", "what was copied, used at once"),
}


def table() -> str:
    """All operators as a Markdown table."""
    rows = [f"| {name} | {_code(o.before)} | {_code(o.after)} | {o.asks} |" for name, o in OPERATORS.items()]
    return "\n".join(["| operator | text | becomes | a survivor asks for |", "|---|---|---|---|", *rows])


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`" if text else "nothing"
