#!/usr/bin/env bash
# Builds the release binary of this system twice, from two copies of the source in
# folders of different names, and compares bytes; then looks at the bill of
# materials: every module of the binary is in it.
#
#   check.sh [OUT]         some minutes where nothing is compiled yet; OUT keeps
#                          what was built, for packaging/check.sh
#   WHOLE=1 check.sh       the second time with the libraries and a cache of its own
#
# What the source is compiled to depends on it alone if the second build is like
# the first: other places, other time zone, other rights. Without WHOLE, the
# second compiles this module's packages and links; what others wrote is taken as
# the first has compiled it, which Go's own tests hold to the same rule.
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch="$(mktemp -d)"
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
system="$(go env GOOS)/$(go env GOARCH)"
out="${1:-$scratch/out1}"
export YORE_RELEASE="${YORE_RELEASE:-v0.0.0-check}"

for copy in a another-name; do
	mkdir -p "$scratch/$copy"
	git archive HEAD | tar -x -C "$scratch/$copy"
done
bash "$scratch/a/tools/release/run.sh" "$out" "$system" >/dev/null

# An output that is not in the cache is made again: those of our packages leave it,
# or the second build would only copy the first.
own() {
	CGO_ENABLED=0 GOFLAGS= GOTOOLCHAIN="$(awk '$1 == "toolchain" { print $2 }' go.mod)" \
		go list -deps -export -trimpath -buildvcs=false -f '{{with .Module}}{{if .Main}}{{$.Export}}{{end}}{{end}}' ./cmd/yore
}
if [ -n "${WHOLE:-}" ]; then
	export GOCACHE="$scratch/cache"
else
	(cd "$scratch/a" && own) | sed '/^$/d' >"$scratch/own"
	[ "$(wc -l <"$scratch/own")" -gt 20 ] || { echo "the cache names $(wc -l <"$scratch/own") packages of ours"; exit 1; }
	tr '\n' '\0' <"$scratch/own" | xargs -0 rm --
fi
(cd "$scratch/another-name" && umask 077 && TZ=Asia/Tokyo LC_ALL=C bash tools/release/run.sh "$scratch/out2" "$system" >/dev/null)
if ! diff -r "$out" "$scratch/out2"; then
	echo "two builds of one source differ"
	exit 1
fi
# Each has come back under its name, which is the sum of what is in it.
if [ -z "${WHOLE:-}" ]; then
	tr '\n' '\0' <"$scratch/own" | xargs -0 ls >/dev/null || { echo "the second build did not compile all of ours"; exit 1; }
fi
cat "$out/SHA256SUMS"

missing=0
for module in $(go version -m "$out/yore_${system/\//_}" | awk '$1 == "dep" { print $2 "@" $3 }'); do
	grep -qF "\"pkg:golang/${module%@*}@" "$out/yore_${system/\//_}.cdx.json" || { echo "the bill of materials lacks $module"; missing=1; }
done
exit "$missing"
