"""Each way a soak can go wrong, at a given minute, and the clauses that must notice; and trouble that nobody must stop for."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from lab.soak.trouble import (
    Away,
    Count,
    Drift,
    Failing,
    Leak,
    Lost,
    Moved,
    Record,
    Replanned,
    Restart,
    Result,
    Silent,
    Slow,
    Stopped,
    Tail,
    Trouble,
    Unhooked,
    Word,
)
from lab.soak.work import fio

#: Hours of the soak that the faults are laid into.
HOURS = 16.0

#: Clauses about time that counts: a soak that was interrupted has too little of it.
_TIME = frozenset({"G4.1.1", "G4.1.6"})
_BROKEN = _TIME | {"G4.1.2"}


@dataclass(frozen=True)
class SoakFault:
    """One fault of a node's soak. ``minute`` is when it begins; a clause that stops names it, or one up to ``late`` later.

    ``minute`` None: it has no begin. ``stops`` and ``undecided`` are all clauses that come out otherwise than on a healthy soak.
    """

    name: str
    text: str
    zh: str
    minute: int | None
    troubles: tuple[Trouble, ...]
    stops: frozenset[str] = frozenset()
    undecided: frozenset[str] = frozenset()
    late: int = 4
    policy: tuple[int, float] = (0, 0.0)  # interruptions of at most so many seconds that are passed over
    spare: float = 0.0  # hours that the plan is longer
    arrival: str = ""  # what is wrong when G1 is asked again, by the name of a fault of G1
    platform: str = ""  # of the node's accelerators, where it is a trouble of their tool; empty: any


def _s(minute: float) -> float:
    return minute * 60.0


def _fault(name: str, zh: str, text: str, minute: int | None, *troubles: Trouble, **more: object) -> SoakFault:
    stops, undecided = more.pop("stops", ()), more.pop("undecided", ())
    return SoakFault(name, text, zh, minute, troubles, frozenset(stops), frozenset(undecided), **more)  # type: ignore[arg-type, call-overload]


_AT = _s(400)

FAULTS: tuple[SoakFault, ...] = (
    _fault(
        "npu-uncorrected", "昇腾芯片出现一次不可纠正的 HBM 错误", "an Ascend chip counts an uncorrected error of its HBM", 380,
        Count("accelerator", "npu-smi-ecc", "HBM Double Bit Error Count", _s(380), 1), stops={"G4.2.10"}, undecided={"G4.3.4"}, platform="ascend",
    ),
    _fault(
        "npu-page-isolated", "昇腾芯片隔离一个 HBM 页", "an Ascend chip isolates a page of its HBM", 380,
        Count("accelerator", "npu-smi-ecc", "HBM Double Bit Isolated Pages Count", _s(380), 1), stops={"G4.2.10"}, undecided={"G4.3.4"},
        platform="ascend",
    ),
    _fault(
        "npu-unhealthy", "昇腾芯片报警后恢复", "an Ascend chip is in alarm for half an hour and well again", 380,
        Word("accelerator", "npu-smi", "health", _s(380), _AT + 600, "Alarm"), stops={"G4.2.10"}, undecided={"G4.3.4"}, platform="ascend",
    ),
    _fault(
        "npu-errors-untold", "昇腾芯片不再给出 ECC 计数", "an Ascend chip tells no count of its errors any more", 380,
        Word("accelerator", "npu-smi", "HBM Double Bit Error Count", _s(380), math.inf, "NA"), undecided={"G4.2.10", "G4.3.4"}, platform="ascend",
    ),
    _fault(
        "firmware-changed", "长稳测试期间一块磁盘的固件被更换", "a disk has another firmware after the soak than it arrived with", None,
        arrival="disk-old-firmware", stops={"G4.4.5"},
    ),
    _fault(
        "firmware-untold", "长稳测试之后一块磁盘不再给出固件版本", "a disk does not tell its firmware any more after the soak", None,
        arrival="disk-no-firmware-given", undecided={"G4.4.5"},
    ),
    _fault(
        "plan-changed", "主机上的计划在写入台账后被改动", "the plan on the host is another one than was written into the ledger", None,
        Replanned(86400.0), stops={"G4.1.7"},
    ),
    _fault(
        "path-lost-83s", "通往阵列的路径中断 83 秒后恢复，结束时一切正常", "the path to the array is away for 83 s and comes back; the end looks healthy", 400,
        Word("nvme", "nvme1", "state", _AT, _AT + 83, "connecting"),
        Record(_AT + 2, "nvme nvme1: starting error recovery"), Record(_AT + 12, "nvme nvme1: Reconnecting in 10 seconds..."),
        Record(_AT + 83, "nvme nvme1: Successfully reconnected (7 attempt)"), stops=_BROKEN | {"G4.2.6"},
    ),
    _fault(
        "path-lost-8s", "路径在两次采样之间中断 8 秒，仅内核日志有记录", "the path is away for 8 s between two samples: only the log knows", 501,
        Record(_s(501) + 1, "nvme nvme1: starting error recovery"), Record(_s(501) + 9, "nvme nvme1: Successfully reconnected (1 attempt)"),
        stops={"G4.2.6"},
    ),
    _fault(
        "controller-resets", "控制器自行复位，仅其计数器有记录", "the controller was reset between two samples: only its counter knows", 420,
        Count("nvme", "nvme1", "reset_count", _s(420), 1), stops={"G4.2.6"},
    ),
    _fault(
        "controller-gone", "阵列控制器消失且不再恢复", "the array's controller vanishes and does not come back", 400,
        Silent("nvme", _AT, math.inf, subject="nvme1"), stops=_BROKEN | {"G4.2.6", "G4.4.4"}, undecided={"G4.1.3"},
    ),
    _fault(
        "media-error", "磁盘出现一个介质错误", "a disk counts one media error", 300,
        Count("smart", "nvme0", "media_errors", _s(300), 1), stops={"G4.2.1"}, late=12,
    ),
    _fault(
        "critical-warning", "磁盘发出严重告警后又撤销", "a disk warns for an hour and takes it back", 300,
        Count("smart", "nvme0", "critical_warning", _s(300), 4), Count("smart", "nvme0", "critical_warning", _s(360), -4),
        stops={"G4.2.1"}, late=12,
    ),
    _fault(
        "unsafe-shutdown", "磁盘经历一次异常掉电", "a disk lost its power", 300,
        Count("smart", "nvme0", "unsafe_shutdowns", _s(300), 1), stops={"G4.2.1"}, late=12,
    ),
    _fault(
        "aer-nonfatal", "PCI Express 出现不可纠正错误", "PCI Express counts an uncorrected error", 222,
        Count("aer", "0000:41:00.0", "nonfatal", _s(222), 1), stops={"G4.2.2"},
    ),
    _fault(
        "memory-uncorrected", "内存出现不可纠正错误", "a memory module counts an uncorrected error", 222,
        Count("edac", "mc0", "ue_count", _s(222), 1), stops={"G4.2.2"},
    ),
    _fault(
        "crc-errors", "端口新增 CRC 错误", "the port counts damaged frames", 640,
        Count("ethtool", "ens1f0np0", "rx_crc_errors_phy", _s(640), 7), stops={"G4.2.3"}, late=7,
    ),
    _fault(
        "frames-missed", "网卡丢帧", "the kernel counts frames that the port had no room for", 640,
        Count("net", "ens1f0np0", "rx_missed_errors", _s(640), 90), stops={"G4.2.3"},
    ),
    _fault(
        "roce-out-of-sequence", "RoCE 报文乱序丢失", "RoCE packets are lost and sent again", 700,
        Count("rdma", "mlx5_0/1", "out_of_sequence", _s(700), 55), stops={"G4.2.4"},
    ),
    _fault(
        "pfc-storm", "暂停帧风暴", "a pause storm holds the port until the card gives up", 333,
        Count("ethtool", "ens1f0np0", "tx_pause_storm_error_events", _s(333), 4), stops={"G4.2.5"}, late=7,
    ),
    _fault(
        "pfc-held", "端口有百分之二的时间被暂停", "the port is held for two hundredths of the time", None,
        Count("ethtool", "ens1f0np0", "rx_prio3_pause_duration", _s(333), 1_200_000), stops={"G4.2.5"},
    ),
    _fault(
        "flapping-link", "链路在两次采样之间闪断", "the link goes and comes back between two samples", 444,
        Count("net", "ens1f0np0", "carrier_changes", _s(444), 2), stops={"G4.2.7"},
    ),
    _fault(
        "link-down", "端口断开五分钟", "the port is down for five minutes", 444,
        Word("net", "ens1f0np0", "operstate", _s(444), _s(449), "down"), stops=_BROKEN | {"G4.2.7"},
    ),
    _fault(
        "link-lower-down", "端口因下层设备断开五分钟", "the port is down for five minutes for want of the one below it", 444,
        Word("net", "ens1f0np0", "operstate", _s(444), _s(449), "lowerlayerdown"), stops=_BROKEN | {"G4.2.7"},
    ),
    _fault(
        "port-gone", "网卡从系统中消失六分钟后恢复", "the port is gone from the system for six minutes and comes back", 444,
        Silent("net", _s(444), _s(450), subject="ens1f0np0"), stops=_BROKEN | {"G4.2.7"},
    ),
    _fault(
        "rdma-gone", "RDMA 设备从系统中消失六分钟后恢复", "the RDMA device is gone from the system for six minutes and comes back", 444,
        Silent("rdma", _s(444), _s(450), subject="mlx5_0/1"), stops=_BROKEN | {"G4.2.7"},
    ),
    _fault(
        "rdma-down", "RDMA 端口断开五分钟", "the RDMA port is down for five minutes", 444,
        Word("rdma", "mlx5_0/1", "state", _s(444), _s(449), "DOWN"), stops=_BROKEN | {"G4.2.7"},
    ),
    _fault(
        "filesystem-shut-down", "文件系统因日志错误关闭", "XFS shuts the file system down", 555,
        Record(_s(555), "XFS (nvme1n1): Filesystem has been shut down due to log error (0x2)."), stops={"G4.2.8"},
    ),
    _fault(
        "out-of-memory", "内存耗尽，内核结束了进程", "the kernel kills a process for want of memory", 555,
        Record(_s(555), "Out of memory: Killed process 4711 (python3) total-vm:9000kB, anon-rss:8000kB"), stops={"G4.2.8"},
    ),
    _fault(
        "read-only", "挂载点变为只读五分钟", "the mount is read-only for five minutes", 480,
        Word("space", "/mnt/fx100", "read_only", _s(480), _s(485), True), stops=_BROKEN,
    ),
    _fault(
        "mount-broken", "挂载点五分钟内读取出错", "the file system answers with errors for five minutes", 480,
        Word("space", "/mnt/fx100", "error", _s(480), _s(485), "Input/output error"), stops=_BROKEN,
    ),
    _fault(
        "engine-crash", "推理引擎崩溃并自行重启", "the engine crashes and comes back by itself", 350,
        Restart(_s(350), 240), Failing(_s(350), _s(354)), stops=_BROKEN | {"G4.2.9", "G4.2.11"},
    ),
    _fault(
        "requests-fail", "请求失败五分钟", "requests fail for five minutes", 350, Failing(_s(350), _s(355)), stops={"G4.2.11"},
    ),
    _fault(
        "gpu-uncorrected", "加速卡出现不可纠正错误", "a card counts uncorrected memory errors", 380,
        Count("accelerator", "amd-smi", "uncorrectable", _s(380), 2), stops={"G4.2.10"}, platform="rocm",
    ),
    _fault(
        "nvidia-dram-uncorrected", "NVIDIA 加速卡显存出现不可纠正错误", "an NVIDIA card counts an uncorrected error of its DRAM", 380,
        Count("accelerator", "nvidia-smi", "dram_uncorrectable", _s(380), 1), stops={"G4.2.10"}, platform="nvidia",
    ),
    _fault(
        "nvidia-sram-parity", "NVIDIA 加速卡片上存储出现奇偶校验错误", "an NVIDIA card counts a parity error of its SRAM", 380,
        Count("accelerator", "nvidia-smi", "sram_uncorrectable_parity", _s(380), 1), stops={"G4.2.10"}, platform="nvidia",
    ),
    _fault(
        "nvidia-ecc-untold", "NVIDIA 加速卡未开启 ECC，无错误计数", "NVIDIA cards run without ECC and count no errors", None,
        Word("accelerator", "nvidia-smi", "ecc", 0, math.inf, "N/A"), undecided={"G4.2.10"}, platform="nvidia",
    ),
    _fault(
        "nvidia-counts-lost", "NVIDIA 加速卡从某时刻起不再给出错误计数", "NVIDIA cards tell no counts of errors any more from one moment on", None,
        Word("accelerator", "nvidia-smi", "ecc", _s(380), math.inf, "N/A"), undecided={"G4.2.10"}, platform="nvidia",
    ),
    _fault(
        "slow-drift", "全程缓慢变慢百分之十", "everything grows slower by a tenth over the soak", None,
        Slow(0, math.inf, 1.10), stops={"G4.3.1", "G4.3.2"},
    ),
    _fault(
        "latency-step", "延迟从某时刻起上升百分之十二", "latency rises by an eighth from one moment on", 540,
        Slow(_s(540), math.inf, 1.12, at_once=True), stops={"G4.3.1", "G4.3.2"}, late=120,
    ),
    _fault(
        "slow-tail-for-hours", "中段四小时内少数请求首字延迟增加一半，中位数不变", "for four hours in the middle a few requests wait half as long again; the median knows nothing of it", 420,
        Tail(_s(420), _s(660), 1.5), stops={"G4.3.2"}, late=120,
    ),
    _fault(
        "slow-tail-for-an-hour", "某一小时内少数请求首字延迟达三倍", "for one hour in the middle a few requests wait three times as long", 420,
        Tail(_s(420), _s(480), 3.0), stops={"G4.3.2"},
    ),
    _fault(
        "one-slow-hour", "某一小时吞吐下降", "one hour gives less", 420, Slow(_s(420), _s(480), tokens=0.85), stops={"G4.3.3"},
    ),
    _fault(
        "thermal-throttle", "处理器因过热降频", "the processor throttles for heat", 600,
        Count("throttle", "cpu0", "core_throttle_count", _s(600), 30), stops={"G4.3.4"},
    ),
    _fault(
        "hot-disk", "磁盘温度超过限值", "a disk is hotter than it may be", 610,
        Word("thermal", "nvme0/Composite", "celsius", _s(610), _s(620), 72.0), stops={"G4.3.4"}, late=10,
    ),
    _fault("memory-leak", "主机内存泄漏", "the host loses memory", None, Drift("memory", "host", "MemAvailable", 0, -0.08), stops={"G4.3.5"}),
    _fault("engine-leak", "引擎内存泄漏", "the engine grows", None, Drift("process", "engine", "rss_bytes", 0, 0.09), stops={"G4.3.5"}),
    _fault("descriptor-leak", "文件描述符泄漏", "the engine leaves files open", None, Drift("process", "engine", "fds", 0, 0.3), stops={"G4.3.6"}),
    _fault(
        "engine-leak-restarted", "引擎内存泄漏，每日重启将其掩盖", "the engine grows, and a restart a day hides it", None,
        Leak("process", "engine", "rss_bytes", 0.008), stops={"G4.3.5"},
    ),
    _fault(
        "descriptor-leak-restarted", "文件描述符泄漏，每日重启将其掩盖", "the engine leaves files open, and a restart a day hides it", None,
        Leak("process", "engine", "fds", 0.01), stops={"G4.3.6"},
    ),
    _fault(
        "memory-leak-restarted", "主机内存泄漏，引擎重启后归还", "the host loses memory that a restart of the engine gives back", None,
        Leak("memory", "host", "MemAvailable", -0.007), stops={"G4.3.5"},
    ),
    _fault(
        "memory-not-given-back", "引擎重启后主机内存未全部归还", "the host does not get back all of its memory when the engine restarts", 550,
        Drift("memory", "host", "MemAvailable", _s(550), -0.08, at_once=True), stops={"G4.3.5"}, late=60,
    ),
    _fault(
        "disk-full", "存储几乎写满", "the store fills and nobody empties it", 720,
        Word("space", "/mnt/fx100", "available", _s(720), _s(730), 10**11), stops={"G4.3.7"}, late=10,
    ),
    _fault(
        "inodes-gone", "inode 几乎耗尽", "the file system runs out of inodes", 720,
        Word("space", "/mnt/fx100", "inodes_free", _s(720), _s(730), 1000), stops={"G4.3.7"}, late=10,
    ),
    _fault("reboot", "主机重启，五分钟后恢复", "the host reboots and is back after five minutes", 500, Away("reboot", _s(500), 300), stops=_TIME),
    _fault(
        "path-lost-then-reboot", "路径先中断，主机随后重启：重启不是原因", "the path is lost and then the host reboots: that explains no loss that came before", 498,
        Word("nvme", "nvme1", "state", _s(498), _s(501), "connecting"), Away("reboot", _s(500), 300), stops=_BROKEN | {"G4.2.6"},
        policy=(1, 1800.0), spare=1.0,
    ),
    _fault(
        "engine-lost-then-reboot", "引擎先崩溃，主机随后重启", "the engine is gone six minutes before the host reboots", 532,
        Restart(_s(532), 360), Failing(_s(536), _s(538)), Away("reboot", _s(538), 300), stops=_BROKEN | {"G4.2.9", "G4.2.11"}, policy=(1, 1800.0), spare=1.0,
    ),
    _fault(
        "engine-crash-after-reboot", "允许的重启之后引擎又崩溃", "the policy passes over the reboot, and the engine crashes two hours later", 620,
        Away("reboot", _s(490), 300), Restart(_s(620), 180), Failing(_s(620), _s(622)), stops=_BROKEN | {"G4.2.9", "G4.2.11"}, policy=(1, 1800.0), spare=1.0,
    ),
    _fault("worker-killed", "工作进程被杀，五分钟后恢复", "the worker is killed and begins again after five minutes", 500, Away("worker", _s(500), 300), stops=_TIME),
    _fault("journal-full", "日志无空间，采样暂停十分钟", "there is no room for the journal for ten minutes", 500, Away("full", _s(500), 600), stops=_TIME),
    _fault("stopped-early", "浸泡测试在第十五小时被停止", "somebody stops the soak after fifteen hours", 900, Stopped(_s(900)), stops=_TIME),
    _fault(
        "load-gone", "推理负载停止两小时", "nobody asks the engine for two hours", 419,
        Unhooked("client", _s(415), _s(535)), stops=_TIME, undecided=set(), late=12,
    ),
    _fault("clock-step", "时钟跳变 2.5 秒", "the clock steps by 2.5 s", 460, Moved(_s(460), 2.5), stops={"G4.1.4"}),
    _fault("clock-off", "时钟偏差 50 毫秒", "the clock is 50 ms off for a while", 460, Word("clock", "chronyc", "offset", _s(460), _s(470), 0.05), stops={"G4.1.4"}, late=10),
    _fault("log-lost", "内核日志在读取前被覆盖", "records of the kernel's log are overwritten before they are read", 460, Lost(_s(460), 120), undecided={"G4.2.6", "G4.2.8"}),
    _fault("sample-gap", "磁盘采样缺失四十分钟", "the disks are not sampled for forty minutes", 460, Silent("disk", _s(460), _s(500)), undecided=_TIME | {"G4.1.3"}),
    _fault(
        "stream-denied", "RDMA 计数器始终无法读取", "the RDMA counters cannot be read from the begin", None,
        Silent("rdma", 0, math.inf, error="Permission denied"), undecided={"G4.1.3", "G4.2.4", "G4.2.7"},
    ),
    _fault("counter-backwards", "计数器倒退", "a counter goes backwards without a reboot", 460, Count("rdma", "mlx5_0/1", "out_of_sequence", _s(460), -5), undecided={"G4.2.4"}),
    _fault(
        "corrupt-block", "一个数据块与写入不一致", "one block is not what was written", 500,
        Result("verify", _s(490), 1, fio(84), "verify: bad header rand_seed 1, wanted 2 at file /mnt/fx100/verify offset 4096"), stops={"G4.4.1"}, late=10,
    ),
    _fault(
        "verify-cut", "一次校验超时，被提前结束", "a pass of fio verify is not over in its time and is ended", None,
        Result("verify", _s(490), 128, fio(read=2**30), why="limit"), undecided={"G4.4.1"},
    ),
    _fault(
        "verify-half", "一次校验只读回一半", "a pass of fio verify reads back half of what it wrote", None,
        Result("verify", _s(490), 0, fio(read=2**30, wrote=2**31)), undecided={"G4.4.1"},
    ),
    _fault("verify-fio-killed", "fio 被信号终止", "fio is killed in the middle of a pass and prints nothing", 500, Result("verify", _s(490), 137, ""), stops={"G4.4.1"}, late=10),
    _fault(
        "kv-file-changed", "一个 KV 文件内容改变", "one KV file is not what was stored", 514,
        Result("kvfiles", _s(510), 0, json.dumps({"files": 512, "mismatched": 1, "missing": 0})), stops={"G4.4.2"},
    ),
    _fault(
        "wrong-canary", "金丝雀答案不一致", "canaries are answered otherwise from restored KV", 456,
        Result("canary", _s(452), 0, json.dumps({"asked": 32, "computed_differs": 1, "restored_differs": 3, "garbled": 0})), stops={"G4.4.3"},
    ),
    _fault(
        "garbled-canary", "金丝雀答案乱码", "one restored answer is garbled", 456,
        Result("canary", _s(452), 0, json.dumps({"asked": 32, "computed_differs": 2, "restored_differs": 1, "garbled": 1})), stops={"G4.4.3"},
    ),
)  # fmt: skip

#: What happens in any machine room and must stop nothing.
HARMLESS: tuple[SoakFault, ...] = (
    _fault("laptop-gone", "笔记本电脑离线数小时", "the laptop is closed for hours: the journal knows nothing of it", None),
    _fault(
        "ssh-restarted", "ssh 服务重启", "the ssh server restarts", 300,
        Record(_s(300), "systemd[1]: ssh.service: Deactivated successfully."), Record(_s(300), "systemd[1]: Started OpenBSD Secure Shell server."),
    ),
    _fault("worker-begins-again", "工作进程被杀后 20 秒内恢复", "the worker is killed and begins again within a minute", 500, Away("worker", _s(500), 20)),
    _fault("clock-slewed", "时钟微调 30 毫秒", "the clock moves by 30 ms", 460, Moved(_s(460), 0.03)),
    _fault(
        "corrected-errors", "可纠正错误", "memory and bus correct errors", 460,
        Count("edac", "mc0", "ce_count", _s(460), 3), Count("aer", "0000:41:00.0", "correctable", _s(460), 9),
        Record(_s(460), "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0"),
    ),
    _fault(
        "nvidia-corrected", "NVIDIA 加速卡的可纠正错误", "an NVIDIA card corrects errors of its memory", 380,
        Count("accelerator", "nvidia-smi", "dram_correctable", _s(380), 5), platform="nvidia",
    ),
    _fault("congestion-notified", "拥塞通知增多", "the fabric asks to slow down, as it should", 460, Count("rdma", "mlx5_0/1", "np_cnp_sent", _s(460), 90000)),
    _fault("few-requests-fail", "个别请求失败", "one request fails", 350, Failing(_s(350), _s(350) + 31)),
    _fault(
        "reboot-passed-over", "策略允许的重启", "the host reboots once, the policy passes over that, and the plan has an hour to spare", 500,
        Away("reboot", _s(500), 300), policy=(1, 1800.0), spare=1.0,
    ),
    _fault(
        "reboot-before-the-hours", "开始不久主机重启，策略重新计时，且计划有余量", "the host reboots early, the clock begins anew, and the plan has an hour to spare", 20,
        Away("reboot", _s(20), 300), spare=1.0,
    ),
    _fault("warm-room", "机房温度升高但未超限", "the room is warm, and nothing is too warm", 610, Word("thermal", "nvme0/Composite", "celsius", _s(610), _s(620), 66.0)),
    _fault("one-sample-late", "丢失少数采样", "three samples are missing", 460, Silent("disk", _s(460), _s(466))),
)  # fmt: skip


#: Faults that the embedded rack does not offer: samples a quarter of an hour apart show others or none, or a rack cannot begin so.
_FINE = frozenset(
    {
        "firmware-changed",
        "firmware-untold",
        "link-down",
        "link-lower-down",
        "port-gone",
        "rdma-gone",
        "mount-broken",
        "rdma-down",
        "engine-crash",
        "requests-fail",
        "disk-full",
        "inodes-gone",
        "stopped-early",
        "sample-gap",
        "path-lost-then-reboot",
        "engine-lost-then-reboot",
        "engine-crash-after-reboot",
    }
)
EMBEDDED = tuple(one for one in FAULTS if one.name not in _FINE)


def every() -> dict[str, SoakFault]:
    """All faults by name, what is harmless too."""
    return {one.name: one for one in (*FAULTS, *HARMLESS)}
