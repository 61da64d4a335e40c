#!/bin/sh
# The end-to-end tests with real clients: each is set up by `yore setup`, starts
# `yore mcp`, calls its tools, and leaves sessions that are compared with what it
# sent to its model, a scripted one on loopback.
#
#   tools/e2e/run.sh [CLIENT...]     claude codex pi opencode gemini qwen copilot kimi dsh
#
# Needs Go and npm; installs the clients into a temporary folder, or into
# YORE_E2E_DIR, which is kept and used again. Each client is a part of its own,
# with a bound on its time; YORE_E2E_PATIENCE multiplies the bounds. Exit: 0 all
# passed; 1 one failed, or could not be installed although the registry has it; 3
# the rest passed, and of some the registry has nothing, or there is no registry.
set -u
cd "$(dirname "$0")/../.." || exit 1

patience=${YORE_E2E_PATIENCE:-1}
[ $# -gt 0 ] || set -- claude codex pi opencode gemini qwen copilot kimi dsh

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

dir=${YORE_E2E_DIR:-$tmp/clients}
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1

package() { # package CLIENT: what npm calls it, and its version
	case $1 in
	node) echo node 24 ;; # the clients want a newer one than most systems have
	claude) echo @anthropic-ai/claude-code 2.1.332 ;;
	codex) echo @openai/codex 0.171.0 ;;
	pi) echo @earendil-works/pi-coding-agent 1.6.0 ;;
	opencode) echo opencode-ai 1.18.33 ;;
	gemini) echo @google/gemini-cli 0.61.0 ;;
	qwen) echo @qwen-code/qwen-code 0.24.4 ;;
	copilot) echo @github/copilot 1.0.102 ;;
	kimi) echo @moonshot-ai/kimi-code 2.1.0 ;;
	dsh) echo @deepseek-ai/dsh 0.1.0-rc.8 ;;
	esac
}

# DSH is hundreds of packages that name one another as peers. npm does not find out
# in ten minutes which to take, so it is told: those that nothing else brings, and
# those of which later ones do not fit this release.
beside() { # beside CLIENT: what npm has to be told besides
	[ "$1" = dsh ] || return 0
	echo --legacy-peer-deps --ignore-scripts @deepseek-ai/cordis@4.0.1
	for plugin in group@1.0.1 hmr@1.0.16 include@1.0.6 loader@1.0.2 timer@1.1.3; do echo "@deepseek-ai/cordis-plugin-$plugin"; done
	for part in anonymous-user-id atomic-write bash-local code-runtime compaction fs invariants output-retention sandbox scope session-telemetry \
		session-title-llm shell spill subagent-in-process-driver timeout workflow; do
		echo "@deepseek-ai/dsh-$part@0.1.0-rc.8"
	done
}

# A client counts as installed when it runs and says its version: the packages
# fetch or link what they need in scripts of their own.
installed() { # installed CLIENT VERSION
	env -i PATH="$dir/$1/node_modules/.bin:$dir/node/node_modules/.bin:/usr/bin:/bin" HOME="$tmp" \
		timeout $((60 * patience)) "$1" --version 2>/dev/null | grep -qF "$2"
}

install() { # install CLIENT
	# shellcheck disable=SC2046 # two words
	set -- "$1" $(package "$1")
	[ $# -eq 3 ] || { echo "nobody knows a client $1"; return 1; }
	installed "$1" "$3" && return
	command -v npm >/dev/null 2>&1 || { echo "there is no npm to install $1 with"; return 1; }
	mkdir -p "$dir/$1" && echo '{"private":true}' >"$dir/$1/package.json"
	more=$(beside "$1") bound=240
	[ -z "$more" ] || bound=480
	# npm takes older versions in silence where the Node that runs it is older. A
	# registry that is slow once is asked once more.
	for try in 1 2; do
		# shellcheck disable=SC2086 # words
		(cd "$dir/$1" && PATH="$dir/node/node_modules/.bin:$PATH" timeout $((bound * patience)) \
			npm install --no-save --no-audit --no-fund $more "$2@$3") >"$tmp/out" 2>&1
		installed "$1" "$3" && return
		sed 's/^/      /' "$tmp/out"
		echo "$1 could not be installed ($try)"
	done
	return 1
}

offered() { # offered CLIENT: whether the registry has its package in that version
	# shellcheck disable=SC2046 # two words
	set -- $(package "$1")
	timeout 60 npm view "$1@$2" version 2>/dev/null | grep -qF "$2"
}

for client in "$@"; do
	[ -n "$(package "$client")" ] && continue
	echo "nobody knows a client $client"
	exit 2
done

echo "installing into $dir"
start=$(date +%s)
code=0 have='' lack=''
without() { # without CLIENT: what a client's absence means
	lack="$lack $1"
	if offered "$1"; then
		echo "FAILED: $1 could not be installed, and the registry has it"
		code=1
	elif [ "$code" -eq 0 ]; then
		code=3
	fi
}
if install node; then
	for client in "$@"; do
		if install "$client"; then have="$have $client"; else without "$client"; fi
	done
else
	without node
fi
echo "installed in $(($(date +%s) - start)) s:$have"
finish() {
	for client in $lack; do
		echo "NOT RUN: $client"
	done
	exit "$code"
}
[ -n "$have" ] || finish

mkdir "$tmp/bin" && go build -o "$tmp/bin/yore" ./cmd/yore && go test -c -o "$tmp/e2e" ./internal/e2e || exit 1
export YORE_E2E=1 YORE_E2E_DIR="$dir" YORE_E2E_CLIENTS="$have" YORE_E2E_PATIENCE="$patience" PATH="$tmp/bin:$PATH"
cd internal/e2e || exit 1
part() { # part NAME PATTERN: once more if it fails, since a busy machine is reason enough
	for try in first second; do
		echo "== $1, $try try"
		timeout -k 10 $((360 * patience)) "$tmp/e2e" -test.v -test.run "$2" && return
	done
	echo "FAILED: $1"
	code=1
}
for client in $have; do
	part "$client" "^Test(PlantedHistory|Packages|Runs)\$/^$client\$"
done
case " $have " in *" claude "*" codex "*) part "claude and codex" '^TestEachOthersHistory$' ;; esac
finish
