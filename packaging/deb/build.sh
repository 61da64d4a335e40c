#!/usr/bin/env bash
# Builds the Debian package of a release's binary.
#
#   build.sh BINARY OUT VERSION     BINARY: yore_linux_amd64 or yore_linux_arm64 of
#                                   tools/release/run.sh, its bill of materials beside it
#
# Completions and manual page are made by a binary that this machine can run: YORE
# in the environment, else the package's own.
set -euo pipefail
cd "$(dirname "$0")/../.."
binary="$(realpath "${1:?build.sh BINARY OUT VERSION}")"
out="$(mkdir -p "${2:?}" && cd "$2" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
bash packaging/extras.sh "$scratch" "${YORE:-$binary}"

go -C tools/nfpm build -o "$scratch/nfpm" github.com/goreleaser/nfpm/v2/cmd/nfpm
# The time of the files within: the same source gives the same package.
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}"
export SOURCE_DATE_EPOCH YORE_BINARY="$binary" YORE_EXTRAS="$scratch" YORE_VERSION="${3:?}" YORE_ARCH="${binary##*_}"
"$scratch/nfpm" package --config packaging/deb/nfpm.yaml --packager deb --target "$out/"
