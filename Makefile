# Everything one does with this repository. `make` alone says what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GOBUILD := CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags '-s -w -X main.version=$(VERSION)'
STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The Python that has TensorFlow: that of .venv, unless TFMESOS_TEST_PYTHON names another, which is then only used.
PYTHON ?= python3
TENSORFLOW_PYTHON := $(or $(TFMESOS_TEST_PYTHON),$(CURDIR)/.venv/bin/python)

# Where the wheel goes.
DIST ?= dist

# Debian packages of the tests, beside what a Go programmer has.
PACKAGES = redis-server $(filter-out $(if $(shell command -v dockerd),docker.io),$(shell grep -v '^\#' integration/mesos/packages.txt))

.PHONY: help
help: ## says what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## builds bin/scheduler and bin/sidecar, both static
	@$(GOBUILD) -o bin/scheduler ./cmd/scheduler
	@$(GOBUILD) -o bin/sidecar ./cmd/sidecar

.PHONY: demo
demo: build venv ## trains a small model on a cluster on this machine: 1 chief, 1 ps, 2 workers
	@PATH="$(dir $(TENSORFLOW_PYTHON)):$$PATH" bin/scheduler run --local examples/ps/cluster.yaml

.PHONY: test
test: packages ## runs all tests (RACE=1: with the race detector); what this machine lacks is skipped and named
	@$(MAKE) venv || echo "make test: going on without TensorFlow"
	@[ ! -x $(TENSORFLOW_PYTHON) ] || export TFMESOS_TEST_PYTHON=$(TENSORFLOW_PYTHON); \
	go test -v $(if $(RACE),-race) -tags integration -timeout 20m ./... 2>&1 | awk -f .ci/report.awk

.PHONY: test-race
test-race: ## runs all tests with the race detector
	@$(MAKE) test RACE=1

.PHONY: check
check: ## what CI runs: format, vet, staticcheck, go.mod, all tests with the race detector, a clean tree
	@unformatted=$$(gofmt -l -s $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { gofmt -d -s $$unformatted; exit 1; }
	@go vet ./...
	@go vet -tags integration ./...
	@go test -count=1 ./shared/archtest
	@go mod tidy -diff
	@$(STATICCHECK) -tags integration ./...
	@before=$$(git status --porcelain); $(MAKE) test RACE=1; \
	after=$$(git status --porcelain); [ "$$before" = "$$after" ] || { echo "make check: the tests changed the tree:"; diff <(echo "$$before") <(echo "$$after"); exit 1; }

.PHONY: mesos
mesos: packages ## starts a real Mesos on this machine, until Ctrl-C (MASTERS=3 AGENTS=2 DOCKER=1; RIG=-help has the rest)
	@go build -buildvcs=false -o bin/rig ./integration/mesos/cmd/rig && \
	exec bin/rig $(if $(MASTERS),-masters $(MASTERS)) $(if $(AGENTS),-agents $(AGENTS)) $(if $(filter-out 0 no,$(DOCKER)),-docker) $(RIG)

.PHONY: bench
bench: build venv ## measures how fast clusters start
	@go run ./bench

.PHONY: wheel
wheel: ## builds the Python package tfmesos3 with both programs in it, a wheel in dist/ (or in DIST)
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
	cp -r python "$$work/python"; mkdir "$$work/python/tfmesos3/bin"; \
	$(GOBUILD) -o "$$work/python/tfmesos3/bin/" ./cmd/scheduler ./cmd/sidecar; \
	$(PYTHON) -m venv "$$work/venv"; rm -f $(DIST)/tfmesos3-*.whl; \
	"$$work/venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir $(DIST) "$$work/python"; \
	ls $(DIST)/tfmesos3-*.whl

.PHONY: test-tensorflow-versions
test-tensorflow-versions: ## tries servers on every TensorFlow from 2.12 on that pip has; about 1.5 GB each, which stay in .cache/tfversions
	@PYTHON=$(PYTHON) go test -v -count=1 -tags tfversions -timeout 3h ./integration/tfversions

.PHONY: venv
venv: ## makes .venv with the TensorFlow and the tf_keras of the examples, once
venv: $(if $(TFMESOS_TEST_PYTHON),,.venv/.complete)
	@:

.venv/.complete: examples/requirements.txt examples/keras/requirements.txt
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "make venv: $(PYTHON) cannot make virtual environments (Debian: apt-get install python3 python3-venv), and TFMESOS_TEST_PYTHON names no Python with TensorFlow"; exit 1; }
	@echo "make venv: installing $$(grep -hv '^\#' $^ | paste -sd ' ') with pip into .venv (once; about 1.6 GB on disk)"
	@$(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check -r examples/requirements.txt
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r examples/keras/requirements.txt
	@touch $@

.PHONY: packages
packages: ## installs the Debian packages that tests need, as root only
	@command -v dpkg-query >/dev/null || exit 0; \
	missing=$$(for p in $(PACKAGES); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q ' installed$$' || echo $$p; done | xargs); \
	[ -n "$$missing" ] || exit 0; \
	if [ "$$(id -u)" != 0 ]; then echo "make packages: not installed: $$missing (their tests are skipped; as root this would install them)"; exit 0; fi; \
	echo "make packages: installing $$missing with apt-get (once)"; \
	if [ ! -e /usr/sbin/policy-rc.d ]; then trap 'rm -f /usr/sbin/policy-rc.d' EXIT; printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d; fi; \
	log=$$(apt-get update -qq 2>&1 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing 2>&1) || { echo "$$log" | tail -5; exit 1; }

.PHONY: clean
clean: ## removes what make has made: bin, dist and .venv
	@rm -rf bin dist .venv
