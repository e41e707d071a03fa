#!/bin/sh
# Makes the recordings of tests/python/test_monotonicity.py: tests/monotonicity/record.sh, after
# `make setup`. Run times change with them, so the list of exceptions must then be measured again.
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
for workload in array_swap queue hashmap rbtree btree; do
	"$folder/../../.venv/bin/pmemsim" record --name "$workload" --threads 4 --regions 100 \
		--items 600 -o "$folder/$workload.pmt"
done
