#!/usr/bin/env bash
# Makes what a package holds beside the binary: completions, the manual page,
# the changes and the licence, as distributions want them.
#
#   extras.sh OUT [YORE]     YORE: a binary for this machine; default: go run
#
# The same source gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
out="${1:?extras.sh OUT [YORE]}"
mkdir -p "$out"
out="$(cd "$out" && pwd)"
yore() { if [ -n "$binary" ]; then "$binary" "$@"; else go run ./cmd/yore "$@"; fi; }
binary="${2:-}"

yore completion bash >"$out/yore.bash"
yore completion zsh >"$out/_yore"
yore completion fish >"$out/yore.fish"
yore man >"$out/yore.1"
gzip -9nc "$out/yore.1" >"$out/yore.1.gz"
gzip -9nc CHANGELOG.md >"$out/changelog.gz"
gzip -9nc THIRD_PARTY.md >"$out/THIRD_PARTY.md.gz"
cat >"$out/copyright" <<'LICENCE'
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: yore
Source: https://github.com/yorehq/yore

Files: *
Copyright: The authors of yore
License: Apache-2.0
 On Debian systems the whole text is in /usr/share/common-licenses/Apache-2.0.
Comment:
 The binary holds modules of others under licences of their own: THIRD_PARTY.md.gz
 beside this file has the texts, yore.cdx.json every module with its version.
LICENCE
