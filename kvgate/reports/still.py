"""A still picture of a soak, for paper: the timeline of every host and the load by hour."""

from __future__ import annotations

import io
from collections.abc import Mapping

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.patches import Patch

from checks.soak.facts import HostSoak
from checks.soak.requests import Requests
from kvgate.reports.charts import COLOURS
from kvgate.reports.messages import Reader
from kvgate.reports.sections.soak import STATES

#: Looked through in this order for letters; letters are text in the picture, so that who views it needs the font.
_FONTS = [
    "Noto Sans CJK SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Microsoft YaHei",
    "PingFang SC",
    "DejaVu Sans",
]


def picture(soaks: Mapping[str, HostSoak], read: Reader) -> bytes:
    """The picture as SVG; the same facts give the same bytes. Raises ValueError for no soak."""
    if not soaks:
        raise ValueError("no soak to draw")
    with mpl.rc_context({"font.family": _there(), "font.size": 8, "svg.hashsalt": "kvgate", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7.5, 1.2 + 0.25 * len(soaks) + 1.8), layout="constrained")
        above, below = figure.subplots(2, 1, height_ratios=[0.6 + 0.25 * len(soaks), 1.8], sharex=True)
        _states(above, soaks, read)
        _load(below, soaks, read)
        scales = sorted({soak.plan.scale for soak in soaks.values()} - {1.0})
        if scales:
            figure.suptitle(
                read("TIME-SCALED by {scale:g}: hours of this soak are no hours.", scale=scales[0]), color="#b3261e"
            )
        raw = io.BytesIO()
        figure.savefig(raw, format="svg", metadata={"Date": None, "Creator": None})
    return raw.getvalue()


def _there() -> list[str]:
    """Fonts of this machine, in order: of one that is not there the library would speak at each letter."""
    known = set(fontManager.get_font_names())
    return [name for name in _FONTS if name in known] or ["DejaVu Sans"]


def _states(axes: mpl.axes.Axes, soaks: Mapping[str, HostSoak], read: Reader) -> None:
    colours = dict(zip(STATES, COLOURS, strict=True))
    for place, soak in enumerate(soaks.values()):
        spans = soak.account.spans
        axes.broken_barh(
            [(span.begin / 60, span.minutes / 60) for span in spans],
            (place - 0.4, 0.8),
            facecolors=[colours[span.state] for span in spans],
        )
    axes.set_yticks(range(len(soaks)), list(soaks))
    axes.invert_yaxis()
    axes.legend(
        handles=[Patch(color=colours[state], label=read.phrase(said)) for state, said in STATES.items()],
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(STATES), frameon=False,
    )  # fmt: skip


def _load(axes: mpl.axes.Axes, soaks: Mapping[str, HostSoak], read: Reader) -> None:
    drawn = False
    for host, soak in soaks.items():
        for found in soak.requests.values():
            levels = sorted({one.concurrency for one in found.hours}) if isinstance(found, Requests) else []
            for level in levels:
                hours = [one for one in found.hours if one.concurrency == level] if isinstance(found, Requests) else []
                axes.plot(
                    [one.hour for one in hours], [one.ttft_p50 for one in hours], marker=".", label=f"{host} c={level}"
                )
                drawn = True
    axes.set_xlabel(read("hours"))
    axes.set_ylabel(read("first token, p50, s"))
    axes.set_ylim(bottom=0)
    if drawn:
        axes.legend(frameon=False, ncols=3)
