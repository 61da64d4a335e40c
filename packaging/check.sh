#!/usr/bin/env bash
# Builds the packages of this machine's system and uses each as its user would:
# npm, Debian, container image. Nothing is published and nothing but registries'
# own clients reaches out. A package whose tools cannot be had is skipped, and the
# reason is said; STRICT=1 makes that a fault. Exit: 0 all that ran held, 1
# something did not, 3 nothing ran.
#
#   check.sh [npm|deb|container|arm64|windows|goreleaser]...      default: the first three
#
# arm64 and windows run the binaries of these systems under qemu and Wine, where
# Debian has them.
#
# BINARIES in the environment names a folder of tools/release/run.sh to use.
set -uo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- npm deb container
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
system="$(go env GOOS)/$(go env GOARCH)"
export YORE_RELEASE=v0.0.1-check

if [ -z "${BINARIES:-}" ]; then
	BINARIES="$scratch/release"
	bash tools/release/run.sh "$BINARIES" "$system" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
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
# foreign WHAT FILE SYSTEM: another system's binary, built if it is not there.
foreign() {
	local folder="$BINARIES"
	if [ ! -e "$folder/$2" ]; then
		folder="$scratch/$1"
		within 600 bash tools/release/run.sh "$folder" "$3" >"$scratch/log" 2>&1 || { cat "$scratch/log"; return 1; }
	fi
	within 900 bash packaging/foreign.sh "$1" "$folder"
}
arm64() { foreign arm64 yore_linux_arm64 linux/arm64; }
windows() { foreign windows yore_windows_amd64.exe windows/amd64; }
goreleaser() { bash packaging/goreleaser.sh; }

ran=0 failed=0
for package in "$@"; do
	start=$SECONDS
	case "$package" in npm | deb | container | arm64 | windows | goreleaser) ;; *) sed -n 's/^#   //p' "$0" >&2; exit 2 ;; esac
	"$package"
	case $? in
	0) ran=$((ran + 1)) ;;
	3)
		echo "$package: skipped"
		[ -z "${STRICT:-}" ] || failed=1
		;;
	*) failed=1 ;;
	esac
	echo "-- $package: $((SECONDS - start)) s"
done
[ "$failed" -eq 0 ] || exit 1
[ "$ran" -gt 0 ] || exit 3
