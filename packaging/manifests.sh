#!/usr/bin/env bash
# Makes Homebrew's formula and Scoop's manifest for a release, out of its list of
# checksums: both download the release's own binary.
#
#   manifests.sh SHA256SUMS VERSION OUT      VERSION with v: the tag
#
# OUT gets Formula/yore.rb for a tap and bucket/yore.json for a bucket.
set -euo pipefail
sums="${1:?manifests.sh SHA256SUMS VERSION OUT}" tag="${2:?}" out="${3:?}"
[[ "$tag" =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo "not a version with v: $tag" >&2; exit 2; }
version="${tag#v}"
files="https://github.com/yorehq/yore/releases/download/$tag"

sum() { # sum NAME: of a file of the release, which must be in the list once
	awk -v name="$1" '$2 == name { print $1; n++ } END { exit n != 1 }' "$sums" || { echo "$sums lacks $1" >&2; exit 1; }
}
download() { # download OS ARCHITECTURE: two lines of the formula
	local hash
	hash="$(sum "yore_$1_$2")" || exit 1
	printf '      url "%s/yore_%s_%s"\n      sha256 "%s"\n' "$files" "$1" "$2" "$hash"
}

# One a line: of two assignments only the last one's failure counts.
darwin_arm64="$(download darwin arm64)"
darwin_amd64="$(download darwin amd64)"
linux_arm64="$(download linux arm64)"
linux_amd64="$(download linux amd64)"
windows_amd64="$(sum yore_windows_amd64.exe)"
windows_arm64="$(sum yore_windows_arm64.exe)"
mkdir -p "$out/Formula" "$out/bucket"
cat >"$out/Formula/yore.rb" <<RUBY
class Yore < Formula
  desc "Search and trace the session logs of AI coding agents"
  homepage "https://github.com/yorehq/yore"
  version "$version"
  license "Apache-2.0"

  on_macos do
    on_arm do
$darwin_arm64
    end
    on_intel do
$darwin_amd64
    end
  end
  on_linux do
    on_arm do
$linux_arm64
    end
    on_intel do
$linux_amd64
    end
  end

  def install
    bin.install Dir["yore_*"].first => "yore"
    chmod 0555, bin/"yore" # a download is no program yet
    generate_completions_from_executable(bin/"yore", "completion", shells: [:bash, :zsh, :fish])
    (man1/"yore.1").write Utils.safe_popen_read(bin/"yore", "man")
  end

  test do
    assert_equal "yore $tag\n", shell_output("#{bin}/yore version")
    assert_match "session_search", shell_output("#{bin}/yore demo")
  end
end
RUBY

cat >"$out/bucket/yore.json" <<JSON
{
    "version": "$version",
    "description": "Search and trace the session logs of AI coding agents",
    "homepage": "https://github.com/yorehq/yore",
    "license": "Apache-2.0",
    "architecture": {
        "64bit": {
            "url": "$files/yore_windows_amd64.exe#/yore.exe",
            "hash": "$windows_amd64"
        },
        "arm64": {
            "url": "$files/yore_windows_arm64.exe#/yore.exe",
            "hash": "$windows_arm64"
        }
    },
    "bin": "yore.exe",
    "checkver": "github",
    "autoupdate": {
        "architecture": {
            "64bit": {
                "url": "https://github.com/yorehq/yore/releases/download/v\$version/yore_windows_amd64.exe#/yore.exe"
            },
            "arm64": {
                "url": "https://github.com/yorehq/yore/releases/download/v\$version/yore_windows_arm64.exe#/yore.exe"
            }
        },
        "hash": {
            "url": "\$baseurl/SHA256SUMS"
        }
    }
}
JSON
