#!/bin/sh
# Serves the small model with a KV tier of files; stays in the foreground. usage: serve.sh VENV MODEL KV_FOLDER PORT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=$1 model=$2 kv=$3 port=$4
mkdir -p "$kv"
tier='{"type":"fs","root_dir":"'$kv'","n_read_threads":4,"n_write_threads":4}'
extra='{"spec_name":"KvgateCpuTieringSpec","spec_module_path":"kvgate_cpu_tiering","cpu_bytes_to_use":268435456,"secondary_tiers":['$tier']}'
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1
export VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=0-1 VLLM_SERVER_DEV_MODE=1
export PYTHONHASHSEED=0 PYTHONPATH="$here/plugin"
exec "$venv/bin/vllm" serve "$model" --host 127.0.0.1 --port "$port" --served-model-name tiny --dtype float32 \
  --max-model-len 20480 --enforce-eager --max-num-seqs 8 --max-num-batched-tokens 4096 --enable-prompt-tokens-details \
  --kv-transfer-config '{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":'"$extra"'}'
