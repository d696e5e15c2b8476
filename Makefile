# The README's commands. `make demo` and `make test` share one debug build.
SWIFT ?= swift
DOCC ?= docc
PREFIX ?= /usr/local
PACKAGES = libyaml-dev libsqlite3-dev libre2-dev libcurl4-openssl-dev pkg-config
HEADERS = yaml.h sqlite3.h re2/re2.h curl/curl.h
RUN_TIME = tzdata ca-certificates curl

# The number of concurrent tests: few enough that tests that wait for a process or a socket get processor time.
WIDTH ?= $(shell echo $$((2 * $$(nproc))))
# The same for tests that start programs, and mostly wait for them.
SYSTEM_WIDTH ?= $(shell echo $$(($$(nproc) + 1)))

.PHONY: demo test storm browser fuzz-api smoke build bench lint format install deb deb-test container-test sbom reproducible reproducible-program packages cel-conformance fuzz docs clean

demo: packages
	@[ -x .build/debug/bellhop ] || echo "The first build takes about ten minutes on two cores."
	@$(SWIFT) build --product bellhop
	@.build/debug/bellhop demo $(ARGS)

test: packages
	$(SWIFT) build --build-tests
	@SWIFT="$(SWIFT)" SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(WIDTH) .make/test --skip-build --skip BellhopSystemTests
	@SWIFT="$(SWIFT)" SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(SYSTEM_WIDTH) .make/test --skip-build --filter BellhopSystemTests

# The tests with kills and random histories again, with a new random seed: make storm [BELLHOP_SEED=42]
storm: packages
	@seed=$${BELLHOP_SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
	echo "To run this storm again: make storm BELLHOP_SEED=$$seed"; \
	export SWIFT="$(SWIFT)" BELLHOP_SEED=$$seed; \
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(WIDTH) .make/test --filter HistoryTests && \
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(SYSTEM_WIDTH) .make/test --skip-build --filter KillTests

# With REPRODUCIBLE=1 the program has no path of this folder in it: the same sources make the same bytes in every folder.
PATHLESS = -Xcc -ffile-prefix-map=$(CURDIR)=. -Xcxx -ffile-prefix-map=$(CURDIR)=. -Xswiftc -file-prefix-map -Xswiftc $(CURDIR)=. \
	-Xswiftc -file-compilation-dir -Xswiftc . -Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen
FLAGS = $(if $(REPRODUCIBLE),$(PATHLESS))

# The program for use. It contains Swift's libraries, so it runs on machines without the toolchain.
build: packages
	$(SWIFT) build -c release --static-swift-stdlib $(FLAGS) --product bellhop

# Measures each figure beside its yardstick; fails if a floor is missed. `make bench ARGS="--quick poll"` runs a part.
bench: build
	@echo "The demo, with the optimized program, which no test runs"
	@.build/release/bellhop demo --speed 120 >.build/demo.log 2>&1 || { cat .build/demo.log; exit 1; }
	BELLHOP_BENCHMARKS=1 $(SWIFT) build -c release --static-swift-stdlib $(FLAGS) --product bench
	@.build/release/bench --program .build/release/bellhop $(ARGS)

# The console in a real browser, with pictures of every page in .build/console. Installs Debian's chromium if it is missing.
browser: packages
	@$(SWIFT) build --product bellhop
	@.make/browser .build/debug/bellhop .build/console

# Requests from the console's OpenAPI document, made by schemathesis from PyPI: make fuzz-api SECONDS=600 [BELLHOP_SEED=42]
fuzz-api: packages
	@$(SWIFT) build --product bellhop
	@.make/fuzz-api .build/debug/bellhop $(SECONDS)

# Small benchmarks in the debug build: checks that each works and that no figure is worse by orders of magnitude.
smoke: packages
	BELLHOP_BENCHMARKS=1 $(SWIFT) build --product bench
	@BELLHOP_BENCHMARKS=1 $(SWIFT) build --product bellhop
	@.build/debug/bench --smoke --program .build/debug/bellhop $(ARGS)

# The expression language's own conformance suite (cel-spec's tests/simple/testdata): make cel-conformance CEL_SPEC=FOLDER
cel-conformance: packages
	@[ -n "$(CEL_SPEC)" ] || { echo "Set the suite's folder: make cel-conformance CEL_SPEC=FOLDER, with the files of cel-spec's tests/simple/testdata." >&2; exit 64; }
	@[ -d "$(CEL_SPEC)" ] || { echo "There is no folder $(CEL_SPEC): set CEL_SPEC to the folder of cel-spec's tests/simple/testdata." >&2; exit 64; }
	CEL_SPEC="$$(cd "$(CEL_SPEC)" && pwd)" $(SWIFT) test --filter CELTests.Conformance

# Fuzzes the expression language (or YAML) with libFuzzer, from the corpus in Tests/Fuzz: make fuzz LANGUAGE=yaml SECONDS=600
LANGUAGE ?= cel
SECONDS ?= 60
fuzz: packages
	@.make/fuzz $(LANGUAGE) $(SECONDS)

lint:
	$(SWIFT) format lint --strict --recursive --configuration .swift-format Package.swift Sources Tests

format:
	$(SWIFT) format --in-place --recursive --configuration .swift-format Package.swift Sources Tests

# The guides and the reference as pages for a web server; a broken link is an error. docc comes with the Swift toolchain.
docs:
	@mkdir -p .build
	$(DOCC) convert Sources/BellhopAgent/BellhopAgent.docc --output-path .build/docs --warnings-as-errors \
		--fallback-display-name Bellhop --fallback-bundle-identifier bellhop
	@echo "To read them: python3 -m http.server --directory .build/docs 8000, then http://127.0.0.1:8000/documentation/bellhop/"

# Stripped, because the names of its functions triple its size.
install: build
	install -D -s -m 0755 .build/release/bellhop $(DESTDIR)$(PREFIX)/bin/bellhop

# A Debian package with the program, its unit, manual pages and completions, in .build/deb. `PROGRAM=FILE` takes a program that is built already.
PROGRAM ?= .build/release/bellhop
DEB ?= .build/deb
deb: $(if $(filter .build/release/bellhop,$(PROGRAM)),build)
	@.packaging/deb $(PROGRAM) $(DEB)

# Judges the package, and installs, starts, upgrades, removes and purges it in a throw-away Debian (root, lintian, mmdebstrap, systemd-nspawn).
deb-test: deb
	@.make/deb-test $$(ls -t $(DEB)/bellhop_*.deb | head -1)

# Builds the container recipe with the package, and runs it without root and with a read-only root filesystem (mmdebstrap, buildah, podman, runc and uidmap).
container-test: deb
	@.make/container-test $(DEB)

# Makes the package twice and compares the two, byte for byte.
reproducible: deb
	@rm -rf $(DEB)-again && .packaging/deb $(PROGRAM) $(DEB)-again >/dev/null
	@for package in $(DEB)-again/*.deb; do cmp "$$package" $(DEB)/$$(basename $$package) || exit 1; done
	@echo "Both packages are the same, byte for byte."

# Builds the program of the last commit twice, in two folders, and compares what a package takes of them. Takes two whole release builds.
reproducible-program: packages
	@SWIFT="$(SWIFT)" .make/reproducible-program

# The bill of materials (CycloneDX) of the release program, checked against the libraries that it loads.
sbom: $(if $(filter .build/release/bellhop,$(PROGRAM)),build)
	@mkdir -p .build
	@SWIFT="$(SWIFT)" .packaging/sbom $(PROGRAM) Package.resolved .build/checkouts $$(git log -1 --format=%ct) > .build/bellhop.cdx.json
	@SWIFT="$(SWIFT)" .packaging/sbom --check $(PROGRAM) Package.resolved .build/checkouts < .build/bellhop.cdx.json

clean:
	rm -rf .build

# Installs the Debian packages if a header is missing. If that is not possible, one sentence names what is needed.
packages:
	@command -v $(firstword $(SWIFT)) >/dev/null || { echo "There is no $(firstword $(SWIFT)): install Swift 6.2 or newer (https://swift.org/install), or name it: make SWIFT=FILE" >&2; exit 69; }
	@.make/packages "$(PACKAGES) $(RUN_TIME)" $(HEADERS)
