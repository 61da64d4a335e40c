#!/usr/bin/env bash
# Keeps what the search has reached: takes inputs of every fuzz target from the
# cache of the go command into testdata/fuzz, where each run of the tests tries
# them and the next search begins with them.
#
#   tools/fuzz/keep.sh [COUNT [BYTES]]
#
# Of each target COUNT inputs (default 12) of at most BYTES (default 1500), spread
# over what there is by size; inputs that are kept already stay and count. What
# looks like a credential is not kept: targets that search for them have their own.
set -euo pipefail
cd "$(dirname "$0")/../.."

count="${1:-12}" bytes="${2:-1500}" kept=0
cache="$(go env GOCACHE)/fuzz/yore"
while read -r dir target; do
	[ -d "$cache/$dir/$target" ] && [ "$dir" != internal/mask ] || continue
	into="$dir/testdata/fuzz/$target"
	mkdir -p "$into"
	have="$(find "$into" -type f | wc -l)"
	[ "$have" -lt "$count" ] || continue
	find "$cache/$dir/$target" -type f -size "-$((bytes + 1))c" -printf '%s %f\n' | sort -n |
		awk -v want="$((count - have))" '{ name[NR] = $2 } END { for (i = 1; i <= want && i <= NR; i++) print name[int((i - 0.5) * NR / (want < NR ? want : NR)) + 1] }' |
		while read -r name; do cp "$cache/$dir/$target/$name" "$into/"; done
	kept=$((kept + $(find "$into" -type f | wc -l) - have))
done < <(grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed -nE 's|^\./(.*)/[^/]+:func (Fuzz.*)$|\1 \2|p' | grep -vE '^(tools|.*/testdata)/' | sort -u)
echo "$kept inputs kept"
