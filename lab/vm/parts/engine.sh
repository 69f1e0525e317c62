# Three engines of one node, units of systemd that are the same but for where they keep their KV. Handed in by fw_cfg, sourced by node.sh.
# They stand in for vLLM with LMCache's fs:// store: pages, names and files are as those print and write them, time is modelled.
place=/srv/engine
mkdir -p "$place/model"
tar -xf "$given/program/raw" -C "$place"
# Two layers, two heads, 32 dimensions of bfloat16: 512 bytes of KV a token on two ranks.
echo '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2, "hidden_size": 128,
 "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "torch_dtype": "bfloat16", "vocab_size": 151936}' >"$place/model/config.json"
# What the modelled devices read, in bytes a second. Every byte is read from the mount, besides: a device is never faster than that.
printf '/mnt/nvme0 173e6\n/mnt/fx100 236e6\n' >"$place/devices"
for package in vllm-0.20.1 lmcache-0.4.4; do # what the process itself would import tells its version
    folder=/usr/local/lib/python3.11/dist-packages/$package.dist-info
    mkdir -p "$folder"
    printf 'Metadata-Version: 2.1\nName: %s\nVersion: %s\n' "${package%-*}" "${package##*-}" >"$folder/METADATA"
done
unit() { # NAME PORT STORE: the pages of its workers are a thousand below
    store=${3:+--store $3}
    cat >"/etc/systemd/system/engine-$1.service" <<UNIT
[Unit]
Description=Stand-in for an engine whose KV lies on ${3:-nothing}
[Service]
WorkingDirectory=$place
Environment=PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 LMCACHE_CONFIG_FILE=$place/$1.yaml
ExecStart=/usr/bin/python3 -m lab.engine --model tiny --rank-bytes 256 --pace 1 --prefill 470 --devices $place/devices $store --port $2 --worker-port -1000
TimeoutStopSec=60
UNIT
    printf 'chunk_size: 256\nlocal_cpu: false\nremote_url: "fs://host:0%s"\n' "$3" >"$place/$1.yaml"
}
unit local 8101 /mnt/nvme0/kv
unit array 8111 /mnt/fx100/kv
unit recompute 8121 ""
mkdir -p /mnt/nvme0/kv /mnt/fx100/kv
[ -d "$place/lab/engine/__pycache__" ] || python3 -m compileall -q "$place/lab"
systemctl daemon-reload
