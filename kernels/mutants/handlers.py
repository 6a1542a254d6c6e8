"""What writes each kind of place."""

from __future__ import annotations

from opgold.kernels.mutants import arithmetic, calls, conditions, statements
from opgold.kernels.mutants.writer import Handler

HANDLERS: dict[str, Handler] = {
    "binary_expression": arithmetic.write_binary,
    "number_literal": arithmetic.write_number,
    "true": arithmetic.write_truth,
    "false": arithmetic.write_truth,
    "subscript_expression": arithmetic.write_subscript,
    "init_declarator": arithmetic.write_initialiser,
    "unary_expression": conditions.write_unary,
    "if_statement": statements.write_if,
    "while_statement": statements.write_conditional,
    "do_statement": statements.write_conditional,
    "conditional_expression": statements.write_conditional,
    "for_statement": statements.write_for,
    "declaration": statements.write_declaration,
    "expression_statement": statements.write_expression_statement,
    "return_statement": statements.write_jump,
    "continue_statement": statements.write_jump,
    "break_statement": statements.write_jump,
    "assignment_expression": statements.write_assignment,
    "update_expression": statements.write_update,
    "call_expression": calls.write_call,
    "field_expression": calls.write_field,
}
