#!/bin/sh
# Builds the programs that are missing in a folder, one after the other, and says which of how many it is at, and since when.
#
#   hack/build.sh FOLDER MODULE LDFLAGS NAME=PACKAGE...
#
# What go prints is shown if a build fails. Each program is built aside and moved, so that nobody ever runs half of one.
set -eu

folder=$1 module=$2 ldflags=$3
shift 3

missing=0
for program; do
	[ -x "$folder/${program%%=*}" ] || missing=$((missing + 1))
done
[ "$missing" -gt 0 ] || exit 0

mkdir -p "$folder"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
start=$(date +%s)
now=0
for program; do
	name=${program%%=*}
	[ ! -x "$folder/$name" ] || continue
	now=$((now + 1))
	printf '%4d s  building %s, %d of %d\n' $(($(date +%s) - start)) "$name" "$now" "$missing"
	if ! CGO_ENABLED=0 "${GO:-go}" -C "$module" build -trimpath -ldflags "$ldflags" -o "$folder/$name.new" "${program#*=}" 2>"$log"; then
		cat "$log" >&2
		exit 1
	fi
	mv "$folder/$name.new" "$folder/$name"
done
printf '%4d s  built\n' $(($(date +%s) - start))
