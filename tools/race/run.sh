#!/usr/bin/env bash
# Runs the tests in which goroutines meet under the race detector.
#
#   tools/race/run.sh [FLAGS of go test]
#
# SQLite's own code, which was translated to Go and is called by one goroutine at
# a time, is compiled without the detector: with it, a statement takes twenty times
# as long. What calls it is watched. Tests that are about amounts, or about other
# processes, have nothing to be watched and are left out where they take long.
# Needs a C compiler. Exit: 0 no race, 1 a race or a failed test, 2 no compiler.
set -uo pipefail
cd "$(dirname "$0")/../.."
command -v "${CC:-gcc}" >/dev/null || { echo "no C compiler"; exit 2; }
export CGO_ENABLED=1

race() { go test -race -count=1 -timeout 12m -gcflags='github.com/ncruces/go-sqlite3-wasm/...=-race=false' "${flags[@]}" "$@"; }
flags=("$@") failed=0

race -skip '^TestAnAppendDoesNotDependOnTheOthers$' ./authz ./query ./internal/identity ./internal/mcpserver ./internal/spill ./internal/ingest || failed=1
# Of these the tests that have several goroutines: the test's own, or the program's.
together=(
	TestCallersAtOnce TestSoak TestForgetBesideAnotherProcess                              # the library
	TestTwoInstances TestLogUnderReaders TestGiveUpBesideReaders TestScrubBesideAWriter    # sqlite
	TestDeadline TestReadsDoNotWait TestSearchesTakeTurns TestWaitingEnds                  # toolset
	TestWhoMayAsk TestATicketIsGoodOnce TestTheServerEnds TestSearchPage TestNoPageLeaks     # web
	TestANewerKeyCancelsTheOlderSearch TestNothingIsAskedAfterTheEnd TestPager              # tui
)
race -run "^($(IFS='|'; echo "${together[*]}"))\$" . ./sqlite ./toolset ./internal/web ./internal/tui || failed=1
exit "$failed"
