#!/usr/bin/env bash
# Builds the image of a release's binaries, without a network: it is made from
# nothing. Needs buildah, which Debian has, and root or a user with subordinate ids.
#
#   build.sh BINARIES TAG [linux/ARCHITECTURE...]     BINARIES: what tools/release/run.sh wrote
#
# The same binaries give the same image. BUILDAH in the environment may name
# buildah with options, such as where it keeps images.
set -euo pipefail
binaries="$(cd "${1:?build.sh BINARIES TAG [PLATFORM...]}" && pwd)"
tag="${2:?}"
shift 2
[ $# -gt 0 ] || set -- linux/amd64 linux/arm64
read -r -a buildah <<<"${BUILDAH:-buildah}"
context="$(mktemp -d)"
trap 'rm -rf "$context"' EXIT
install -m 0644 "$(dirname "$0")"/../../LICENSE "$(dirname "$0")"/../../THIRD_PARTY.md "$context"
for platform in "$@"; do
	install -D -m 0755 "$binaries/yore_linux_${platform#*/}" "$context/$platform/yore"
done
for platform in "$@"; do
	suffix=""
	[ $# -eq 1 ] || suffix="-${platform#*/}"
	"${buildah[@]}" bud --isolation chroot --no-cache --timestamp 0 --platform "$platform" \
		--file "$(dirname "$0")/Dockerfile" --tag "$tag$suffix" "$context"
done
