# See CONTRIBUTING.md for what each target is for.

staticcheck = honnef.co/go/tools/cmd/staticcheck@v0.8.2
check_sources = ../shared/check

build:
	go build -o bin/ ./cmd/...

# The programs, man pages and completion for shells, below PREFIX, and units with their settings in
# the places of SYSTEM: debian or rhel, or none.
PREFIX = /usr/local
SYSTEM = $(shell [ -d /etc/sysconfig ] && echo rhel || echo debian)
install: build
	dist/install bin "$(DESTDIR)" "$(PREFIX)" $(if $(filter-out none,$(SYSTEM)),units $(SYSTEM))

# Debian packages, in bin/.
deb:
	CGO_ENABLED=0 go build -trimpath -ldflags=-s -o bin/static/ ./cmd/...
	dist/deb bin/static $$(bin/static/ibsm --version | cut -d' ' -f2) bin

# The package for RHEL and its relatives, in bin/.
rpm:
	CGO_ENABLED=0 go build -trimpath -ldflags=-s -o bin/static/ ./cmd/...
	dist/rpm/build bin/static $$(bin/static/ibsm --version | cut -d' ' -f2) bin

# The container image, in bin/: podman load -i bin/ibsm-image.tar
image:
	CGO_ENABLED=0 go build -trimpath -ldflags=-s -o bin/static/ ./cmd/...
	dist/image bin/static $$(bin/static/ibsm --version | cut -d' ' -f2) bin/ibsm-image.tar

# A release, in bin/release: packages, tar ball, container image, checksums. It is built twice, and must be equal to the byte.
release:
	rm -rf bin/release bin/release-again
	dist/release bin/release
	dist/release bin/release-again
	diff -r bin/release bin/release-again
	rm -r bin/release-again

# All tests in their small size. The time limit is for tests that hang: a busy machine may take long.
test: deps fabcheck
	.ci/go-test -timeout 60m ./...

# Further seeds, fuzz targets, mutants, and tests in full size, for MINUTES. Keeps what it finds.
MINUTES = 30
hunt: deps fabcheck
	go run ./testdata/hunt -minutes $(MINUTES)

# What must hold before a commit.
check: deps fabcheck
	@unformatted=$$(gofmt -l .) && [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted"; exit 1; }
	go vet ./...
	go run $(staticcheck) ./...
	.ci/go-test -timeout 30m -race ./...
	$(MAKE) plugin-test kubernetes-test page-test fuzz-short

# The plug-in ibsm of ib-kubernetes, in bin/ibsm.so. IB_KUBERNETES is the folder of its source: a plug-in must be built with
# the compiler and from the source of the program that loads it. The interface FabricClient is used if the source has it.
IB_KUBERNETES = ../ib-kubernetes
plugin:
	@[ -d "$(IB_KUBERNETES)/pkg/sm/plugins" ] || { echo "plugin: IB_KUBERNETES=FOLDER must name the source of ib-kubernetes" >&2; exit 1; }
	@mkdir -p bin
	printf 'go 1.25.0\nuse (\n\t%s\n\t%s\n)\n' "$(CURDIR)/plugins/ib-kubernetes" "$(abspath $(IB_KUBERNETES))" > bin/plugin.work
	GOWORK=$(CURDIR)/bin/plugin.work CGO_ENABLED=1 go build -buildmode=plugin -o bin/ibsm.so \
		-tags "no_openssl,ibkubernetes$(shell grep -qs FabricClient "$(IB_KUBERNETES)"/pkg/sm/plugins/plugin.go && echo ,fabricclient)" \
		ibsm/plugins/ib-kubernetes/plugin

# The plug-in's own tests, which need neither ib-kubernetes nor modules of others.
plugin-test:
	cd plugins/ib-kubernetes && go vet ./... && go test -count=1 ./...

# The manifests for Kubernetes, with its types: a module of its own, whose modules are downloaded once.
kubernetes-test:
	@if (cd dist/kubernetes && go mod download 2>/dev/null); then cd dist/kubernetes && go vet ./... && go test -count=1 ./...; \
	else echo "kubernetes-test: skipped, the modules of dist/kubernetes cannot be had"; fi

# The page in a browser, Chromium: a module of its own, whose modules are downloaded once.
page-test:
	@if (cd ctl/page/browser && go mod download 2>/dev/null); then cd ctl/page/browser && go vet ./... && go test -count=1 ./...; \
	else echo "page-test: skipped, the modules of ctl/page/browser cannot be had"; fi

# Every fuzz target, a few seconds each.
fuzz-short:
	.ci/fuzz 5s

# Small changes at random places that a test must find: MUTANTS of them, by SEED, in CORE.
MUTANTS = 100
SEED = $(shell date +%s)
CORE = ./mad/... ./sweep/... ./sa/... ./partitions ./routing/... ./registry ./topo ./topo/cabling ./manager ./conf ./store ./view
mutants:
	go run ./testdata/mutate -n $(MUTANTS) -seed $(SEED) $(CORE)

# What managers send, publish and log in the simulations of a commit, BASE, and of this tree: the tests that RUN matches, or all
# for a few seconds each; SEEDS of those that take a seed.
SEEDS = 1
compare:
	@go run ./testdata/compare -base '$(BASE)' -run '$(value RUN)' -seeds $(SEEDS)

# OpenSM and ibsm side by side, 2,916 hosts, two minutes.
bench: build deps
	bin/ibfabric bench --json bin/bench.json fattree:k=36,pods=9

# The same in full: 2,916 and 11,664 hosts, three pairs each, half an hour on a quiet machine.
bench-full: build deps
	bin/ibfabric bench --runs 3 --json bin/bench-full.json

# Two commits of ibsm side by side: make bench-compare A=COMMIT B=COMMIT [SPEC="SPEC ..."]
SPEC = fattree:k=36,pods=9
bench-compare: build deps
	@[ -n "$(A)" -a -n "$(B)" ] || { echo "usage: make bench-compare A=COMMIT B=COMMIT [SPEC=\"SPEC ...\"]" >&2; exit 1; }
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	for side in "a $(A)" "b $(B)"; do set -- $$side; mkdir "$$dir/$$1" && git archive "$$2" > "$$dir/$$1.tar" && \
		tar -x -f "$$dir/$$1.tar" -C "$$dir/$$1" && (cd "$$dir/$$1" && go build -o ../ibsm-$$1 ./cmd/ibsm) || exit 1; done && \
	bin/ibfabric bench --base "$$dir/ibsm-a" --ibsm "$$dir/ibsm-b" --json bin/bench-compare.json $(SPEC)

# The benchmarks of the packages.
microbench:
	go test -run '^$$' -bench . ./...

deps:
	@.ci/deps

# The witness fabcheck lies beside the checkout where there is one; tests that need
# it and do not find bin/fabcheck are skipped and named.
fabcheck:
	@if [ -d $(check_sources) ]; then mkdir -p bin && \
	$(MAKE) -s -f $(abspath $(check_sources))/Makefile -C bin VPATH=$(abspath $(check_sources)) fabcheck; fi

.PHONY: build install deb rpm image release test hunt check plugin plugin-test kubernetes-test page-test fuzz-short mutants compare bench bench-full bench-compare microbench deps fabcheck
