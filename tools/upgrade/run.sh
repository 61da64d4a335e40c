#!/bin/sh
# Stores an index as an earlier version made it, for TestUpgrade of the package
# yore: tools/upgrade/run.sh COMMIT|BINARY OUT.zip
#
# Do it for the last commit of a schema before the schema changes. The index
# covers the samples of the tour and a workspace whose only log is gone by the
# time it is read (its text is the word "cormorant"). Needs git, go and zip.
set -eu
cd "$(dirname "$0")/../.."
what=$1
out=$(realpath -m "$2")
work=$(mktemp -d)
trap 'git worktree remove --force "$work/tree" 2>/dev/null || true; rm -rf "$work"' EXIT
if [ -x "$what" ] && [ -f "$what" ]; then
	cp "$what" "$work/yore"
else
	git worktree add --quiet --detach "$work/tree" "$what"
	(cd "$work/tree" && go build -o "$work/yore" ./cmd/yore)
fi
cp -r internal/demo/samples "$work/sessions"
gone="$work/sessions/--srv-code-gone--/gone"
mkdir -p "$gone" "$work/home"
cat > "$gone/session.jsonl" <<'LOG'
{"type":"session","version":0,"id":"gone","createdAt":1772442000000,"cwd":"/srv/code/gone","delegationDepth":0}
{"type":"turn/start","seq":0,"time":1772442001000,"data":{"turn":1}}
{"type":"user/message","seq":1,"time":1772442002000,"data":{"id":"u-1","role":"user","content":[{"type":"text","text":"Where is the cormorant?"}],"source":{"kind":"user"}},"surfaceOp":"append"}
{"type":"turn/end","seq":2,"time":1772442003000,"data":{"turn":1,"reason":{"kind":"completed"}}}
LOG
env -i PATH="$PATH" HOME="$work/home" "$work/yore" --root dsh="$work/sessions" --index "$work/index" index --all
rm -f "$out"
(cd "$work/index" && zip -q -9 -r -X "$out" . -x '*-shm' -x lock)
ls -l "$out"
