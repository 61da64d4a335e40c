#!/usr/bin/env bash
# Runs a release's binaries of other systems than this machine's: ARM's under
# qemu's emulation of a processor, Windows' under Wine. Neither is the system
# itself; that the program starts, keeps an index and finds something in it is
# more than that it compiles. Exit: 0 held, 1 not, 3 nothing was tested.
#
#   foreign.sh arm64|windows BINARIES      BINARIES: what tools/release/run.sh wrote
set -euo pipefail
cd "$(dirname "$0")/.."
what="${1:?foreign.sh arm64|windows BINARIES}"
binaries="$(realpath "${2:?}")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
fail() { echo "$what: $*" >&2; exit 1; }
install() { # install PROGRAM PACKAGE: unless it is there
	command -v "$1" >/dev/null && return
	[ "$(id -u)" -eq 0 ] && apt-get update -q >"$scratch/apt" 2>&1 && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$2" >>"$scratch/apt" 2>&1 ||
		{ echo "NOT RUN: there is no $1, and $2 cannot be installed"; exit 3; }
}
mkdir -p "$scratch/home" "$scratch/index"
cp -r internal/demo/samples "$scratch/samples"
case "$what" in
arm64)
	install qemu-aarch64-static qemu-user-static
	run() { timeout 300 env -i PATH="$PATH" HOME="$scratch/home" YORE_ROOTS="dsh=$scratch/samples" YORE_INDEX="$scratch/index" qemu-aarch64-static "$binaries/yore_linux_arm64" "$@"; }
	;;
windows)
	install wine wine
	export WINEDEBUG=-all WINEPREFIX="$scratch/wine" HOME="$scratch/home" DISPLAY=
	run() { timeout 300 env YORE_ROOTS="dsh=Z:${scratch//\//\\}\\samples" YORE_INDEX="Z:${scratch//\//\\}\\index" wine "$binaries/yore_windows_amd64.exe" "$@"; }
	;;
*) fail "it is arm64 or windows" ;;
esac

# An older Wine lacks a library that every program of Go asks for.
said="$(run version 2>"$scratch/said" | tr -d '\r')" || true
! grep -q 'bcryptprimitives.dll not found' "$scratch/said" || { echo "NOT RUN: this $(wine --version) starts no program that Go has made"; exit 3; }
[[ "$said" == "yore v"* ]] || fail "yore version says '$said'"
run version --check >"$scratch/check" 2>&1 || { cat "$scratch/check"; fail "yore version --check failed"; }
run demo >"$scratch/demo" 2>&1 || { cat "$scratch/demo"; fail "yore demo failed"; }
grep -q session_search "$scratch/demo" || { cat "$scratch/demo"; fail "yore demo shows no tool"; }
# Twice: the second one reads the index that the first has made.
for _ in 1 2; do
	run search --all linker cannot find >"$scratch/found" 2>"$scratch/said" || { cat "$scratch/found" "$scratch/said"; fail "yore search failed"; }
	grep -q '#9 assistant/message current' "$scratch/found" || { cat "$scratch/found"; fail "yore search finds something else"; }
done
[ -n "$(find "$scratch/index" -type f)" ] || fail "no index was kept"
echo "$what: $said; version --check, demo, and a search over an index that it made"
