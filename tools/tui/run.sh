#!/usr/bin/env bash
# Drives `yore tui` in a real terminal (tmux) over the samples of the tour and
# compares what is on the screen with the files in golden/. With -update it writes
# them; review the diff. Exit: 0 all as kept, 1 something differs, 3 no tmux.
set -uo pipefail
cd "$(dirname "$0")/../.."
golden=tools/tui/golden
update=false
[ "${1:-}" = -update ] && update=true
command -v tmux >/dev/null || { echo "tmux is not installed"; exit 3; }
command -v go >/dev/null || export PATH="$PATH:/usr/local/go/bin"

scratch="$(mktemp -d)"
server=0
# Each terminal has a server of its own: one that is about to end takes no new ones.
t() { tmux -L "yore-$$-$server" -u "$@" 2>>"$scratch/tmux.log"; }
trap 't kill-server; rm -rf "$scratch"' EXIT
go build -o "$scratch/yore" ./cmd/yore || exit 1
cp -r internal/demo/samples "$scratch/samples"
printf 'set -g default-terminal screen-256color\nset -g set-clipboard on\nset -sg escape-time 10\nset -g status off\nset -g remain-on-exit on\n' >"$scratch/tmux.conf"

failed=0 compared=0 looked=0
bad() { echo "-- $1"; shift; [ $# -gt 0 ] && printf '%s\n' "$@"; failed=1; }

shown() { t capture-pane -p -t main; }

# start WIDTH HEIGHT [NAME=VALUE...]: a shell in a new terminal.
start() {
	local width="$1" height="$2"
	shift 2
	t kill-server
	server=$((server + 1))
	rm -rf "$scratch/home" "$scratch/index" && mkdir "$scratch/home"
	t -f "$scratch/tmux.conf" new-session -d -s main -c / -x "$width" -y "$height" \
		env -i PATH="$scratch:/usr/bin:/bin" HOME="$scratch/home" LANG=C.UTF-8 TERM=screen-256color ENV= PS1='$ ' \
		YORE_ROOTS="dsh=$scratch/samples" YORE_INDEX="$scratch/index" "$@" sh -i
	has '$'
}

# keys KEY...: one after the other, so that an escape is not taken for the
# beginning of what follows it.
keys() {
	local key
	for key in "$@"; do
		t send-keys -t main "$key"
		sleep 0.15
	done
}
type() { t send-keys -t main -l "$1"; }
size() { t resize-window -t main -x "$1" -y "$2"; }
yore() { type "yore tui --now 2026-12-24T00:00:00Z $*"; keys Enter; }

# has TEXT: waits until the screen has it.
has() {
	looked=$((looked + 1))
	for _ in $(seq 150); do
		shown | grep -qF -- "$1" && return 0
		sleep 0.1
	done
	bad "the screen never had: $1" "$(shown)"
	return 1
}

# screen NAME: waits until the screen is what golden/NAME.txt says.
screen() {
	local file="$golden/$1.txt" now before=
	compared=$((compared + 1))
	if $update; then
		for _ in $(seq 40); do
			now="$(shown)"
			[ "$now" = "$before" ] && break
			before="$now"
			sleep 0.5
		done
		printf '%s\n' "$now" >"$file"
		return
	fi
	for _ in $(seq 150); do
		now="$(shown)"
		[ "$now" = "$(cat "$file")" ] && return
		sleep 0.1
	done
	bad "$1 differs" "$(diff <(cat "$file") <(printf '%s\n' "$now"))"
}

# ends CODE: the program ends with this exit code and leaves nothing on the screen.
ends() {
	for _ in $(seq 150); do
		shown | grep -q '❯' || break
		sleep 0.1
	done
	sleep 0.3 # what is typed before the terminal is handed back is lost
	type ' echo "ended: $?"'
	keys Enter
	has "ended: $1" && if shown | grep -q '❯'; then bad "the screen is not as it was" "$(shown)"; fi
}

# --- searching, at the size of most terminals
start 80 24
yore --all
screen start
type 'linker canot'
screen partial
for _ in 1 2 3; do keys BSpace; done
type 'nnot find'
screen search
keys Tab
screen list
keys s
screen filtered
keys X e e e e
screen filtered-type
keys X C-f
screen filters
keys Down Right
screen filters-agent
keys X Escape
screen list
keys '?'
screen help
keys Escape q
ends 0

# --- a session, its relations and its tree, with a preview beside the list
start 120 30
yore -w /srv/code/alpha quota ledger
screen preview
keys Enter
screen session
keys n r
screen relations
keys Down Enter
screen related
keys Escape Escape Escape
screen preview
keys Escape
type 'walnut'
has walnut
keys Down Tab t
screen tree
keys Down Enter
screen tree-session
keys c
has 'id to the clipboard: alpha-fork-grandchild'
got="$(t show-buffer)"
[ "$got" = alpha-fork-grandchild ] || bad "the clipboard has: $got"
keys R
screen resume
keys C-c
ends 0

# --- another size at any time, down to very small ones
start 120 30
yore -w /srv/code/alpha ledger
has 'Quota ledger questions'
size 40 10
screen narrow
keys Enter
has 'hit 1 of'
screen narrow-session
keys t
screen narrow-tree
size 12 4
has '❯'
size 3 1
size 80 24
screen resized-tree
keys Escape Escape
size 60 34
screen tall
keys C-c
ends 0

# --- wide, combining and right-to-left text, and a session that a person stopped
start 100 24
yore -w /srv/code/alpha 连接
screen scripts
keys Enter
screen scripts-session
keys q
ends 0

# --- the pager has the terminal for itself, and gives it back
printf '#!/bin/sh\nhead -n 6\necho "[pager]"\nread -r key </dev/tty\n' >"$scratch/pager"
chmod +x "$scratch/pager"
start 80 24 PAGER="$scratch/pager"
yore -w /srv/code/alpha linker
has 'Linker cannot find marble'
keys Tab p
has '[pager]'
screen pager
keys Enter
has 'enter open'
screen after-pager
keys C-z
has 'Stopped'
type fg
keys Enter
screen after-pager
keys q
ends 0

# --- a team's server that is gone: this machine's sessions, and what is missing
printf 'a-token\n' >"$scratch/token" && chmod 600 "$scratch/token"
start 110 24 YORE_TEAM_URL=http://127.0.0.1:1 YORE_TEAM_TOKEN_FILE="$scratch/token"
yore -w /srv/code/alpha linker
has 'cannot be reached'
screen team-gone
keys C-c
ends 0

# --- what the terminal can show: colours by background, or none
coloured() { t capture-pane -e -p -t main | grep -oE $'\e\\[[0-9;:]*[34]8[;:][0-9;:]*m' | sort -u; }
for theme in dark light; do
	start 80 24
	yore -w /srv/code/alpha --theme "$theme" linker
	has 'Linker cannot find marble'
	coloured >"$scratch/$theme"
	[ -s "$scratch/$theme" ] || bad "the theme $theme has no colours"
	keys C-c
	ends 0
done
cmp -s "$scratch/dark" "$scratch/light" && bad "both themes have the same colours" "$(cat -v "$scratch/dark")"
start 80 24 NO_COLOR=1
yore -w /srv/code/alpha linker
has 'Linker cannot find marble'
[ -z "$(coloured)" ] || bad "NO_COLOR is not heeded" "$(coloured | cat -v)"
t capture-pane -e -p -t main | grep -q $'\e\\[[0-9;]*4[;m]' || bad "without colours matches are not told apart"
keys C-c
ends 0

# --- ended by a signal, and without a terminal
start 80 24
yore -w /srv/code/alpha linker
has 'Linker cannot find marble'
pid="$(pgrep -f "^yore tui|$scratch/yore tui" | head -n 1)"
kill -TERM "$pid"
ends 130
type 'yore tui </dev/null; echo "code $?"'
keys Enter
has 'tui needs a terminal'
has 'code 1'
type 'yore tui --theme pink; echo "code $?"'
keys Enter
has 'want auto, light or dark'
has 'code 2'

if $update; then
	echo "wrote $compared screens"
else
	echo "compared $compared screens, looked for $looked texts"
fi
[ "$failed" -eq 0 ] || cat "$scratch/tmux.log"
exit "$failed"
