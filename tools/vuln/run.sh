#!/bin/sh
# Checks the program and its toolchain against the Go vulnerability database.
# Exits with 1 if vulnerable code is called, 3 if the entries cannot be had.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p tools/bin
go -C tools build -o bin/ ./vuln golang.org/x/vuln/cmd/govulncheck
exec tools/bin/vuln tools/bin/govulncheck ./cmd/yore
