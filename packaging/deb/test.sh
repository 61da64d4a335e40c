#!/usr/bin/env bash
# Installs the Debian package in a fresh, minimal Debian and looks at what a user
# gets: the program as an ordinary user, manual page and completions where they
# are looked for, and nothing left behind by a purge. Exit: 0 held, 1 not, 3
# nothing was tested.
#
#   test.sh PACKAGE.deb      of this machine's architecture
set -euo pipefail
package="$(realpath "${1:?test.sh PACKAGE.deb}")"
[ "$(id -u)" -eq 0 ] || { echo "NOT RUN: needs root, to change roots"; exit 3; }
command -v mmdebstrap >/dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends mmdebstrap; } >/dev/null 2>&1 ||
	{ echo "NOT RUN: mmdebstrap cannot be installed"; exit 3; }
scratch="$(mktemp -d)"
root="$scratch/root"
trap 'rm -rf --one-file-system "$scratch"' EXIT
fail() { echo "deb: $*" >&2; exit 1; }

# The suite of this machine is the one that its mirror surely has.
suite="$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")"
# In a space of mounts of its own, so that none is left if this is killed; and
# nobody needs this Debian after a loss of power.
unshare --mount mmdebstrap --quiet --variant=apt --dpkgopt=force-unsafe-io --skip=cleanup/apt "$suite" "$root" >"$scratch/log" 2>&1 ||
	{ tail -5 "$scratch/log"; echo "NOT RUN: a Debian $suite cannot be made"; exit 3; }
cp "$package" "$root/tmp/yore.deb"

# in_root COMMAND...: without network, with /proc and a /dev/null of its own.
in_root() {
	unshare --mount --pid --net --ipc --fork --kill-child bash -c '
		mount -t proc proc "$1/proc" && mount -t devtmpfs dev "$1/dev" 2>/dev/null || mount --bind /dev "$1/dev"
		root="$1"; shift
		exec timeout 120 env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"' in_root "$root" "$@"
}
as_user() { in_root setpriv --reuid=guest --regid=guest --clear-groups env HOME=/home/guest "$@"; }
# every FILE: what there is, but for the records that dpkg, apt and caches keep.
files() {
	(cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache/apt -o -path ./var/log -o -path ./home \) -prune -o -printf '%y %m %u:%g %p\n' | sort)
}
in_root useradd --create-home guest
files >"$scratch/before"

dpkg-deb --info "$package" | grep -qE '^ Depends:' && fail "a static binary depends on nothing"
in_root apt-get install --yes --quiet --no-install-recommends /tmp/yore.deb >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "apt does not install it"; }
for file in /usr/bin/yore /usr/share/man/man1/yore.1.gz /usr/share/bash-completion/completions/yore /usr/share/zsh/vendor-completions/_yore \
	/usr/share/fish/vendor_completions.d/yore.fish /usr/share/doc/yore/copyright /usr/share/doc/yore/changelog.gz /usr/share/doc/yore/THIRD_PARTY.md.gz /usr/share/doc/yore/yore.cdx.json; do
	[ -s "$root$file" ] || fail "$file is not there"
	[ "$(stat -c %U:%G:%A "$root$file")" = "root:root:-rw$([ "$file" = /usr/bin/yore ] && echo xr-xr-x || echo -r--r--)" ] || fail "$file is $(stat -c %U:%G:%A "$root$file")"
done
gzip -dc "$root/usr/share/man/man1/yore.1.gz" | grep -q '^\.TH ' || fail "the manual page is none"
version="$(dpkg-deb --field "$package" Version)"
[ "$(as_user yore version)" = "yore v${version//\~/-}" ] || fail "yore says $(as_user yore version), the package $version"
# As bash does it: a function for the command is loaded from the file by its name.
in_root bash -c '. /usr/share/bash-completion/completions/yore && complete -p yore' | grep -q __start_yore || fail "bash does not complete"
as_user yore demo >"$scratch/demo" 2>&1 || { cat "$scratch/demo"; fail "yore demo failed as an ordinary user"; }
grep -q session_search "$scratch/demo" || fail "yore demo shows no tool"
[ -z "$(find "$root/home/guest" "$root/tmp" -newer "$root/usr/bin/yore" -name '*yore*' ! -name yore.deb)" ] || fail "yore demo left files"

in_root apt-get purge --yes --quiet yore >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "apt does not purge it"; }
files >"$scratch/after"
diff "$scratch/before" "$scratch/after" || fail "purging left the above"
[ -z "$(find "$root/var/lib/dpkg/info" -name 'yore.*')" ] || fail "dpkg still knows yore"
echo "deb: $(basename "$package"), $(stat -c %s "$package") bytes: installed, used by an ordinary user and purged in a minimal $suite"
