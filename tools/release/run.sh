#!/usr/bin/env bash
# Builds what a release holds, into a folder: a binary a system, their checksums
# and the bill of materials.
#
#   run.sh OUT             for all systems
#   run.sh OUT linux/amd64 for some
#
# The flags make a build depend on the source and the toolchain alone, so that
# anybody can make the same bytes again (check.sh does).
set -euo pipefail
cd "$(dirname "$0")/../.."
out="${1:?run.sh OUT [SYSTEM/ARCHITECTURE...]}"
shift
[ $# -gt 0 ] || set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
version="${YORE_RELEASE:-$(git describe --tags --always 2>/dev/null || echo unknown)}"
# The toolchain is part of what makes the bytes.
GOTOOLCHAIN="$(awk '$1 == "toolchain" { print $2 }' go.mod)"
export GOTOOLCHAIN
mkdir -p "$out"
out="$(cd "$out" && pwd)"

for system in "$@"; do
	name="yore_${system%/*}_${system#*/}"
	[ "${system%/*}" != windows ] || name="$name.exe"
	GOOS="${system%/*}" GOARCH="${system#*/}" CGO_ENABLED=0 GOFLAGS= \
		go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X github.com/yorehq/yore/internal/cli.release=$version" -o "$out/$name" ./cmd/yore
done

# The components of each binary with versions and checksums, without a time or a
# serial number: the same source gives the same list. Licences are not in it, which
# the tool would guess, and of some not look for: THIRD_PARTY.md has the texts.
mkdir -p tools/bin
# Its own sum is in the bills.
CGO_ENABLED=0 GOFLAGS= go -C tools build -trimpath -o bin/ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
for binary in "$out"/yore_*; do
	case "$binary" in *.json) continue ;; esac
	tools/bin/cyclonedx-gomod bin -json -noserial -notimestamp -output "$binary.cdx.json" "$binary"
done

(cd "$out" && sha256sum yore_* | sort -k2 >SHA256SUMS)
cat "$out/SHA256SUMS"
