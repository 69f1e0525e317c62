"""The wire format alone: what is built, what is read, and that a damaged reply never becomes an answer that was not given."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvgate.transport import batch
from kvgate.transport.base import Command
from kvgate.transport.batch import Frame, build, parse

NONCE = "0123456789abcdef" * 2
FEW = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def reply(chunks: list[list[Frame]], noise: bytes = b"", end: bool = True) -> bytes:
    """Write a reply as a host would."""
    out, index = noise + f"KVGATE {NONCE} BEGIN 1764432000.123456789 boot-id\n".replace("boot-id", "0a-1b").encode(), 0
    for chunk in chunks:
        data = b""
        for frame in chunk:
            sizes = f"{len(frame.stdout)} {len(frame.stderr)} {int(frame.truncated)} {frame.milliseconds}"
            out += f"KVGATE {NONCE} R {index} {frame.status} {sizes}\n".encode()
            data += frame.stdout + frame.stderr
            index += 1
        out += f"KVGATE {NONCE} DATA\n".encode() + data
    return out + (f"KVGATE {NONCE} END {index} 1764432001.5\n".encode() if end else b"")


BYTES = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [
            b"",
            f"KVGATE {NONCE} END 1 1\n".encode(),
            f"KVGATE {NONCE} R 0 0 1 0 0 1\nKVGATE {NONCE} DATA\nx".encode(),
            f"KVGATE {NONCE} BEGIN 1 -\n".encode(),
            b"KVGATE ",
            b"\n\0\xff",
        ]
    ),
)
FRAMES = st.builds(Frame, st.integers(0, 255), BYTES, BYTES, st.booleans(), st.integers(0, 10**6))
CHUNKS = st.lists(st.lists(FRAMES, max_size=3), max_size=4)
#: No command knows the nonce; where the frame itself is damaged, the data may not stand in for it.
BLIND = st.builds(
    Frame, st.integers(0, 255), st.binary(max_size=60), st.binary(max_size=60), st.booleans(), st.integers(0, 10**6)
)
BLIND_CHUNKS = st.lists(st.lists(BLIND, max_size=3), max_size=4)
CAPS = [10**6] * 12


def flat(chunks: list[list[Frame]]) -> dict[int, Frame]:
    return dict(enumerate(frame for chunk in chunks for frame in chunk))


@FEW
@given(CHUNKS, st.binary(max_size=80))
def test_reads_what_was_written_whatever_stands_in_it(chunks: list[list[Frame]], noise: bytes) -> None:
    found = parse(reply(chunks, noise), NONCE, CAPS)
    assert (dict(found.frames), found.complete, found.garbled) == (flat(chunks), True, "")
    assert (found.began, found.ended, found.boot_id) == ("1764432000.123456789", "1764432001.5", "0a-1b")


@FEW
@given(CHUNKS, st.data())
def test_a_reply_cut_anywhere_gives_a_prefix_and_is_not_complete(
    chunks: list[list[Frame]], data: st.DataObject
) -> None:
    whole = reply(chunks)
    found = parse(whole[: data.draw(st.integers(0, len(whole) - 1))], NONCE, CAPS)
    assert not found.complete
    wanted = flat(chunks)
    assert dict(found.frames) == {index: wanted[index] for index in range(len(found.frames))}


def structure(whole: bytes, chunks: list[list[Frame]]) -> list[int]:
    """Places of all bytes that belong to the frame and not to what commands printed."""
    places, at = [], whole.index(b"\n") + 1
    places += range(at)
    for chunk in chunks:
        for _ in range(len(chunk) + 1):
            end = whole.index(b"\n", at) + 1
            places += range(at, end)
            at = end
        at += sum(len(frame.stdout) + len(frame.stderr) for frame in chunk)
    return [*places, *range(at, len(whole))]


@FEW
@given(BLIND_CHUNKS, st.data())
def test_a_flipped_byte_of_the_frame_never_moves_data(chunks: list[list[Frame]], data: st.DataObject) -> None:
    whole = bytearray(reply(chunks))
    place = data.draw(st.sampled_from(structure(bytes(whole), chunks)))
    whole[place] ^= data.draw(st.integers(1, 255))
    wanted = flat(chunks)
    found = parse(whole, NONCE, [10**6] * len(wanted))
    for index, frame in found.frames.items():
        assert (frame.stdout, frame.stderr) == (wanted[index].stdout, wanted[index].stderr)


@FEW
@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_an_exception(junk: bytes) -> None:
    parse(junk, NONCE, CAPS)
    parse(f"KVGATE {NONCE} BEGIN 1 -\n".encode() + junk, NONCE, CAPS)
    parse(f"KVGATE {NONCE} BEGIN 1 -\nKVGATE {NONCE} R ".encode() + junk, NONCE, CAPS)


@pytest.mark.parametrize(
    "damage",
    [
        (b"R 0 0 3 0", b"R 0 0 4 0"),
        (b"R 0 0 3 0", b"R 0 0 2 0"),
        (b"R 0 0 3 0", b"R 0 0 03 0"),
        (b"R 0 0 3 0", b"R 1 0 3 0"),
        (b"R 0 0 3 0", b"R 7 0 3 0"),
        (b"R 0 0 3 0", b"R 0 0 -3 0"),
        (b"R 0 0 3 0", b"R 0 0 99999 0"),
        (b"R 0 0 3 0", b"R 0 0 99999999999999999999 0"),
        (b"END 2", b"END 3"),
        (b"END 2", b"END 1"),
        (b"DATA", b"DATa"),
    ],
)
def test_frames_that_contradict_themselves_give_no_complete_reply(damage: tuple[bytes, bytes]) -> None:
    whole = reply([[Frame(0, b"abc", b"", False, 1), Frame(1, b"", b"de", False, 2)]])
    assert damage[0] in whole
    found = parse(whole.replace(*damage), NONCE, [50, 50])
    assert not found.complete
    assert not found.frames
    assert found.garbled or b"9999" in damage[1]


def test_an_answer_under_another_index_is_found_out_later_and_then_nothing_counts() -> None:
    frames = [Frame(0, b"abc", b"", False, 1), Frame(0, b"de", b"", False, 2)]
    whole = reply([frames[:1], frames[1:]])
    assert parse(whole, NONCE, [9, 9]).complete
    found = parse(whole.replace(b"R 0 0 3", b"R 1 0 3"), NONCE, [9, 9])
    assert found.garbled
    assert not found.frames


def test_more_than_the_cap_is_not_believed() -> None:
    whole = reply([[Frame(0, b"abc", b"", False, 1)]])
    assert parse(whole, NONCE, [3]).complete
    assert parse(whole, NONCE, [2]).garbled


def test_another_nonce_is_noise() -> None:
    assert parse(reply([[Frame(0, b"abc", b"", False, 1)]]), "f" * 32, [9]) == batch.Reply()


def test_the_script_has_one_line_a_command_and_nothing_runs_from_half_of_it() -> None:
    lines = ["echo 'a'; echo \"$HOME\"", "uname", "printf '%s' \\'", "x" * 3000]
    commands = [Command(str(i), line, limit=1.5 + i, cap=100 + i) for i, line in enumerate(lines)]
    script = build(NONCE, commands)
    text = script.decode()
    assert re.search(rf"^kvg_nonce={NONCE}$", text, re.MULTILINE)
    assert text.endswith("\nkvg_end\n")
    found = [shlex.split(row) for row in re.findall(r"^kvg \d.*$", text, re.MULTILINE)]
    assert found == [["kvg", str(i), str(2 + i), str(100 + i), line] for i, line in enumerate(lines)]
    assert "'uname'\n" in text
    for share in (0.3, 0.9, 0.999):
        half = subprocess.run(["sh", "-s"], input=script[: int(len(script) * share)], capture_output=True, check=False)
        assert half.stdout == b""


@pytest.mark.parametrize(
    "command",
    [
        Command("a", "x\ny"),
        Command("a", "x\ry"),
        Command("a", "\0"),
        Command("a", ""),
        Command("a", "x", limit=0),
        Command("a", "x", cap=0),
        Command("a", "x", limit=float("nan")),
    ],
)
def test_refuses_what_cannot_be_sent(command: Command) -> None:
    with pytest.raises(ValueError, match="found"):
        build(NONCE, [command])
    with pytest.raises(ValueError, match="nonce"):
        build("short", [])
    with pytest.raises(ValueError, match="twice"):
        build(NONCE, [Command("a", "x"), Command("a", "y")])
