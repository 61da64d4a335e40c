#!/usr/bin/env bash
# Builds the image and runs what it says as a runtime would: its user, its
# environment, its entry, a root that cannot be written, no network, no
# capabilities. Exit: 0 held, 1 not, 3 nothing was tested.
#
#   test.sh BINARIES      with yore_linux_ARCHITECTURE of this machine
set -euo pipefail
cd "$(dirname "$0")"
binaries="$(realpath "${1:?test.sh BINARIES}")"
[ "$(id -u)" -eq 0 ] || { echo "NOT RUN: needs root, to change roots"; exit 3; }
command -v buildah >/dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends buildah; } >/dev/null 2>&1 ||
	{ echo "NOT RUN: buildah cannot be installed"; exit 3; }
scratch="$(mktemp -d)"
export BUILDAH="buildah --root $scratch/store --runroot $scratch/run --storage-driver vfs"
container=""
trap '[ -z "$container" ] || $BUILDAH rm "$container" >/dev/null; rm -rf "$scratch"' EXIT
fail() { echo "container: $*" >&2; exit 1; }

architecture="$(dpkg --print-architecture)"
bash build.sh "$binaries" yore:check "linux/$architecture" >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "the image is not built"; }
bash build.sh "$binaries" yore:again "linux/$architecture" >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "the image is not built again"; }
id() { $BUILDAH inspect --type image --format '{{.FromImageID}}' "$1"; }
[ -n "$(id yore:check)" ] && [ "$(id yore:check)" = "$(id yore:again)" ] || fail "two builds of one binary differ: $(id yore:check), $(id yore:again)"
field() { $BUILDAH inspect --type image --format "{{$1}}" yore:check; }
[ "$(field .OCIv1.Config.Entrypoint)" = "[/usr/bin/yore]" ] || fail "the entry is $(field .OCIv1.Config.Entrypoint)"
[ "$(field .OCIv1.Config.Cmd)" = "[serve]" ] || fail "the command is $(field .OCIv1.Config.Cmd)"
user="$(field .OCIv1.Config.User)"
[[ "$user" =~ ^[1-9][0-9]*:[1-9][0-9]*$ ]] || fail "the user is '$user', not two numbers other than 0"
mapfile -t environment < <($BUILDAH inspect --type image --format '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' yore:check | sed '/^$/d')

container="$($BUILDAH from yore:check)"
cp -a "$($BUILDAH mount "$container")" "$scratch/image"
[ "$(cd "$scratch/image" && find . -type f | sort | xargs)" = "./usr/bin/yore ./usr/share/doc/yore/LICENSE ./usr/share/doc/yore/THIRD_PARTY.md" ] ||
	fail "there is other in it than the binary and its licences: $(cd "$scratch/image" && find . -type f)"
mkdir "$scratch/image/data" "$scratch/image/tmp" "$scratch/image/proc" # a runtime makes the places that it mounts on

# run ARGUMENT...: the entry with these arguments, within 60 seconds.
run() {
	unshare --mount --pid --net --ipc --uts --fork --kill-child bash -c '
		set -e
		root="$1" user="$2"; shift 2
		mount --bind "$root" "$root"
		mount -o remount,bind,ro "$root"
		mount -t tmpfs -o "uid=${user%:*},gid=${user#*:},mode=0700" tmpfs "$root/data"
		mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
		mount -t proc proc "$root/proc"
		! touch "$root/usr/x" 2>/dev/null || { echo "the root can be written"; exit 1; }
		# Who is no longer root has no capability left.
		exec timeout 60 setpriv --no-new-privs env -i "$@"' run "$scratch/image" "$user" "${environment[@]}" "$(command -v chroot)" --userspec="$user" "$scratch/image" /usr/bin/yore "$@"
}
case "$(run version)" in "yore "?*) ;; *) fail "yore version says: $(run version 2>&1)" ;; esac
run demo >"$scratch/demo" 2>&1 || { cat "$scratch/demo"; fail "yore demo failed"; }
grep -q session_search "$scratch/demo" || { cat "$scratch/demo"; fail "yore demo shows no tool"; }
run list --all >/dev/null || fail "yore list cannot make its index in /data"
# What the image starts by itself: without a database the server says what it
# wants, and has neither crashed nor begun to listen.
code=0
run serve >"$scratch/serve" 2>&1 </dev/null || code=$?
[ "$code" -eq 2 ] && grep -q YORE_DATABASE "$scratch/serve" || { cat "$scratch/serve"; fail "yore serve without a database ended with $code"; }
echo "container: $(stat -c %s "$scratch/image/usr/bin/yore") bytes; version, demo, list and serve as $user under a read-only root"
