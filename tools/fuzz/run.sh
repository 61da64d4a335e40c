#!/usr/bin/env bash
# Runs every fuzz target of the module, found by its name, several at a time.
#
#   tools/fuzz/run.sh [TIME [TARGETS]]
#
# TIME is what each gets (default 30s); TARGETS chooses by a part of "package
# Fuzz…" (default all). YORE_FUZZ_JOBS is how many run at once, each on one core
# (default: one for each core, at most 8). New inputs go to the cache of the go
# command; a finding stands below testdata/fuzz and in the output. Exit: 0 nothing
# was found, 1 something was.
set -uo pipefail
cd "$(dirname "$0")/../.."

time="${1:-30s}" only="${2:-}"
cores="$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)"
jobs="${YORE_FUZZ_JOBS:-$((cores < 8 ? cores : 8))}"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed -nE 's|^\./(.*)/[^/]+:func (Fuzz.*)$|\1 \2|p' |
	grep -vE '^(tools|.*/testdata)/' | sort -u | grep -F -- "$only" >"$scratch/chosen" || { echo "no target matches $only"; exit 1; }

# The tests of a package are built once, not once for each of its targets.
while IFS= read -r dir; do
	go test -c -fuzz=. -o "$scratch/${dir//\//_}.test" "./$dir" || { echo "$dir cannot be built"; exit 1; }
done < <(cut -d' ' -f1 "$scratch/chosen" | sort -u)
cache="$(go env GOCACHE)/fuzz"
echo "built in $SECONDS s; $(wc -l <"$scratch/chosen") targets, $time each, $jobs at once"

one() { # one FOLDER TARGET
	local test="$scratch/${1//\//_}.test" out="$scratch/${1//\//_}.$2.out" started=$SECONDS
	# By default each input that reaches something new is made smaller for up to a
	# minute, which is all the time that there is where an execution takes long.
	if (cd "$1" && GOMAXPROCS=1 "$test" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$time" -test.fuzzminimizetime 10x \
		-test.fuzzcachedir "$cache/yore/$1" -test.parallel 1 >"$out" 2>&1); then
		printf 'ok      %s %s, %s\n' "$1" "$2" "$(grep -oE 'execs: [0-9]+' "$out" | tail -1)"
	# At the end of its time the engine may report its own deadline as a failure,
	# without an input: nothing was found.
	elif grep -q '^ *context deadline exceeded$' "$out" && ! grep -q 'Failing input' "$out"; then
		printf 'ok      %s %s, %s\n' "$1" "$2" "$(grep -oE 'execs: [0-9]+' "$out" | tail -1)"
	else
		printf 'FOUND   %s %s after %s s\n' "$1" "$2" "$((SECONDS - started))"
		tail -40 "$out"
		touch "$scratch/found"
	fi
}
export -f one
export scratch time cache
xargs -P "$jobs" -L 1 bash -c 'one "$@"' one <"$scratch/chosen"
[ ! -e "$scratch/found" ]
