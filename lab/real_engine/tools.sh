#!/bin/sh
# Makes a virtual environment with aiperf, 1.1 GB: beside vLLM it would put older packages in the place of vLLM's own.
# usage: tools.sh FOLDER
set -eu
folder=$1
[ ! -e "$folder/.installed" ] || exit 0
"${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check aiperf==0.13.0
touch "$folder/.installed"
