"""Raw bytes kept before anybody reads them: append-only, content-addressed, hash-chained."""

from kvgate.codec import Seal
from kvgate.evidence.check import EvidenceCheck, check_folder
from kvgate.evidence.record import (
    AskedProbe,
    Stored,
    StoredAnswer,
    StoredBatch,
    StoredFailure,
    label,
    seq_of,
)  # fmt: skip
from kvgate.evidence.store import Evidence
from kvgate.mask import Masker

__all__ = [
    "AskedProbe", "Evidence", "EvidenceCheck", "Masker", "Seal", "Stored", "StoredAnswer", "StoredBatch", "StoredFailure",
    "check_folder", "label", "seq_of",
]  # fmt: skip
