"""Faults of accelerators: cards, links, memory, heat, versions, fabric, GPUDirect Storage."""

from __future__ import annotations

from lab.faults.model import Fault
from lab.machine import Edit

_ON = "node-01"


def _ids(*numbers: int) -> frozenset[str]:
    return frozenset(f"G1.6.{number}" for number in numbers)


def _fault(
    platform: str, name: str, text: str, *edits: Edit, stops: tuple[int, ...] = (), undecided: tuple[int, ...] = ()
) -> Fault:
    return Fault(f"{platform}-{name}", text, _ON, _ids(*stops), _ids(*undecided), edits, platform)


def _new(ask: str, old: str, new: str, *, every: bool = False, again: bool = False) -> Edit:
    return Edit(ask, ((old, new),), every=every, again=again)


def _no_tool(ask: str, tool: str) -> Edit:
    return Edit(ask, stdout="", stderr=f"sh: 1: {tool}: not found\n", status=127)


_STATIC, _METRIC, _PAGES = "amd-smi static --json", "amd-smi metric --json", "amd-smi bad-pages --json"
_CLEAN = '"retired": "No bad pages found."'
_MAXIMUM = '"max_pcie_speed": {\n                    "value": '

_ROCM = (
    _fault(
        "rocm", "other-driver", "one node runs an older amdgpu driver",
        _new(_STATIC, '"version": "6.12.12"', '"version": "6.10.5"', every=True), stops=(3, 27),
    ),
    _fault(
        "rocm", "older-release", "ROCm is one release behind the order",
        _new("amd-smi version --json", '"rocm_version": "7.2.0"', '"rocm_version": "7.0.2"'), stops=(4,),
    ),
    _fault(
        "rocm", "odd-firmware", "one card carries another IFWI than its neighbours",
        _new(_STATIC, '"version": "00147231"', '"version": "00139110"'), stops=(5, 6, 27),
    ),
    _fault(
        "rocm", "sibling-model", "one card is an MI300X instead of an MI308X",
        _new(_STATIC, "AMD Instinct MI308X", "AMD Instinct MI300X"), stops=(2, 27),
    ),
    _fault(
        "rocm", "half-memory", "one card shows half of its memory",
        _new(_METRIC, '"total_vram": {"value": 196592', '"total_vram": {"value": 98296'), stops=(7,),
    ),
    _fault(
        "rocm", "ecc-off", "memory ECC is switched off on all cards",
        _new(_STATIC, '"UMC": "ENABLED"', '"UMC": "DISABLED"', every=True), stops=(8,),
    ),
    _fault(
        "rocm", "ecc-uncorrectable", "one card counted uncorrectable errors",
        _new(_METRIC, '"total_uncorrectable_count": 0', '"total_uncorrectable_count": 2'), stops=(9,),
    ),
    _fault(
        "rocm", "ecc-deferred", "one card deferred an uncorrectable error",
        _new(_METRIC, '"total_deferred_count": 0', '"total_deferred_count": 1'), stops=(9,),
    ),
    _fault(
        "rocm", "ecc-not-told", "one card says N/A where its ECC errors stand",
        _new(_METRIC, '"total_uncorrectable_count": 0', '"total_uncorrectable_count": "N/A"'), undecided=(9,),
    ),
    _fault(
        "rocm", "ecc-correcting", "one card corrects errors at a run while idle",
        _new(_METRIC, '"total_correctable_count": 0', '"total_correctable_count": 4711', again=True), stops=(10,),
    ),
    _fault(
        "rocm", "bad-page", "one card has retired a page",
        _new(_PAGES, _CLEAN, '"retired": [{"page_address": "0x7c1f4000", "page_size": 4096, "status": "RESERVED"}]'),
        stops=(11,),
    ),
    _fault(
        "rocm", "bad-pages-not-told", "the driver does not tell bad pages",
        _new(_PAGES, _CLEAN, '"retired": "N/A"', every=True), undecided=(11,),
    ),
    _fault(
        "rocm", "narrow-link", "one card trained to eight lanes",
        _new(_METRIC, '"width": 16', '"width": 8'), stops=(12,),
    ),
    _fault(
        "rocm", "older-slot", "all cards sit behind generation 4 risers",
        _new(_METRIC, '"speed": {"value": 32', '"speed": {"value": 16', every=True),
        _new(_STATIC, _MAXIMUM + "32", _MAXIMUM + "16", every=True),
        stops=(13,),
    ),
    _fault(
        "rocm", "speed-in-wrong-unit", "this release prints MT/s under the unit GT/s, and no maximum",
        _new(_METRIC, '"speed": {"value": 32', '"speed": {"value": 32000', every=True),
        _new(_STATIC, _MAXIMUM + "32", _MAXIMUM + "4294967295", every=True),
        undecided=(13,),
    ),
    _fault(
        "rocm", "link-repeats", "one card repeats packets while idle",
        _new(_METRIC, '"replay_count": 0', '"replay_count": 7', again=True), stops=(14,),
    ),
    _fault(
        "rocm", "hot-spot", "one idle card is at 71 degrees",
        _new(_METRIC, '"hotspot": {"value": 38', '"hotspot": {"value": 71'), stops=(15,),
    ),
    _fault(
        "rocm", "slowed-by-heat", "one card was slowed by heat between two questions",
        _new(_METRIC, '"socket_thermal_accumulated": 18010', '"socket_thermal_accumulated": 18090', again=True), stops=(16,),
    ),
    _fault(
        "rocm", "driver-reloaded", "a card's counters start again between two questions",
        _new(_METRIC, '"socket_thermal_accumulated": 18012', '"socket_thermal_accumulated": 0', again=True), undecided=(16,),
    ),
    _fault(
        "rocm", "memory-held", "a forgotten process holds most of a card's memory",
        _new(_METRIC, '"used_vram": {"value": 283', '"used_vram": {"value": 173015'), stops=(19,),
    ),
    _fault(
        "rocm", "split-card", "one card is split into eight partitions",
        _new(_STATIC, '"accelerator_partition": "SPX"', '"accelerator_partition": "CPX"'), stops=(20,),
    ),
    _fault(
        "rocm", "extra-card-on-bus", "the driver left one card on the bus unbound",
        _new("grep .*/sys/bus/pci/devices/[*]/uevent .*", "/sys/bus/pci/devices/0000:72:00.0/uevent:PCI_CLASS=30000\n"
             "/sys/bus/pci/devices/0000:72:00.0/uevent:PCI_ID=1A03:2000",
             "/sys/bus/pci/devices/0000:72:00.0/uevent:PCI_CLASS=120000\n/sys/bus/pci/devices/0000:72:00.0/uevent:PCI_ID=1002:74A2"),
        stops=(1,),
    ),
    _fault(
        "rocm", "no-way-to-memory", "the kernel offers neither dmabuf nor peer memory",
        Edit("grep .*/proc/kallsyms.*", stdout="/proc/modules:ib_core 495616 10 rdma_cm, Live 0xffffffffc0e00000\n"), stops=(22,),
    ),
    _fault(
        "rocm", "no-amd-smi", "amd-smi is not installed and rocm-smi answers what it can", _no_tool("amd-smi .*", "amd-smi"),
        undecided=(1, 5, 6, 8, 9, 10, 11, 12, 13, 14, 16, 20, 27),
    ),
    _fault(
        "rocm", "metric-cut", "the output of amd-smi metric ends in the middle",
        Edit(_METRIC, stdout='{\n    "gpu_data": [\n        {\n            "gpu": 0,\n            "usage": {"gfx_act'),
        undecided=(9, 10, 12, 13, 14, 16),
    ),
)  # fmt: skip

_XML, _SMI = "nvidia-smi -q -x", "nvidia-smi -q( -x)?"
_ALL_OF_SMI = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 19, 21, 27, 28)
_GDS = r"/usr/local/cuda/gds/tools/gdscheck(\.py)? -p"

_NVIDIA = (
    _fault(
        "nvidia", "fabric-not-up", "eight healthy cards, but the fabric manager is not running",
        _new(_XML, "<state>Completed</state>", "<state>In Progress</state>", every=True),
        _new(_XML, "<status>Success</status>", "<status>N/A</status>", every=True),
        _new("systemctl show .*fabricmanager.*", "ActiveState=active\nSubState=running", "ActiveState=inactive\nSubState=dead"),
        stops=(21,),
    ),
    _fault(
        "nvidia", "fabric-failed", "the fabric manager runs, and one card could not join",
        _new(_XML, "<status>Success</status>", "<status>Failure</status>"), stops=(21,),
    ),
    _fault(
        "nvidia", "fabric-not-told", "the service runs, and the driver tells no fabric state",
        _new(_XML, "<state>Completed</state>", "<state>N/A</state>", every=True), undecided=(21,),
    ),
    _fault(
        "nvidia", "off-the-bus", "one card has fallen off the bus and the tool gives up",
        Edit(_SMI, stdout="Unable to determine the device handle for GPU0: 0000:19:00.0: Unknown Error\n", status=15),
        undecided=_ALL_OF_SMI,
    ),
    _fault(
        "nvidia", "library-mismatch", "the driver was updated without a reboot",
        Edit(_SMI, stdout="Failed to initialize NVML: Driver/library version mismatch\n", status=18), undecided=_ALL_OF_SMI,
    ),
    _fault(
        "nvidia", "xml-cut", "the XML ends in the middle and the log stands in where it may",
        Edit(_XML, stdout='<?xml version="1.0" ?>\n<nvidia_smi_log>\n\t<driver_version>590.48.01</dri'),
        undecided=(1, 10, 14, 16, 21, 27),
    ),
    _fault(
        "nvidia", "other-model", "one card is an H200 NVL",
        _new(_XML, "<product_name>NVIDIA H200<", "<product_name>NVIDIA H200 NVL<"), stops=(2, 27),
    ),
    _fault(
        "nvidia", "odd-vbios", "one card carries an older VBIOS",
        _new(_XML, "96.00.A5.00.03", "96.00.89.00.01"), stops=(5, 6, 27),
    ),
    _fault(
        "nvidia", "ecc-off", "ECC is off on one card",
        _new(_XML, "<current_ecc>Enabled<", "<current_ecc>Disabled<"), stops=(8,),
    ),
    _fault(
        "nvidia", "ecc-aggregate", "one card had an uncorrectable error in an earlier boot",
        _new(_XML, "<aggregate>\n\t\t\t\t<sram_correctable>0</sram_correctable>\n\t\t\t\t<sram_uncorrectable_parity>0<",
             "<aggregate>\n\t\t\t\t<sram_correctable>0</sram_correctable>\n\t\t\t\t<sram_uncorrectable_parity>1<"), stops=(9,),
    ),
    _fault(
        "nvidia", "remap-pending", "one card waits for a reset to remap a row",
        _new(_XML, "<remapped_row_pending>No<", "<remapped_row_pending>Yes<"), stops=(11,),
    ),
    _fault(
        "nvidia", "wants-a-reset", "one card asks to be reset",
        _new(_XML, "<gpu_recovery_action>None<", "<gpu_recovery_action>Reset<"), stops=(28,),
    ),
    _fault(
        "nvidia", "narrow-link", "one card trained to eight lanes",
        _new(_XML, "<current_link_width>16x<", "<current_link_width>8x<"), stops=(12,),
    ),
    _fault(
        "nvidia", "older-slot", "one card sits in a slot of generation 4",
        _new(_XML, "<max_link_gen>5</max_link_gen>\n\t\t\t\t\t<current_link_gen>5<",
             "<max_link_gen>4</max_link_gen>\n\t\t\t\t\t<current_link_gen>4<"), stops=(13,),
    ),
    _fault(
        "nvidia", "slowed-by-heat", "one idle card is slowed by heat now",
        _new(_XML, "<clocks_event_reason_hw_thermal_slowdown>Not Active<", "<clocks_event_reason_hw_thermal_slowdown>Active<"),
        stops=(16,),
    ),
    _fault(
        "nvidia", "gds-without-fabrics", "GPUDirect Storage verifies the platform, but not NVMe-oF",
        _new(_GDS, "NVMeOF             : Supported", "NVMeOF             : Unsupported"), stops=(23,),
    ),
    _fault(
        "nvidia", "gds-may-copy", "GPUDirect Storage may fall back to copies unseen",
        _new(_GDS, "use_compat_mode : false", "use_compat_mode : true"), stops=(24,),
    ),
    _fault(
        "nvidia", "gds-new-word", "a newer gdscheck says a word that is not known",
        _new(_GDS, "NVMeOF             : Supported", "NVMeOF             : compat"), undecided=(23,),
    ),
    _fault(
        "nvidia", "no-gdscheck", "GPUDirect Storage is not installed",
        _no_tool(_GDS, "/usr/local/cuda/gds/tools/gdscheck"), undecided=(23, 24),
    ),
)  # fmt: skip

_INFO, _ECC, _BOARD = "npu-smi info", "sh -c .*npu-smi.* sh ecc", "sh -c .*npu-smi.* sh board"
_PORTS = "sh -c .*hccn_tool.*"
_LAST_ROWS = (
    "| 7     910B3               | OK            | 102.4       38                0    / 0             |\n"
    "| 0                         | 0000:96:00.0  | 0           0    / 0          3431 / 65536         |\n"
    "+===========================+===============+====================================================+\n"
)

_ASCEND = (
    _fault(
        "ascend", "card-dropped", "one NPU stands on the bus and the driver does not list it",
        _new(_INFO, _LAST_ROWS, ""), stops=(1,), undecided=(2, 3, 7, 15, 17, 19, 27),
    ),
    _fault(
        "ascend", "alarm", "one NPU raises an alarm", _new(_INFO, "910B3               | OK   ", "910B3               | Alarm"),
        stops=(17,),
    ),
    _fault(
        "ascend", "unknown-health", "one NPU gives a word of health that is not known",
        _new(_INFO, "910B3               | OK     ", "910B3               | UNKNOWN"), undecided=(17,),
    ),
    _fault(
        "ascend", "other-driver", "one node runs another NPU driver",
        _new(_INFO, "Version: 24.1.0  ", "Version: 24.1.0.3"), stops=(3, 27),
    ),
    _fault(
        "ascend", "other-bin", "one NPU is a 910B2 among 910B3: the order names both by 910B",
        _new(_INFO, "| 6     910B3", "| 6     910B2"), stops=(27,),
    ),
    _fault(
        "ascend", "older-cann", "CANN is a release candidate instead of the release ordered",
        _new("grep .*ascend_toolkit_install.info", "info:version=8.0.0", "info:version=8.0.RC3"), stops=(4,),
    ),
    _fault(
        "ascend", "unfit-firmware", "driver and firmware of one NPU do not fit",
        _new(_BOARD, "Compatibility                  : OK", "Compatibility                  : NOK"), stops=(18,),
    ),
    _fault(
        "ascend", "odd-firmware", "one NPU carries older firmware",
        _new(_BOARD, "7.5.0.3.220", "7.3.0.1.231"), stops=(5, 6, 27),
    ),
    _fault(
        "ascend", "double-bit-error", "one NPU counted a double-bit error of its memory",
        _new(_ECC, "HBM Double Bit Error Count               : 0", "HBM Double Bit Error Count               : 1"), stops=(9,),
    ),
    _fault(
        "ascend", "isolated-page", "one NPU has isolated a page",
        _new(_ECC, "HBM Double Bit Isolated Pages Count      : 0", "HBM Double Bit Isolated Pages Count      : 3"), stops=(11,),
    ),
    _fault(
        "ascend", "smaller-card", "one NPU has 32 GB instead of 64 GB",
        _new(_INFO, "3382 / 65536", "3382 / 32768"), stops=(7, 19),
    ),
    _fault(
        "ascend", "narrow-link", "one NPU trained to four lanes",
        _new("grep .*/sys/bus/pci/devices/[*]/uevent .*", "0000:61:00.0/current_link_width:16", "0000:61:00.0/current_link_width:4"),
        stops=(12,),
    ),
    _fault(
        "ascend", "port-down", "the network port of one NPU has no link",
        _new(_PORTS, "link status: UP", "link status: DOWN"), stops=(25,),
    ),
    _fault(
        "ascend", "network-unreachable", "one NPU does not reach its detect address",
        _new(_PORTS, "net health status: Success", "net health status: Receive timeout"), stops=(26,),
    ),
    _fault(
        "ascend", "no-detect-address", "no detect address was ever set",
        _new(_PORTS, "net health status: Success", "net health status: Init", every=True), undecided=(26,),
    ),
    _fault(
        "ascend", "no-npu-smi", "npu-smi is not installed",
        _no_tool("npu-smi .*|sh -c .*npu-smi.*", "npu-smi"),
        undecided=(1, 2, 3, 5, 6, 7, 9, 10, 11, 15, 17, 18, 19, 27),
    ),
)  # fmt: skip

FAULTS: tuple[Fault, ...] = (*_ROCM, *_NVIDIA, *_ASCEND)
