#!/usr/bin/env bash
# Installs the npm packages into a bare project, from a registry on loopback that
# knows nothing else, and uses them: the program, an MCP client's handshake, what
# is said where there is no binary, signals. Exit: 0 held, 1 not, 3 nothing was
# tested.
#
#   run.sh BINARIES      with this system's binary, as tools/release/run.sh wrote it
set -euo pipefail
cd "$(dirname "$0")"
here="$PWD"
binaries="$(realpath "${1:?run.sh BINARIES}")"
command -v npm >/dev/null || { echo "NOT RUN: there is no npm"; exit 3; }
scratch="$(mktemp -d)"
registry=""
trap '[ -z "$registry" ] || kill "$registry" 2>/dev/null; rm -rf "$scratch"' EXIT
fail() { echo "npm: $*" >&2; exit 1; }

version=0.0.1-check
node ../pack.mjs "$binaries" "$scratch/packages" "$version" >/dev/null
mkfifo "$scratch/open"
node registry.mjs "$scratch/packages" <"$scratch/open" >"$scratch/address" &
registry=$!
exec 9>"$scratch/open" # it ends when this closes
for _ in $(seq 200); do [ -s "$scratch/address" ] && break; sleep 0.1; done
address="$(cat "$scratch/address")"

# Nothing of this machine's user: a home, a cache and settings of its own.
export HOME="$scratch/home" npm_config_userconfig="$scratch/npmrc" npm_config_globalconfig="$scratch/none" npm_config_cache="$scratch/cache" \
	npm_config_registry="$address" npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false npm_config_ignore_scripts=true
mkdir -p "$HOME" "$scratch/project/sub"
printf 'registry=%s\n' "$address" >"$scratch/npmrc"
cd "$scratch/project"
echo '{"private":true}' >package.json

npm install "@yorehq/yore@$version" >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "npm does not install it"; }
system="$(node -p 'process.platform + "-" + process.arch')"
[ "$(ls node_modules/@yorehq)" = "yore
yore-$system" ] || fail "installed are $(ls node_modules/@yorehq)"
[ -x "node_modules/@yorehq/yore-$system/bin/yore" ] || fail "the binary is no program"
cmp "node_modules/@yorehq/yore-$system/bin/yore" "$binaries"/yore_linux_"$(node -p '({x64: "amd64"})[process.arch] ?? process.arch')" || fail "the binary is another one"

# From here the registry is not asked.
[ "$(npx --offline yore version)" = "yore v$version" ] || fail "npx yore version says $(npx --offline yore version)"
npx --offline yore demo >"$scratch/demo" 2>&1 || { cat "$scratch/demo"; fail "yore demo failed"; }
grep -q session_search "$scratch/demo" || fail "yore demo shows no tool"
node "$here/handshake.mjs" npx --offline yore mcp
# From a folder outside of the project, as an agent that was told npx --yes does.
(cd "$HOME" && [ "$(npx --yes "@yorehq/yore@$version" version)" = "yore v$version" ]) || fail "npx --yes does not install and run it"

# Codes and errors are the program's own.
code=0
npx --offline yore read nothing 1 >"$scratch/out" 2>"$scratch/err" || code=$?
[ "$code" -ne 0 ] && [ ! -s "$scratch/out" ] && [ -s "$scratch/err" ] || fail "a failure ends with $code"

# A signal to the launcher ends the program, and the launcher tells how.
launcher=node_modules/@yorehq/yore/yore.js
mkfifo "$scratch/silent"
exec 8<>"$scratch/silent"
node "$launcher" mcp <"$scratch/silent" 8>&- >/dev/null 2>&1 & # ends with its input, should this script fail
started=$!
child=""
for _ in $(seq 100); do child="$(pgrep -P "$started" || true)" && [ -n "$child" ] && break; sleep 0.1; done
[ -n "$child" ] || fail "the launcher starts nothing"
sleep 1 # the program has its handlers by then
kill -TERM "$started"
code=0
wait "$started" || code=$?
! kill -0 "$child" 2>/dev/null || fail "the program outlives its launcher"
[ "$code" -ne 0 ] && [ "$code" -lt 150 ] || fail "the launcher ended with $code after SIGTERM"
exec 8>&-

# Where there is no binary it is said why, and what to do.
cat >"$scratch/other.cjs" <<'JS'
Object.defineProperty(process, "platform", { value: "freebsd" });
JS
! node --require "$scratch/other.cjs" "$launcher" version 2>"$scratch/err" || fail "there is a binary for FreeBSD"
grep -q '^yore: there is no binary for freebsd-.*, only for linux-x64, .*go install' "$scratch/err" || { cat "$scratch/err"; fail "no clear message on an unknown system"; }
rm -rf "node_modules/@yorehq/yore-$system"
! node "$launcher" version 2>"$scratch/err" || fail "the launcher has a binary of its own"
grep -q "^yore: the package @yorehq/yore-$system is not there.*--omit=optional.*npm install @yorehq/yore-$system@$version" "$scratch/err" || { cat "$scratch/err"; fail "no clear message without the binary's package"; }
echo "npm: installed, run, spoken with and stopped through npx, node $(node --version), npm $(npm --version)"
