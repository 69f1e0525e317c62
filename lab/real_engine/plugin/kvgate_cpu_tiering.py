"""A vLLM plug-in: its own tiering offloading (host memory, then files) on the CPU platform, where vLLM offers no copier.

Only the copy between the engine's KV blocks and the host tier is done here, by indexing; scheduling, tiers, files and metrics
are vLLM's. Chosen by ``spec_name`` and ``spec_module_path`` of OffloadingConnector. Written for vLLM 0.32.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import torch
from vllm.v1.kv_offload.base import OffloadingWorker, TransferResult
from vllm.v1.kv_offload.cpu.shared_offload_region import SharedOffloadRegion
from vllm.v1.kv_offload.tiering.spec import TieringOffloadingSpec


class IndexingWorker(OffloadingWorker):
    """Copies at once, within the call that asks for it."""

    def __init__(self, caches: Any, per_chunk: int, region: Any) -> None:
        self._per_chunk, self._region = per_chunk, region
        self._groups = caches.group_data_refs
        self._finished: list[Any] = []
        self._engine: list[torch.Tensor] = []
        self._host: list[torch.Tensor] = []
        for cache in caches.tensors:
            size = cache.page_size_bytes
            self._engine.append(cache.tensor.view(torch.int8).view(-1, size))
            self._host.append(region.create_next_worker_view(size * per_chunk).unflatten(1, (per_chunk, size)))

    def submit_store(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """From the engine's blocks to the host tier."""
        return self._copied(job_id, src_spec, dst_spec, storing=True)

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """From the host tier to the engine's blocks."""
        return self._copied(job_id, dst_spec, src_spec, storing=False)

    def get_finished(self) -> list[Any]:
        """What was copied since the last call."""
        finished, self._finished = self._finished, []
        return finished

    def wait(self, job_ids: Any) -> None:
        """Nothing is ever under way."""

    def shutdown(self) -> None:
        """Let go of the shared memory."""
        self._engine.clear()
        self._host.clear()
        if self._region is not None:
            self._region.cleanup()
            self._region = None

    def _copied(self, job: int, engine: Any, host: Any, *, storing: bool) -> bool:
        began, moved = time.perf_counter(), 0
        for refs, blocks, chunks, places in self._pieces(engine, host):
            for ref in refs:
                size = ref.page_size_bytes
                near, far = self._engine[ref.tensor_idx], self._host[ref.tensor_idx]
                if storing:
                    far[chunks, places, :size] = near[blocks, :size]
                else:
                    near[blocks, :size] = far[chunks, places, :size]
                moved += len(blocks) * size
        seconds = time.perf_counter() - began
        self._finished.append(TransferResult(job_id=job, success=True, transfer_size=moved, transfer_time=seconds))
        return True

    def _pieces(self, engine: Any, host: Any) -> Iterator[tuple[Any, torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Blocks of each group beside the chunk, and the place in it, where each lies in the host tier."""
        taken = used = 0
        for refs, count, first in zip(self._groups, engine.group_sizes, engine.block_indices, strict=True):
            if not count:
                continue
            skipped = first % self._per_chunk
            whole = (count + skipped + self._per_chunk - 1) // self._per_chunk
            blocks = torch.tensor([int(one) for one in engine.block_ids[taken : taken + count]])
            chunks = torch.tensor([int(one) for one in host.block_ids[used : used + whole]])
            order = torch.arange(skipped, skipped + count)
            yield refs, blocks, chunks[order // self._per_chunk], order % self._per_chunk
            taken, used = taken + count, used + whole


class KvgateCpuTieringSpec(TieringOffloadingSpec):
    """vLLM's tiering with the worker above."""

    def get_worker(self, kv_caches: Any) -> OffloadingWorker:
        """Return the one worker."""
        found = getattr(self, "_indexing", None)
        if found is None:
            self._indexing = found = self.create_worker(kv_caches)
        return found

    def create_worker(self, kv_caches: Any) -> OffloadingWorker:
        """Map the host tier and make a worker on it."""
        region = SharedOffloadRegion(
            engine_id=self._engine_id,
            num_chunks=self.num_chunks,
            rank=0 if self.replicated_layout else self.config.parallel.rank,
            kv_bytes_per_chunk=self.kv_bytes_per_chunk,
            cpu_page_size=self.cpu_page_size_per_worker,
        )
        try:
            return IndexingWorker(kv_caches, self.blocks_per_chunk, region)
        except BaseException:
            region.cleanup()
            raise
