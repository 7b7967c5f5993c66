# These are the tasks of this repository; `make` lists them. Tools are pinned in tools/ and built or installed when first needed.

.DEFAULT_GOAL := help
.PHONY: help run build recording release release-check image deploy-check package package-sdks package-check check test test-sdks check-console test-console console-costs console-pictures torture upgrade day claims leases lease-model quiet engines search faults mutants soak siege failover test-frameworks conformance clients harness lint generate check-generated check-generators proto-lint proto-breaking proto-image bench bench-compare fuzz

BUF := scripts/buf.sh

# The program that the tests run, built once for all packages.
TESTED := $(CURDIR)/.cache/tested/openintent

# Arguments for the program that `run`, `bench` and `bench-compare` start.
ARGS ?=
# What `build` writes into the program: the commit, and the commit's date if nothing differs from it.
COMMIT ?= $(shell git describe --always --exclude '*' --abbrev=40 --dirty 2>/dev/null)
DATE ?= $(if $(filter-out %-dirty,$(COMMIT)),$(shell git log -1 --format=%cI 2>/dev/null))
NAMED = $(COMMIT:%=commit=%) $(DATE:%=date=%)
# What `image` builds.
IMAGE ?= openintent
# How long `fuzz` tries each target.
FUZZTIME ?= 20s
# How long `torture` (3m), `failover` (10m) and `soak` with each engine (1h) run, and the seed of the schedules of torture, failover, `claims` and `leases`; 0 picks one.
DURATION ?=
SEED ?= 0

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Start the server on SQLite with the development key (flags in ARGS)
	go run ./cmd/openintent serve $(ARGS)

build: ## Build bin/openintent, without cgo (COMMIT and DATE say what git does not know)
	CGO_ENABLED=0 go build -trimpath -ldflags '$(addprefix -X main.,$(NAMED))' -o bin/openintent ./cmd/openintent

recording: ## Play the crash example and write docs/crash.svg
	scripts/recording.sh

release: ## Build the program for each system into dist/, with archives, SBOMs and SHA256SUMS (TARGETS for some: linux/amd64 ...)
	COMMIT=$(COMMIT) DATE=$(DATE) scripts/release.sh dist $(TARGETS)

release-check: ## Build one archive of the last commit twice, in two places and with two caches, and fail if they differ
	scripts/release-check.sh

image: ## Build the image openintent with Docker
	docker build --build-arg COMMIT=$(COMMIT) --build-arg DATE=$(DATE) --tag $(IMAGE) .

deploy-check: ## Check the chart, the alerts, the unit of systemd, the image and all systems of a release (PARTS for some)
	scripts/check-deploy.sh $(PARTS)

package: release package-sdks ## Build all packages into dist/: the SDKs', and of the program wheels, npm packages, .deb and .rpm (TARGETS for some)
	scripts/package-program.sh dist $(TARGETS)

package-sdks: ## Build the SDKs' packages into dist/: a Go module, a wheel and an npm package, and the protos for other languages
	rm -f dist/openintent-go-* dist/openintent_channels-* dist/openintent-channels-* dist/openintent-protos-* # those of other versions
	scripts/package-go.sh dist
	scripts/package-python.sh dist
	scripts/package-typescript.sh dist
	scripts/package-protos.sh dist

package-check: ## Pack the programs in dist/ again in another place, compare, and check what each package holds (TARGETS for some)
	scripts/package-check.sh dist $(TARGETS)

check: lint ## Build, lint and run the unit tests on SQLite alone: the quick check after an edit
	go build ./...
	OPENINTENT_TEST_ONLY_SQLITE=1 go test $$(go list ./... | grep -v /e2e)

# The helper threads of Node.js make one process faster and cost a seventh more of the processors' time, of which the tests leave nothing.
test: export NODE_OPTIONS := --v8-pool-size=1 $(NODE_OPTIONS)
test: ## Check everything and run all tests; installs or starts what they need
	$(MAKE) --no-print-directory --jobs 2 --output-sync lint-for-tests check-others
	OPENINTENT_TEST_PYTHON=$$(scripts/python-env.sh) && export OPENINTENT_TEST_PYTHON && \
		OPENINTENT_TEST_PROGRAM=$(TESTED) scripts/node.sh scripts/with-postgres.sh scripts/run-tests.sh

# The linter keeps one processor busy. The others keep another one busy meanwhile, in turn, because they share some of what they install.
.PHONY: lint-for-tests check-others
lint-for-tests:
	scripts/lint.sh --race

check-others:
	$(MAKE) --no-print-directory test-sdks
	$(MAKE) --no-print-directory check-console
	go -C tools test ./...
	$(MAKE) --no-print-directory check-generated
	$(MAKE) --no-print-directory proto-lint
	$(MAKE) --no-print-directory proto-breaking
	GOGC=400 go build $$(scripts/slim-flags.sh) -o $(TESTED) ./cmd/openintent

test-sdks: ## Run the tests of the Python and the TypeScript SDK that need no server
	scripts/python-sdk.sh unit
	scripts/node.sh npm --prefix sdk/typescript run --silent test:unit

check-console: ## Check the types of the console's sources, and run their tests that need no browser
	scripts/node-env.sh console >/dev/null
	scripts/node.sh npm --prefix console run --silent check
	scripts/node.sh npm --prefix console run --silent test

torture: ## Break replicas, PostgreSQL and connections for DURATION (SEED to repeat a schedule) and check that no message is lost
	scripts/test-race.sh -count 1 -timeout 0 -v -run TestNothingIsLostUnderTorture ./e2e/torture \
		-torture.duration $(or $(DURATION),3m) -torture.seed $(SEED)

upgrade: ## Replace replicas of the last release by this one under load, roll back, and check that no message is lost (FROM, TO for other releases)
	previous=$$(scripts/released.sh $(FROM)) && program=$(if $(TO),$$(scripts/released.sh $(TO))) && \
		OPENINTENT_TEST_PROGRAM=$$program go test -tags upgrade -count 1 -timeout 0 -v -run 'WhileReplicasChange|NextReleaseAndBack' ./e2e/torture \
		-torture.previous "$$previous" -torture.resting $(or $(RESTING),3s) -torture.seed $(SEED) $(ARGS)

failover: ## Let a cluster of PostgreSQL under Patroni lose its primary for DURATION (SEED to repeat) and check that no message is lost
	OPENINTENT_TEST_PROGRAM= scripts/with-patroni.sh go test -tags failover -count 1 -timeout 0 -v \
		-run 'TestNothingIsLostInFailovers|TestWhatAFailoverLosesIsNamed' ./e2e/torture -torture.duration $(or $(DURATION),10m) -torture.seed $(SEED)

day: ## Play an operator's day: install, upgrade from the last release, rotate keys, back up, restore, fail over
	previous=$$(scripts/released.sh) && OPENINTENT_TEST_PROGRAM= PREVIOUS="$$previous" \
		scripts/with-patroni.sh scripts/with-postgres.sh go test -tags failover -count 1 -timeout 0 -v -run TestAnOperatorsDay ./e2e/operator

claims: ## Let a crowd fight for ROUNDS requests (1,000) with each engine and check that each takes exactly its answers (SEED to repeat)
	scripts/with-postgres.sh scripts/test-race.sh -count 1 -timeout 0 -v -run TestExactlySoManyAnswers ./e2e/claims \
		-claims.rounds $(or $(ROUNDS),1000) -claims.seed $(SEED)

leases: ## Let a crowd fight for scopes in ROUNDS rounds (1,000) with each engine and check that each has one holder (SEED to repeat)
	scripts/with-postgres.sh scripts/test-race.sh -count 1 -timeout 0 -v -run TestOneHolderAtATime ./e2e/leases \
		-leases.rounds $(or $(ROUNDS),1000) -leases.seed $(SEED)

engines: ## Run the end-to-end tests that take one engine in `make test` on each engine: doors, pages, and the SDKs' scenarios
	OPENINTENT_TEST_PYTHON=$$(scripts/python-env.sh) && export OPENINTENT_TEST_PYTHON && OPENINTENT_TEST_EVERY_ENGINE=1 scripts/node.sh \
		scripts/with-postgres.sh scripts/test-race.sh -count 1 -timeout 0 $$(grep -rl --include '*_test.go' databasetest.OneEngine e2e | xargs -n1 dirname | sed 's|^|./|')

quiet: ## Hold ROUNDS rounds (20) of random conversations to what must never be kept back from an agent, with each engine
	scripts/with-postgres.sh scripts/test-race.sh -count 1 -timeout 0 -v ./e2e/quiet -quiet.rounds $(or $(ROUNDS),20)

lease-model: ## Hold leases against a model in CHECKS random histories (25) with each engine
	scripts/with-postgres.sh go test -tags leasemodel -count 1 -timeout 0 ./e2e -run TestLeasesAreAsTheModelSays \
		-rapid.checks $(or $(CHECKS),25)

search: ## Check the properties that need a database with CHECKS random cases each (1,000)
	scripts/with-postgres.sh scripts/test-race.sh -count 1 -timeout 0 ./channels ./intents ./messaging ./subscriptions ./tasks \
		-run 'ChannelsBehave|ListsSeeWhat|InboxesAre|EverythingVisible|TasksStay' -rapid.checks $(or $(CHECKS),1000)

faults: ## Plant faults in copies of the code, one after the other, and fail if no test notices (ROOMS for some, MATCH for their sentences)
	OPENINTENT_TEST_PROGRAM= scripts/with-postgres.sh go -C tools run ./faults -rooms "$(ROOMS)" -match "$(MATCH)"

mutants: ## Change one operator after the other in the pure rules and fail if no test notices (PACKAGES for some)
	scripts/mutants.sh $(PACKAGES)

soak: ## Load a server with each engine for DURATION (an hour) and check that it needs no more at the end than at the beginning
	scripts/with-postgres.sh go test -count 1 -timeout 0 -v -run TestNothingGrows ./e2e/soak -soak.duration $(or $(DURATION),1h)

siege: ## Attack a running server on each engine at full size and print what that costs other callers
	scripts/with-postgres.sh go test -count 1 -timeout 0 -v ./e2e/siege -siege.full

test-frameworks: ## Test the adapters for agent frameworks with the frameworks' real packages, which it installs (flags of go test in ARGS)
	scripts/test-frameworks.sh $(ARGS)

conformance: ## Run the conformance suite of the Model Context Protocol against the door /mcp (flags in ARGS)
	scripts/conformance.sh $(ARGS)

test-console: ## Look at every page of the web console with Chromium, do what a person does, try what it survives, and attack it from other origins (flags of go test in ARGS)
	OPENINTENT_TEST_EVERY_ENGINE=1 scripts/with-postgres.sh go test -tags console -count 1 -timeout 0 -v -run '^TestEvery|^TestAFlood|^TestTheServerDies|^TestDeadLetters|^TestTwoPeople|^TestHostile|^TestSessions|^TestReading|^TestPagesOfOtherOrigins|^TestTheAttack' ./e2e/console/browser $(ARGS)

console-costs: ## Measure what open consoles cost the server, for some minutes
	scripts/with-postgres.sh go test -tags console -count 1 -timeout 0 -v -run TestWhatConsolesCost ./e2e/console/browser $(ARGS)

console-pictures: ## Take the pictures of docs/console.md anew
	scripts/console-pictures.sh

clients: ## Lint the OpenAPI document, and let clients that others generate from it ask and answer: TypeScript, Python, Java
	scripts/clients.sh

harness: ## Connect real harnesses, which npm installs, with a model that follows a script, and print what each does (flags of go test in ARGS)
	scripts/harnesses.sh $(ARGS)

lint: ## Vet and lint the Go code, including which package may import which
	scripts/lint.sh # govet is among its linters

generate: ## Generate gen/ and the generated code of the SDKs from proto/, and build the console's pages
	scripts/generate.sh

check-generated: ## Fail if the generated code, or what it is made from, is not as generate left it
	scripts/generated-sums.sh --check
	sdk/python/generate_blocking.py --check

check-generators: ## Generate everything anew and fail if it differs from what is there
	scripts/generate.sh --check

proto-lint: ## Lint the protos and check their form
	$(BUF) lint
	$(BUF) format --diff --exit-code proto

proto-breaking: ## Fail if the protos break clients of the last release
	scripts/proto-breaking.sh

proto-image: ## Write the image of the protos of release VERSION, with which proto-breaking compares from then on
	scripts/proto-image.sh '$(VERSION)'

bench: ## Run the benchmarks on a PostgreSQL that waits for the disk (flags in ARGS)
	scripts/with-postgres.sh --durable go run ./bench $(ARGS)

bench-compare: ## Compare with other servers on this machine and write bench/RESULTS.md (flags in ARGS)
	OPENINTENT_BENCH_PYTHON=$$(scripts/python-env.sh python-compare bench/compare/python-requirements.txt) && \
		export OPENINTENT_BENCH_PYTHON && scripts/with-postgres.sh --durable go run ./bench compare $(ARGS)

fuzz: ## Run every fuzz target for FUZZTIME
	FUZZTIME=$(FUZZTIME) scripts/fuzz.sh
