#!/bin/sh
# build.sh FILE FOLDER PACKAGE [FLAG...] builds PACKAGE, a Go program of the module in FOLDER, into FILE, and shows how far
# it is. From the environment it takes, if they are set:
#   GO              the go command
#   BUILD_STARTED   when the user's command began, in seconds since 1970: the clock on the left counts from then
#   BUILD_PROGRAMS  the names of all programs that the user's command builds, in order: each is shown as "n of m"
set -eu

file=$1 folder=$2 package=$3
shift 3
name=${file##*/}
began=$(date +%s)
work=$(mktemp -d)
watcher=

# A Go compiler spends a quarter of its time on collecting garbage. It has no need to below this size (decision 0047).
export CGO_ENABLED=0 GOGC=off GOMEMLIMIT=512MiB

# compile runs `go build` with more flags. The program is built aside and moved: nobody ever runs half a program.
compile() {
	"${GO:-go}" -C "$folder" build "$@" -o "$file.new" "$package"
}

# place prints "[n of m] ".
place() {
	n=0 at=
	for program in ${BUILD_PROGRAMS-}; do
		n=$((n + 1))
		[ "$program" != "$name" ] || at=$n
	done
	[ -z "$at" ] || printf '[%d of %d] ' "$at" "$n"
}

clock() {
	printf '%d:%02d' "$(($1 / 60))" "$(($1 % 60))"
}

# line WORDS prints how far the program is.
line() {
	printf '%6s  %s%s: %s' "$(clock "$(($(date +%s) - ${BUILD_STARTED:-$began}))")" "$place" "$name" "$1"
}

# state says what the go command is at. It names each module that it downloads, and each package that it compiles.
state() {
	n=$(wc -l <"$work/log")
	total=$(cat "$work/total" 2>/dev/null || true)
	if [ -z "$total" ]; then
		downloaded=$(grep -c '^go: downloading ' "$work/log") || true
		echo "looking for its packages, $downloaded modules downloaded"
	elif [ "$n" -lt "$total" ]; then
		echo "compiling package $n of $total"
	else
		echo "linking"
	fi
}

# watch shows the state each second, on a terminal.
watch() {
	while kill -0 $$ 2>/dev/null; do
		printf '\r\033[K%s' "$(line "$(state)")"
		sleep 1
	done
}

# unwatch ends watch and clears its line.
unwatch() {
	[ -n "$watcher" ] || return 0
	kill "$watcher"
	wait "$watcher" 2>/dev/null || true
	watcher=
	printf '\r\033[K'
}

end() {
	unwatch
	rm -rf "$work" "$file.new"
}

interrupted() {
	unwatch
	echo "Interrupted. What has been compiled is kept: the next make goes on from there."
	exit 130
}

# fail prints what the go command said, without its progress.
fail() {
	unwatch
	grep -v -e '^go: downloading ' -e '^[^ ]*$' "$work/log" >&2
	exit 1
}

trap end EXIT
trap interrupted INT TERM

place=$(place)
: >"$work/log"
if [ -t 1 ]; then
	watch &
	watcher=$!
else
	line building
	echo
fi

# Without running anything it says what it would compile, once it has downloaded the modules.
compile -n "$@" 2>"$work/log" || fail
total=$(grep -c '/compile -o ' "$work/log") || true
: >"$work/log"
echo "$total" >"$work/total"
compile -v "$@" 2>"$work/log" || fail
mv "$file.new" "$file"

unwatch
if [ "$total" = 0 ]; then
	line "up to date"
else
	line "built in $(clock "$(($(date +%s) - began))")"
fi
echo
