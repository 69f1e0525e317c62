"""Faults of the fabric under load: too slow, too late, lossy, unfair, or a perftest that did not do what it was asked."""

from __future__ import annotations

from lab.faults.model import Fault
from lab.load.fabric import Cable
from lab.load.model import Trouble

_PAIR = frozenset({"G2.2.1", "G2.2.2", "G2.2.3"})
_ALL = frozenset(f"G2.2.{number}" for number in range(1, 10))

FAULTS: tuple[Fault, ...] = (
    Fault(
        "fabric-mtu-1024", "RoCE packets of the node carry 1024 bytes: 92.6 Gb/s at best",
        "node-01", stops=_PAIR, load=(Cable(mtu=1024),),
    ),
    Fault(
        "fabric-lane-lost", "the node's link runs on one of four lanes",
        "node-01", stops=_PAIR | {"G2.2.7", "G2.2.8"}, load=(Cable(factor=0.25),),
    ),
    Fault(
        "fabric-one-way-at-a-time", "the node's card sits in a slot too narrow for both directions at once",
        "node-01", stops=frozenset({"G2.2.3"}), load=(Cable(both=0.65),),
    ),
    Fault(
        "fabric-unsteady", "rates over the node's port differ by a tenth from run to run",
        "node-01", undecided=_PAIR | {"G2.2.5", "G2.2.8", "G2.2.9"}, load=(Cable(noise=0.11),),
    ),
    Fault(
        "fabric-node-throttles", "the node's processors are throttled for heat while its port is loaded, and its rates differ by a tenth",
        "node-01", undecided=_PAIR | {"G2.2.5", "G2.2.7", "G2.2.8", "G2.2.9"},
        load=(Cable(noise=0.12), Trouble(clock=0.9, throttled=3)),
    ),
    Fault(
        "fabric-latency", "a single read of the node takes four times as long",
        "node-01", stops=frozenset({"G2.2.4"}), load=(Cable(latency=4.0),),
    ),
    Fault(
        "fabric-latency-unsteady", "a single read of the node takes up to twice as long in one round as in another, and never too long",
        "node-01", undecided=frozenset({"G2.2.4"}), load=(Cable(jitter=0.3),),
    ),
    Fault(
        "fabric-tail", "one read in a thousand of the node takes 40 us",
        "node-01", stops=frozenset({"G2.2.4"}), load=(Cable(tail=4.0),),
    ),
    Fault(
        "fabric-card-memory-slow", "reads into the accelerators' memory go through the host's",
        "node-01", stops=frozenset({"G2.2.5"}), load=(Cable(card=0.4),),
    ),
    Fault(
        "fabric-retransmits", "packets to and from the node arrive out of sequence under load",
        "node-01", stops=frozenset({"G2.2.6", "G2.2.7"}), load=(Cable(grows=(("out_of_sequence", 12), ("packet_seq_err", 12))),),
    ),
    Fault(
        "fabric-crc", "the array's port counts CRC errors under load",
        "array", stops=frozenset({"G2.2.6", "G2.2.7"}), load=(Cable(grows=(("rx_crc_errors_phy", 3),)),),
    ),
    Fault(
        "fabric-counters-back", "counters of the array's port are reset while it is loaded",
        "array", undecided=_ALL, load=(Cable(grows=(("tx_packets_phy", -(10**6)),)),),
    ),
    Fault(
        "fabric-counter-absent", "the driver of the node's port shows no counter of packets out of sequence",
        "node-01", undecided=frozenset({"G2.2.6", "G2.2.7"}), load=(Cable(gone=("out_of_sequence",)),),
    ),
    Fault(
        "fabric-no-ecn", "the switch marks nothing: pauses alone hold the senders back",
        "all", stops=frozenset({"G2.2.7"}), load=(Cable(ecn=False, pause=5000),),
    ),
    Fault(
        "fabric-nothing-congested", "two senders at once meet no congestion at all: no mark, no pause",
        "all", undecided=frozenset({"G2.2.7"}), load=(Cable(ecn=False),),
    ),
    Fault(
        "fabric-cnp-ignored", "the node takes no notice of congestion notifications",
        "node-01", stops=frozenset({"G2.2.7"}), load=(Cable(obeys=False),),
    ),
    Fault(
        "fabric-not-at-once", "clients of the array run one after another instead of at once",
        "nodes", undecided=frozenset({"G2.2.7", "G2.2.8"}), load=(Cable(alone=True),),
    ),
    Fault(
        "perftest-refused", "the array's firewall drops perftest's connections",
        "node-01", undecided=_ALL,
        load=(Cable(said="Couldn't connect to 192.168.100.10:18515\nUnable to init the socket connection"),),
    ),
    Fault(
        "perftest-completion-error", "perftest's reads and writes end in transport retries that were exceeded, after a fine-looking row",
        "node-01", undecided=_ALL,
        load=(Cable(said=" Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\nscnt=128, ccnt=0"),),
    ),
    Fault(
        "perftest-short", "perftest measures half of the time that it was asked for",
        "node-01", undecided=_ALL - {"G2.2.4"}, load=(Cable(short=0.5),),
    ),
    Fault(
        "perftest-no-gid", "the node's port has no RoCE v2 GID of the ordered address any more",
        "node-01", undecided=_ALL,
        load=(Cable(said="kvgate: no GID 0000:0000:0000:0000:0000:ffff:c0a8:640b of RoCE v2 on mlx5_0 port 1", status=3),),
    ),
    Fault(
        "perftest-port-taken", "another server has the TCP ports of perftest on the array",
        "array", undecided=_ALL, load=(Cable(served="kvgate: TCP port 18515 is taken"),),
    ),
    Fault(
        "perftest-server-fails", "perftest on the array cannot make its queues",
        "array", undecided=_ALL, load=(Cable(served="Unable to create QP.\nFailed to create QP.\n Couldn't create IB resources"),),
    ),
    Fault(
        "volume-target-slow", "network and disks are fast and the volume is not: the target is served by too few cores",
        "node-01", stops=frozenset({"G2.1.2", "G2.1.3", "G2.1.6", "G2.2.9"}), load=(Trouble("nvme1n1", factor=0.6),),
    ),
    Fault(
        "fabric-beyond-its-port", "perftest tells a fifth more than the node's port can carry: another port or another unit",
        "node-01", undecided=_PAIR | {"G2.2.5", "G2.2.7", "G2.2.8", "G2.2.9"}, load=(Cable(factor=1.2),),
    ),
    Fault(
        "fabric-fades", "rates over the node's port fall by 1 % from run to run",
        "node-01", undecided=_PAIR | {"G2.2.5", "G2.2.9"}, load=(Cable(decay=0.01),),
    ),
)  # fmt: skip
