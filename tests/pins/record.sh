#!/bin/sh
# Makes the recordings that the pinned numbers are measured on: tests/pins/record.sh, after
# `make setup`. `make update-pins` then measures all numbers again.
#
# program.c is recorded with one thread, with four, and with a redo log; each program of tests/corpus
# is recorded as it is, with its bug. Sources are compiled in their own folder and pools lie in a
# folder of a fixed name, since a recording holds the paths of both.
set -eu
pins=$(cd "$(dirname "$0")" && pwd)
bin=$pins/../../.venv/bin
built=$(mktemp -d)
pools=/tmp/pmemsim-pins
trap 'rm -rf "$built" "$pools"' EXIT

cd "$pins"
"$bin/pmemsim-cc" -O2 -pthread program.c -o "$built/program"
"$bin/pmemsim-cc" -O2 -pthread -DPM_REDO_LOG program.c -o "$built/program-redo"
mkdir -p recordings/corpus
"$bin/pmemsim" record -o recordings/one_thread.pmt -- "$built/program" 1 50
"$bin/pmemsim" record -o recordings/four_threads.pmt -- "$built/program" 4 12
"$bin/pmemsim" record -o recordings/redo_log.pmt -- "$built/program-redo" 1 12

cd ../corpus
for source in *.c; do
	name=${source%.c}
	"$bin/pmemsim-cc" -O1 -g -pthread "$source" -o "$built/$name"
	rm -rf "$pools"
	mkdir "$pools"
	"$bin/pmemsim" record -o "$pins/recordings/corpus/$name.pmt" --pm-path "$pools" -- \
		"$built/$name" run "$pools/pool"
done
