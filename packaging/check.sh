#!/usr/bin/env bash
# Builds the packages of this machine's system and uses each as its user would:
# npm, Debian, container image. Nothing is published and nothing but registries'
# own clients reaches out. A package whose tools cannot be had is skipped, and the
# reason is said. Exit: 0 all that ran held, 1 something did not, 3 nothing ran.
#
#   check.sh [npm|deb|container|goreleaser]...      default: the first three
#
# BINARIES in the environment names a folder of tools/release/run.sh to use.
set -uo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- npm deb container
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
system="$(go env GOOS)/$(go env GOARCH)"

if [ -z "${BINARIES:-}" ]; then
	BINARIES="$scratch/release"
	YORE_RELEASE=v0.0.1-check bash tools/release/run.sh "$BINARIES" "$system" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
fi
binary="$BINARIES/yore_${system/\//_}"

# within SECONDS COMMAND...: a step that hangs is a fault, not a wait.
within() { timeout --kill-after=10 "$@"; }
npm() { within 300 bash packaging/npm/test/run.sh "$BINARIES"; }
deb() {
	within 300 bash packaging/deb/build.sh "$binary" "$scratch/deb" 0.0.1-check || return 1
	within 500 bash packaging/deb/test.sh "$scratch"/deb/*.deb
}
container() { within 300 bash packaging/container/test.sh "$BINARIES"; }
goreleaser() { bash packaging/goreleaser.sh; }

ran=0 failed=0
for package in "$@"; do
	start=$SECONDS
	case "$package" in npm | deb | container | goreleaser) ;; *) echo "check.sh [npm|deb|container|goreleaser]..."; exit 2 ;; esac
	"$package"
	case $? in
	0) ran=$((ran + 1)) ;;
	3) echo "$package: skipped" ;;
	*) failed=1 ;;
	esac
	echo "-- $package: $((SECONDS - start)) s"
done
[ "$failed" -eq 0 ] || exit 1
[ "$ran" -gt 0 ] || exit 3
