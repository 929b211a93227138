# What a person who works on tooldex runs. Everything but "go" is installed
# by the targets that need it.

GO         ?= go
VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS    := -s -w -X main.version=$(VERSION)
BENCH      ?= .
COUNT      ?= 10
SOAK_RUNS  ?= 10000
DURATION   ?= 1h
SHARD      ?= 1/1
PACKAGES   ?= ./...
export CGO_ENABLED ?= 0

.PHONY: help build test lint demo integration conformance credentials bench bench-compare cover paths identity proxies telemetry cross release soak soak-load fuzz flakes container embedders rest rest-directory eval others clean

help: ## this list
	@sed -n "s|^\([a-z-]*\):.*## |\1\t|p" $(MAKEFILE_LIST) | expand -t 16

build: ## bin/tooldex for this machine
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/tooldex

test: ## what the README promises
	$(GO) test ./...

lint: ## vet, staticcheck, formatting
	$(GO) vet ./...
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these'; exit 1; }
	$(GO) tool -modfile tools/go.mod staticcheck ./...

demo: ## the main job, once
	$(GO) run ./cmd/tooldex demo --once

integration: ## real servers and clients from npm and the go-sdk
	bash .ci/integration

conformance: ## the official conformance suite, both roles and eras
	bash .ci/conformance/run

credentials: ## logins at a real OpenID provider
	bash .ci/credentials/run

identity: ## callers behind a real Keycloak and oidc-provider
	bash .ci/identity/run

proxies: ## nginx and Caddy as the docs have them
	bash .ci/proxies/run

telemetry: ## a real OpenTelemetry collector
	bash .ci/telemetry

rest: ## real OpenAPI documents, requests over GitHub's API, Prism
	bash .ci/rest

rest-directory: ## thousands of other people's OpenAPI documents
	bash .ci/rest-directory

embedders: ## a real Ollama and a real llama-server
	bash .ci/embedders

bench: ## speed and memory beside the rivals', and the cost of a hop
	$(GO) run ./benchmarks

bench-compare: ## this tree against BASE (default: the last version), by benchstat
	bash .ci/bench-compare '$(BENCH)' $(COUNT)

cover: ## coverage of our own code
	$(GO) test -coverprofile=coverage.out ./...
	$(GO) tool cover -func=coverage.out | tail -1

paths: ## how many functions in how many files one search and one execute pass
	bash .ci/paths

cross: ## the six targets
	bash .ci/cross

container: ## the image of deploy/Containerfile, built and run as it is meant to be; needs root
	bash .ci/container

release: ## every package of the last commit into dist/, tried in clean roots; needs root
	bash .ci/release

others: ## arm64 under qemu and Windows under wine; needs root
	bash .ci/others

soak: ## thousands of kills
	TOOLDEX_CRASH_RUNS=$(SOAK_RUNS) $(GO) test -run Crash -timeout 6h -v ./index/...

soak-load: ## DURATION (1h, at least 5m) of load beside hostile servers and clients: what is held levels off
	TOOLDEX_LOAD=$(DURATION) TOOLDEX_LOAD_TSV=$(CURDIR)/soak-load.tsv $(GO) test -count=1 -run TestLoad -timeout 25h -v ./internal/e2e

fuzz: ## DURATION (1h) shared out among all fuzz targets, or those of a SHARD (1/6)
	bash .ci/fuzz $(DURATION) $(SHARD)

flakes: ## PACKAGES (all) twenty times each, in changing orders, under the race detector
	CGO_ENABLED=1 $(GO) test -count=20 -shuffle=on -race -timeout 5h $(PACKAGES)

eval: build ## the committed set, as the README shows it
	bin/tooldex eval run eval/testdata/fifteen

clean:
	rm -rf bin dist coverage.out
