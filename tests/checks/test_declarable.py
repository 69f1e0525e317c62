"""Where a person may answer instead: only where a device does not offer the fact. Each place is listed here, and no other."""

from __future__ import annotations

import ast
from pathlib import Path

import checks

ROOT = Path(checks.__file__).parent
#: Function -> how many of its ways out may be answered by declaration.
MAY_BE_DECLARED = {
    "fabric.carrying._controlled": 1,
    "fabric.carrying._lost": 1,
    "host.memory.modules_ordered": 1,
    "host.memory.modules_at_speed": 2,
    "host.memory.no_uncorrected_memory_errors": 1,
    "host.memory.few_corrected_memory_errors": 1,
    "host.memory.no_new_corrected_memory_errors": 1,
    "host.settings.governed_by": 1,
    "nic.criteria.corrects_with": 1,
    "nic.criteria.numa_is": 1,
    "nic.optics.levels_within": 2,
    "nic.optics.cool": 1,
    "nic.optics.no_flags": 1,
    "nic.steadiness.no_errors": 1,
    "nic.steadiness.no_aer": 3,
    "pcie.criteria.no_uncorrected_errors": 2,
    "pcie.criteria.no_new_corrected_errors": 2,
    "roce.losses.no_new_errors": 1,
    "roce.lossless.ecn_as_agreed": 1,
    "roce.lossless.cnp_marked": 1,
    "soak.drift.cool": 1,
    "soak.errors.uncongested": 1,
    "soak.judging.untold": 1,
}


def test_a_declaration_stands_in_only_where_this_list_says() -> None:
    found: dict[str, int] = {}
    for file in sorted(ROOT.rglob("*.py")):
        if "parsers" in file.parts or file.name == "verdict.py":
            continue
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for body in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(body, ast.FunctionDef):
                count = sum(_declarable(node) for node in ast.walk(body))
                if count:
                    found[f"{module}.{body.name}"] = count
    assert found == MAY_BE_DECLARED


def _declarable(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "not_offered") or (
        isinstance(node, ast.keyword) and node.arg == "declarable"
    )
