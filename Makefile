# Plain Go commands with names. `make check` is what a change must pass.

STATICCHECK = tools/bin/staticcheck
BENCH ?= -rounds 3

.PHONY: check test race vet format lint vuln release golden fuzz crash authority bench e2e

check: vet format lint test

test:
	go test ./...

race:
	bash tools/race/run.sh

vet:
	go vet ./...

format:
	@out="$$(gofmt -l .)"; test -z "$$out" || { echo "gofmt: $$out"; exit 1; }

lint: $(STATICCHECK)
	$(STATICCHECK) ./...

vuln:
	sh tools/vuln/run.sh

release:
	bash tools/release/check.sh

$(STATICCHECK): tools/go.mod tools/go.sum
	go -C tools build -o bin/ honnef.co/go/tools/cmd/staticcheck
	@touch $@

# Rewrites the golden files of every package that has some. Review the diff.
golden:
	go test $$(grep -rlE --include='*_test.go' 'flag\.Bool\("update"' . | xargs -n1 dirname | sort -u) -update

# Every target that there is, 30 seconds each, as many at once as there are cores.
fuzz:
	bash tools/fuzz/run.sh 30s

# Kills writers and flips bits at random, more often than a test run does.
crash:
	go test ./sqlite -count=1 -timeout 0 -run "TestKilled|TestFlipped" -rounds 500

# Hostile calls against every surface, more than a test run makes (20 minutes).
authority:
	go test ./internal/attack -count=1 -timeout 60m -run TestAuthority -calls 100000

# BENCH=-short takes a minute and fails by amounts of work only; without it, the
# table of docs/performance.md (an hour).
bench:
	go test -run '^$$' -bench . -benchmem ./...
	go run ./internal/bench $(BENCH)

# Real clients against a scripted model. Needs npm and three gigabytes;
# YORE_E2E_DIR=DIR keeps the clients there.
e2e:
	sh tools/e2e/run.sh
