#!/usr/bin/env bash
# Builds the release binary of this system twice, from two copies of the source in
# folders of different names and with different build caches, and compares bytes;
# then looks at the bill of materials: every module of the binary is in it.
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch="$(mktemp -d)"
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
system="$(go env GOOS)/$(go env GOARCH)"
export YORE_RELEASE=v0.0.0-check

for copy in a another-name; do
	mkdir -p "$scratch/$copy"
	git archive HEAD | tar -x -C "$scratch/$copy"
done
bash "$scratch/a/tools/release/run.sh" "$scratch/out1" "$system" >/dev/null
# A cache of its own, or the second build would only copy the first.
(cd "$scratch/another-name" && umask 077 && TZ=Asia/Tokyo LC_ALL=C GOCACHE="$scratch/cache" bash tools/release/run.sh "$scratch/out2" "$system" >/dev/null)
if ! diff -r "$scratch/out1" "$scratch/out2"; then
	echo "two builds of one source differ"
	exit 1
fi
cat "$scratch/out1/SHA256SUMS"

missing=0
for module in $(go version -m "$scratch/out1/yore_${system/\//_}" | awk '$1 == "dep" { print $2 "@" $3 }'); do
	grep -qF "\"pkg:golang/${module%@*}@" "$scratch/out1/yore_${system/\//_}.cdx.json" || { echo "the bill of materials lacks $module"; missing=1; }
done
exit "$missing"
