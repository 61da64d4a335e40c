#!/bin/sh
# Tests the MCP server from outside, with other people's tools:
#
#   tools/conformance/run.sh [YORE]
#
# 1. The protocol's conformance scenarios that need no fixture tools, resources
#    or prompts, against the server over loopback HTTP. The scenarios speak HTTP
#    only, which the product does not: the test binary of internal/mcpserver
#    serves it (YORE_SERVE=http).
# 2. The Inspector's command line against `YORE mcp` over stdio, in both eras.
#    YORE is the path of the binary to test; without it ./cmd/yore is built.
#
# Needs Go and npm; installs into a temporary folder, or into CONFORMANCE_DIR,
# which is kept. Exit: 0 all passed, 1 something failed, 3 nothing was tested
# because npm could not install.
set -u

yore=${1-}
case $yore in '' | /*) ;; *) yore=$PWD/$yore ;; esac
cd "$(dirname "$0")/../.." || exit 1

fail=0
say() { printf '%s\n' "$*"; }
check() { # NAME COMMAND…: runs it, shows its output only if it fails
	name=$1
	shift
	if "$@" >"$tmp/out" 2>&1; then
		say "ok    $name"
	else
		say "FAIL  $name (exit $?)"
		sed 's/^/      /' "$tmp/out"
		fail=1
	fi
}

tmp=$(mktemp -d) || exit 1
server=
cleanup() {
	exec 9>&- # the server's input ends, and so does the server
	[ -n "$server" ] && wait "$server"
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# The tools want a newer Node than most systems have; npm would take older
# versions of the tools without a word, so Node comes first.
dir=${CONFORMANCE_DIR:-$tmp/npm}
install() {
	mkdir -p "$dir/node" "$dir/tools" || return 1
	for d in node tools; do echo '{"private":true}' >"$dir/$d/package.json" || return 1; done
	(cd "$dir/node" && npm install --no-save --no-audit --no-fund node@24) || return 1
	PATH=$dir/node/node_modules/.bin:$PATH
	(cd "$dir/tools" && npm install --no-save --no-audit --no-fund \
		@modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/inspector@2.12.0) || return 1
	PATH=$dir/tools/node_modules/.bin:$PATH
	export PATH
	command -v conformance && command -v mcp-inspector
}
if ! command -v npm >/dev/null 2>&1; then
	say "SKIPPED: there is no npm; nothing was tested"
	exit 3
fi
say "installing into $dir"
if ! install >"$tmp/out" 2>&1; then
	sed 's/^/      /' "$tmp/out"
	say "SKIPPED: npm could not install; nothing was tested"
	exit 3
fi
PATH=$dir/tools/node_modules/.bin:$dir/node/node_modules/.bin:$PATH
export PATH

go test -c -o "$tmp/server" ./internal/mcpserver || exit 1
if [ -z "$yore" ]; then
	yore=$tmp/yore
	go build -o "$yore" ./cmd/yore || exit 1
fi

mkfifo "$tmp/in" || exit 1
YORE_SERVE=http "$tmp/server" <"$tmp/in" >"$tmp/url" 2>"$tmp/log" &
server=$!
exec 9>"$tmp/in"
tries=0
while [ ! -s "$tmp/url" ]; do
	tries=$((tries + 1))
	if [ $tries -gt 100 ]; then
		say "FAIL  the HTTP server did not start"
		cat "$tmp/log"
		exit 1
	fi
	sleep 0.1
done
url=$(cat "$tmp/url")

scenarios() { # VERSION NAME…
	version=$1
	shift
	for s in "$@"; do
		check "conformance $version $s" \
			conformance server --url "$url" --spec-version "$version" --scenario "$s" -o "$tmp/results"
	done
}
# A scenario of which some checks cannot pass: exactly these fail, no fewer.
except() { # VERSION SCENARIO CHECK…
	rm -rf "$tmp/results"
	conformance server --url "$url" --spec-version "$1" --scenario "$2" -o "$tmp/results" >"$tmp/log" 2>&1
	shift 2
	node -e '
		const fs = require("fs"), [dir, ...want] = process.argv.slice(1);
		const file = fs.readdirSync(dir, {recursive: true}).find(f => f.endsWith("checks.json"));
		const checks = JSON.parse(fs.readFileSync(dir + "/" + file, "utf8"));
		const got = checks.filter(c => c.status !== "SUCCESS" && c.status !== "SKIPPED" && c.status !== "INFO").map(c => c.id);
		const same = JSON.stringify([...new Set(got)].sort()) === JSON.stringify(want.sort());
		const passed = checks.filter(c => c.status === "SUCCESS").length;
		if (!same || passed === 0) { console.log("fail:", got, "expected:", want, "passed:", passed); process.exit(1); }
	' "$tmp/results" "$@"
}
scenarios 2026-07-28 tools-list dns-rebinding-protection http-header-validation
# The lists that this server does not advertise and so answers with -32601.
check "conformance 2026-07-28 caching, of tools" except 2026-07-28 caching \
	sep-2549-prompts-list-caching-hints sep-2549-resources-list-caching-hints sep-2549-resources-templates-list-caching-hints
# What needs fixture tools.
check "conformance 2026-07-28 server-stateless, without fixtures" except 2026-07-28 server-stateless \
	sep-2575-server-rejects-undeclared-capability sep-2575-missing-capability-http-400 \
	sep-2575-http-server-no-independent-requests-on-stream sep-2575-server-no-log-without-loglevel
scenarios 2025-11-25 server-initialize ping tools-list dns-rebinding-protection
scenarios 2025-06-18 server-initialize ping tools-list

# A workspace, a home and every folder below it of the test's own: no real history.
mkdir -p "$tmp/home" "$tmp/workspace" || exit 1
inspect() { # ERA ARGUMENT…
	era=$1
	shift
	env -i PATH="$PATH" HOME="$tmp/home" XDG_CONFIG_HOME="$tmp/home/config" XDG_CACHE_HOME="$tmp/home/cache" \
		mcp-inspector --cli "$yore" mcp --cwd "$tmp/workspace" \
		-e HOME="$tmp/home" -e XDG_CONFIG_HOME="$tmp/home/config" -e XDG_CACHE_HOME="$tmp/home/cache" \
		--format json -q --protocol-era "$era" "$@"
}
for era in legacy modern; do
	check "inspector $era tools/list --strict" inspect $era --method tools/list --strict
	check "inspector $era tools/call" inspect $era --method tools/call \
		--tool-name session_search --tool-args-json '{"query":"anything"}'
done
[ $fail -eq 0 ] && say "all passed"
exit $fail
