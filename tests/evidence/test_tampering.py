"""Whoever changes a folder of evidence is found out, and what was changed is named."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvgate.codec import Seal, digest
from kvgate.errors import Damaged
from kvgate.evidence import Evidence, StoredAnswer, check_folder
from kvgate.evidence.blobs import merkle_root
from tests.evidence.sample import RUN
from tests.evidence.test_crash import REUSED, copy


def lines(folder: Path) -> list[bytes]:
    return (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)


def problems(folder: Path, changed: list[bytes], seal: Seal | None = None) -> str:
    """What a check says about a journal of these lines; opening it must refuse with the same."""
    broken = copy(folder)
    try:
        (broken / "journal.jsonl").write_bytes(b"".join(changed))
        found = check_folder(broken, seal)
        try:
            Evidence.open(broken)
            opened = True
        except Damaged:
            opened = False
        assert opened or found.problems
        return "\n".join(found.problems)
    finally:
        shutil.rmtree(broken.parent)


@REUSED
@given(st.data())
def test_a_changed_byte_is_named_with_its_line(folder: Path, data: st.DataObject) -> None:
    raws = lines(folder)
    seal = Evidence.open(folder).seal()
    number = data.draw(st.integers(0, len(raws) - 1))
    place = data.draw(st.integers(0, len(raws[number]) - 2))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value not in (raws[number][place], 10)))
    raws[number] = raws[number][:place] + bytes([byte]) + raws[number][place + 1 :]
    found = problems(folder, raws, seal)
    assert f"line {number + 1} " in found


@REUSED
@given(st.data())
def test_lines_deleted_doubled_or_moved_are_noticed(folder: Path, data: st.DataObject) -> None:
    raws = lines(folder)
    seal = Evidence.open(folder).seal()
    number = data.draw(st.integers(0, len(raws) - 1))
    other = data.draw(st.integers(0, len(raws) - 1).filter(lambda value: value != number))
    how = data.draw(st.sampled_from(["deleted", "doubled", "moved", "swapped"]))
    changed = list(raws)
    if how == "deleted":
        del changed[number]
    elif how == "doubled":
        changed.insert(other, raws[number])
    elif how == "moved":
        changed.insert(other, changed.pop(number))
    else:
        changed[number], changed[other] = changed[other], changed[number]
    found = problems(folder, changed, seal)
    if how == "deleted" and number == len(raws) - 1:
        assert "1 lines are missing at the end" in found
    elif changed != raws:
        first = next(place for place, (was, now) in enumerate(zip(raws, changed, strict=False)) if was != now)
        assert f"line {first + 1} carries number" in found or f"line {first + 1} is not the start" in found


def test_a_line_rewritten_with_a_matching_chain_breaks_the_seal(folder: Path) -> None:
    """Whoever can compute the chain anew is stopped by its head alone, which a decision carries."""
    seal = Evidence.open(folder).seal()
    raws = lines(folder)
    prev = digest(RUN)
    for place, raw in enumerate(raws):
        record = json.loads(raw)
        if record["kind"] == "failure":
            record["message"] = "fine"
        record["prev"] = prev
        raws[place] = json.dumps(record, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        prev = digest(raws[place])
    assert problems(folder, raws) == ""
    assert "line 14 is not the one that was sealed" in problems(folder, raws, seal)


def test_lines_added_after_the_seal_are_no_damage(folder: Path) -> None:
    seal = Evidence.open(folder).seal()
    with Evidence.open(folder, write=True) as evidence:
        evidence.note("note", text="later\nmore")
    assert check_folder(folder, seal).ok
    assert Evidence.open(folder).seal() != seal


def test_a_journal_of_another_run_is_not_taken_for_this_one(folder: Path) -> None:
    raws = lines(folder)
    raws[0] = raws[0].replace(RUN.encode(), b"20990101T000000-00000000")
    assert "line 1 does not follow the run id" in problems(folder, raws)


@pytest.mark.parametrize("how", ["swapped", "emptied", "deleted", "longer", "no gzip", "trailing", "a folder"])
def test_a_blob_that_is_not_what_was_written_is_named_and_never_read(folder: Path, how: str) -> None:
    victim = next(found for found in Evidence.open(folder).answers() if isinstance(found, StoredAnswer))
    name = victim.stdout_blob[0]
    path = folder / "blobs" / name[:2] / f"{name[2:]}.gz"
    other = next(p for p in folder.glob("blobs/*/*.gz") if p != path and len(gzip.decompress(p.read_bytes())) > 14)
    raw = path.read_bytes()
    path.unlink()
    if how == "a folder":
        path.mkdir()
    elif how != "deleted":
        path.write_bytes(
            {
                "swapped": other.read_bytes(), "emptied": b"", "longer": gzip.compress(b"node-01 says 0\n and more"),
                "no gzip": b"node-01 says 0\n", "trailing": raw + b"x",
            }[how]
        )  # fmt: skip
    found = check_folder(folder)
    assert len(found.problems) == 1
    assert f"blob {name[:12]}" in found.problems[0]
    with pytest.raises(Damaged, match=name[:12]):
        _ = victim.stdout


def test_a_bomb_is_not_unpacked(folder: Path) -> None:
    victim = next(found for found in Evidence.open(folder).answers() if isinstance(found, StoredAnswer))
    name = victim.stdout_blob[0]
    (folder / "blobs" / name[:2] / f"{name[2:]}.gz").write_bytes(gzip.compress(bytes(200 * 2**20), 1))
    with pytest.raises(Damaged, match="does not hold exactly the 15 bytes"):
        _ = victim.stdout


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "answer"}, {"kind": "failure", "host": 4}, {"kind": "note", "x": {"$blob": "../../etc/passwd", "size": 4}},
        {"kind": "note", "x": {"$blob": 4}}, {"kind": "batch", "notes": None}, {"kind": 4}, {"kind": "note", "monotonic": -1e9},
    ],
)  # fmt: skip
def test_a_line_that_says_nonsense_in_a_good_chain_is_named(folder: Path, record: dict[str, object]) -> None:
    raws = lines(folder)
    last = json.loads(raws[-1])
    made = {
        "seq": 15,
        "prev": digest(raws[-1]),
        "boot": last["boot"],
        "monotonic": last["monotonic"],
        "utc": "",
        **record,
    }
    raws.append(json.dumps(made).encode() + b"\n")
    assert "line 15 " in problems(folder, raws)


def test_the_chain_can_be_followed_with_plain_tools(folder: Path) -> None:
    raws = lines(folder)
    assert json.loads(raws[0])["prev"] == hashlib.sha256(RUN.encode()).hexdigest()
    for before, after in itertools.pairwise(raws):
        assert json.loads(after)["prev"] == hashlib.sha256(before).hexdigest()
    assert Evidence.open(folder).head() == hashlib.sha256(raws[-1]).hexdigest()


def test_the_root_is_the_tree_hash_of_rfc_6962() -> None:
    def leaf(data: bytes) -> bytes:
        return hashlib.sha256(b"\0" + data).digest()

    def node(left: bytes, right: bytes) -> bytes:
        return hashlib.sha256(b"\1" + left + right).digest()

    a, b, c = (bytes([value]) * 32 for value in (1, 2, 3))
    assert merkle_root([]) == hashlib.sha256(b"").hexdigest()
    assert merkle_root([a.hex()]) == leaf(a).hex()
    assert merkle_root([c.hex(), a.hex(), b.hex(), a.hex()]) == node(node(leaf(a), leaf(b)), leaf(c)).hex()
