"""A measured load as its driver tells it: kvgate's own client, or a tool that the launcher ran on the load host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from checks.lexing import array, json_document
from checks.parsers import aiperf_records, aiperf_summary, kvgate_launcher, sglang_bench_serving, vllm_bench_serve
from checks.parsers.kvgate_client import ClientRun
from checks.parsers.kvgate_launcher import Launched
from checks.phrase import Phrase, say
from checks.probe import Level, Probe, UnreadableOutput
from checks.serving.client import around, client, words
from checks.serving.launcher import DIGEST, PAYLOAD
from checks.serving.readings import Ends, from_aiperf, from_client, from_sglang, from_vllm
from checks.serving.records import Clock, Instant, Run
from checks.serving.tools import OWN, TOOLS, Driver, Tool, is_known, options, unknown, version_words
from checks.serving.work import Work

#: The words that start the launcher; its options follow as one more.
COMMAND = words("kvgate-launcher", DIGEST, PAYLOAD)

#: Seconds that a send time may lie outside the launcher's own two instants.
_EDGE = 0.001


@dataclass(frozen=True, slots=True)
class Driven:
    """One load of a tool. ``lag_p99_s`` is how late the launcher came to what was due: the load host is busy, or it is not."""

    run: Run
    prompt_set: str
    prompts: str
    count: int
    seconds: float
    lag_p99_s: float


def drive(driver: Driver, work: Work) -> Probe[ClientRun] | Probe[Driven]:
    """The measured load by this driver."""
    if driver.tool == OWN:
        return client(work)
    name = f"kvgate-launcher-{driver.tool}"
    limit = work.limit + around(work) + 180.0
    return Probe(name, (*COMMAND, options(driver, work)), Reading(driver, work), limit=limit, level=Level.LOAD)


def run_of(load: ClientRun | Driven) -> Run:
    """The records of a load, whoever drove it."""
    return load.run if isinstance(load, Driven) else from_client(load)


def version(driver: Driver) -> Probe[str]:
    """Ask the load host which version of the tool it has, before anything is measured with it."""
    return Probe("driver-version", version_words(driver, TOOLS[driver.tool]), str.strip, 120.0)


def as_ordered(driver: Driver) -> Callable[[str], Phrase | None]:
    """The tool has a version that is known and that the inventory orders."""

    def must(found: str) -> Phrase | None:
        return _other_version(TOOLS[driver.tool], driver, found)

    return must


def _other_version(tool: Tool, driver: Driver, found: str) -> Phrase | None:
    if not is_known(tool.known, found):
        return unknown(tool.name, found, tool.known)
    if found.partition("+")[0] != driver.version:
        return say(
            "{tool} {version}, the inventory orders {wanted}", tool=tool.name, version=found, wanted=driver.version
        )
    return None


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads what the launcher told of one run, and refuses that of another, of another version, or one that was cut short."""

    driver: Driver
    work: Work

    def __call__(self, text: str) -> Driven:
        """Read it. Raises UnreadableOutput."""
        found, work, tool = kvgate_launcher.parse(text), self.work, TOOLS[self.driver.tool]
        told = (found.argv, found.seed, found.prompt_set, found.count, found.tokens, found.ids)
        asked = (
            tool.argv(self.driver, work), work.seed, work.prompt_set, work.count, work.tokens_in, work.ids
        )  # fmt: skip
        if told != asked:
            raise UnreadableOutput(f"the document of another run: {told}, wanted {asked}")
        if (wrong := _other_version(tool, self.driver, found.tool_version)) is not None:
            raise UnreadableOutput(str(wrong))
        _ended(tool, found)
        run = _RUNS[self.driver.tool](found)
        if len(run.requests) != work.count and run.begun != work.count:
            raise UnreadableOutput(f"{tool.name} asked {run.begun} prompts, wanted {work.count}")
        return Driven(
            run=_within(run, found),
            prompt_set=found.prompt_set,
            prompts=found.prompts,
            count=found.count,
            seconds=found.seconds,
            lag_p99_s=found.lag_p99_s,
        )


def _ended(tool: Tool, found: Launched) -> None:
    said = " ".join(found.said.split())[-300:]
    if found.status is None:
        raise UnreadableOutput(f"{tool.name} could not be started: {said}")
    if found.cut:
        raise UnreadableOutput(f"{tool.name} was ended before it had done, at its limit or by a signal")
    if found.status != 0:
        raise UnreadableOutput(f"{tool.name} ended with status {found.status}: {said}")


def _result(found: Launched, name: str) -> str:
    text = found.results.get(name)
    if text is None:
        raise UnreadableOutput(f"the tool wrote no {name}")
    return text


def _ends(found: Launched) -> Ends:
    return Instant(*found.ends[0]), Instant(*found.ends[1])


def _vllm(found: Launched) -> Run:
    return from_vllm(vllm_bench_serve.parse(_result(found, "bench.json")), _ends(found))


def _sglang(found: Launched) -> Run:
    bench = sglang_bench_serving.parse(_result(found, "bench.jsonl"))
    sent = array({"sent": json_document(_result(found, "sent.json"))}, "sent", (int, float), len(bench.requests))
    return from_sglang(bench, _ends(found), [float(one) for one in sent])


def _aiperf(found: Launched) -> Run:
    records = aiperf_records.parse(_result(found, "profile_export.jsonl"))
    return from_aiperf(records, aiperf_summary.parse(_result(found, "profile_export_aiperf.json")), _ends(found))


_RUNS: dict[str, Callable[[Launched], Run]] = {"vllm-bench": _vllm, "sglang-bench": _sglang, "aiperf": _aiperf}


def _within(run: Run, found: Launched) -> Run:
    """Requests lie between the launcher's two looks at the clock, or their times are of another one."""
    before, after = _ends(found)
    wall = run.timeline is Clock.WALL
    low, high = (before.wall, after.wall) if wall else (before.monotonic, after.monotonic)
    told = [moment for one in run.requests for moment in (one.sent, one.last) if moment is not None]
    if all(low - _EDGE <= moment <= high + _EDGE for moment in told):
        return run
    why = say("times of requests lie outside the run of {tool}", tool=run.tool)
    return replace(run, objections=(*run.objections, why))
