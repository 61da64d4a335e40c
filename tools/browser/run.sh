#!/bin/sh
# The local page in a real Chromium: search, timelines, lineages, deep links,
# hostile sessions, and accessibility by axe-core.
#
#   tools/browser/run.sh [go test flags]
#
# Needs Go, Chromium (installed from Debian's packages where there is none and we
# may) and npm, which brings axe-core. Exit: 0 passed, 1 failed, 3 nothing was
# tested because Chromium or axe-core could not be had.
set -u
cd "$(dirname "$0")" || exit 1

axe=4.14.1

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

if ! command -v chromium >/dev/null 2>&1; then
	if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
		echo "NOT RUN: there is no chromium, and no right to install it"
		exit 3
	fi
	echo "installing chromium"
	if ! { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core; } >"$tmp/out" 2>&1 ||
		! command -v chromium >/dev/null 2>&1; then
		tail -n 5 "$tmp/out" | sed 's/^/      /'
		echo "NOT RUN: chromium could not be installed"
		exit 3
	fi
fi
if ! command -v npm >/dev/null 2>&1; then
	echo "NOT RUN: there is no npm, so axe-core could not be had"
	exit 3
fi
if ! (cd "$tmp" && npm pack --silent "axe-core@$axe" && tar xzf "axe-core-$axe.tgz") >"$tmp/out" 2>&1; then
	tail -n 5 "$tmp/out" | sed 's/^/      /'
	echo "NOT RUN: axe-core could not be had"
	exit 3
fi

AXE="$tmp/package/axe.min.js" CHROMIUM="$(command -v chromium)" go test -count=1 -timeout 8m -v "$@" . >"$tmp/out" 2>&1
code=$?
grep -v 'unhandled node event' "$tmp/out"
exit "$code"
