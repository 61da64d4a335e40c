#!/bin/sh
# Records the picture of README.md: yore on the full screen over the samples, typed
# into a real terminal. tools/picture/run.sh BINARY OUT.svg; needs tmux.
set -eu
cd "$(dirname "$0")/../.."
yore=$(realpath "$1")
out=$(realpath -m "$2")
columns=112
rows=26
work=$(mktemp -d)
t() { tmux -S "$work/socket" "$@"; }
trap 't kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -p "$work/home"
cp -r internal/demo/samples "$work/sessions"
t -f /dev/null new-session -d -x $columns -y $rows "env -i PATH=/usr/bin:/bin HOME=$work/home LANG=C.UTF-8 TERM=tmux-256color COLORTERM=truecolor \
	YORE_ROOTS=dsh=$work/sessions YORE_INDEX=$work/index '$yore' tui --all --theme dark"
n=0
shot() { # waits until a text is on the screen
	for _ in $(seq 100); do
		if t capture-pane -p | grep -q "$1"; then break; fi
		sleep 0.2
	done
	sleep 1
	n=$((n + 1))
	t capture-pane -p -e >"$work/frame-$n"
}
shot 'sessions'
t send-keys -l 'quota'
shot 'Quota ledger'
t send-keys -l ' ledger'
shot 'Quota ledger'
t send-keys Enter
shot 'Checkpoint'
t send-keys Escape
t send-keys C-u
t send-keys -l '连接'
shot '脚本'
t send-keys C-u
t send-keys -l 'linker cannot find'
shot 'libmarble'
go run -C tools ./picture "$out" $columns $rows $(for i in $(seq $n); do echo "$work/frame-$i"; done)
ls -l "$out"
