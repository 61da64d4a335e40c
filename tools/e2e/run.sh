#!/bin/sh
# The end-to-end tests with real clients: Claude Code and Codex start `yore mcp`
# and call its tools, each told what to do by a scripted model on loopback.
#
#   tools/e2e/run.sh
#
# Needs Go and npm; installs the clients into a temporary folder, or into
# YORE_E2E_DIR, which is kept and used again. Exit: 0 passed, 1 failed, 3 nothing
# was tested because the clients could not be installed.
set -u
cd "$(dirname "$0")/../.." || exit 1

claude=2.1.332
codex=0.171.0

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

dir=${YORE_E2E_DIR:-$tmp/clients}
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
bin=$dir/node_modules/.bin

# A client counts as installed when it runs and says its version: the packages
# fetch or link what they need in scripts of their own.
installed() {
	env -i PATH="$bin:/usr/bin:/bin" HOME="$tmp" claude --version 2>/dev/null | grep -qF "$claude" &&
		env -i PATH="$bin:/usr/bin:/bin" HOME="$tmp" codex --version 2>/dev/null | grep -qF "$codex"
}
if ! installed; then
	if ! command -v npm >/dev/null 2>&1; then
		echo "NOT RUN: there is no npm, so the clients could not be installed"
		exit 3
	fi
	echo "installing into $dir"
	echo '{"private":true}' >"$dir/package.json"
	# Node comes along: the clients want a newer one than most systems have.
	if ! (cd "$dir" && npm install --no-save --no-audit --no-fund node@24 \
		"@anthropic-ai/claude-code@$claude" "@openai/codex@$codex") >"$tmp/out" 2>&1 || ! installed; then
		sed 's/^/      /' "$tmp/out"
		echo "NOT RUN: the clients could not be installed"
		exit 3
	fi
fi

YORE_E2E=1 YORE_E2E_BIN=$bin go test -count=1 -timeout 8m -v ./internal/e2e
