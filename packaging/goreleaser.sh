#!/usr/bin/env bash
# Makes a release with goreleaser as the release machine does, but publishes
# nothing, and holds it against what this repository builds without it: the same
# binaries and bills of materials to the byte, the same files in the package.
#
#   goreleaser.sh         needs the network of Go's modules, and some minutes
#
# GORELEASER in the environment names a program that is there already.
set -euo pipefail
cd "$(dirname "$0")/.."
version=v2.18.2 toolchain=go1.27.1
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
fail() { echo "goreleaser: $*" >&2; exit 1; }
if [ -z "${GORELEASER:-}" ]; then
	GOBIN="$scratch" GOTOOLCHAIN="$toolchain" go install "github.com/goreleaser/goreleaser/v2@$version"
	GORELEASER="$scratch/goreleaser"
fi
"$GORELEASER" check
# The toolchain is part of what makes the bytes.
GOTOOLCHAIN="$(awk '$1 == "toolchain" { print $2 }' go.mod)"
export GOTOOLCHAIN YORE_RELEASE=v0.0.1-check
# No image: it is tried by packaging/container/test.sh, without a daemon.
"$GORELEASER" release --snapshot --clean --skip=sign,docker

bash tools/release/run.sh "$scratch/own" >/dev/null
for file in "$scratch"/own/yore_*; do
	name="$(basename "$file")"
	case "$name" in
	*.cdx.json) built="dist/$name" ;;
	*) built="$(find dist -type f -path "*yore_$(basename "${name#yore_}" .exe)*" \( -name yore -o -name yore.exe \))" ;;
	esac
	cmp "$file" "$built" || fail "$name is not the one of tools/release/run.sh"
done
# The list names what is downloaded, with the sums that tools/release gives.
while read -r sum name; do
	grep -qxF "$sum  $name" dist/SHA256SUMS || fail "SHA256SUMS lacks $name as tools/release has it"
done <"$scratch/own/SHA256SUMS"

for architecture in amd64 arm64; do
	YORE="$scratch/own/yore_linux_$(go env GOARCH)" bash packaging/deb/build.sh "$scratch/own/yore_linux_$architecture" "$scratch/deb" 0.0.1 >/dev/null
	listing() { dpkg-deb --contents "$1" | awk '{ print $1, $2, $3, $6 }'; }
	diff <(listing "$scratch/deb/"*"_$architecture.deb") <(listing dist/*"_$architecture.deb") || fail "the packages for $architecture differ"
done
bash packaging/manifests.sh dist/SHA256SUMS v0.0.1 "$scratch/manifests"
echo "goreleaser: $(wc -l <dist/SHA256SUMS) files, the same as without it"
