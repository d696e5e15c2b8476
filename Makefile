# The README's commands. `make demo` and `make test` share one debug build.
SWIFT ?= swift
DOCC ?= docc
PREFIX ?= /usr/local
PACKAGES = libyaml-dev libsqlite3-dev libre2-dev pkg-config
HEADERS = yaml.h sqlite3.h re2/re2.h
RUN_TIME = tzdata ca-certificates curl

# How many tests run at once: as many as the cores can serve, so that those that wait for a process or a socket are not starved.
WIDTH ?= $(shell echo $$((2 * $$(nproc))))

.PHONY: demo test storm smoke build bench lint format install packages cel-conformance fuzz docs clean

demo: packages
	@$(SWIFT) build --product bellhop
	@.build/debug/bellhop demo

# The system tests start the program itself, again and again, and run one after the other.
test: packages
	$(SWIFT) build --build-tests
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(WIDTH) $(SWIFT) test --skip-build --skip BellhopSystemTests
	$(SWIFT) test --skip-build --no-parallel --filter BellhopSystemTests

# The tests of kills and of random histories once more, with chance from a new seed: make storm [BELLHOP_SEED=42]
storm: packages
	@seed=$${BELLHOP_SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
	echo "To run this storm again: make storm BELLHOP_SEED=$$seed"; \
	BELLHOP_SEED=$$seed $(SWIFT) test --no-parallel --filter 'KillTests|HistoryTests'

# The program for use, with Swift's libraries inside: it runs on machines, and for users, that have no toolchain.
build: packages
	$(SWIFT) build -c release --static-swift-stdlib --product bellhop

# Every figure beside its yardstick; fails where a floor is missed. `make bench ARGS="--quick poll"` runs a part.
bench: build
	BELLHOP_BENCHMARKS=1 $(SWIFT) build -c release --static-swift-stdlib --product bench
	@.build/release/bench --program .build/release/bellhop $(ARGS)

# The benchmarks in small, in the build of the tests: shows that each works and that nothing is slower by orders of magnitude.
smoke: packages
	BELLHOP_BENCHMARKS=1 $(SWIFT) build --product bench
	@BELLHOP_BENCHMARKS=1 $(SWIFT) build --product bellhop
	@.build/debug/bench --smoke --program .build/debug/bellhop $(ARGS)

# The expression language's own conformance suite (cel-spec's tests/simple/testdata): make cel-conformance CEL_SPEC=FOLDER
cel-conformance: packages
	@[ -n "$(CEL_SPEC)" ] || { echo "Say where the suite is: make cel-conformance CEL_SPEC=FOLDER, with the files of cel-spec's tests/simple/testdata." >&2; exit 64; }
	@[ -d "$(CEL_SPEC)" ] || { echo "There is no folder $(CEL_SPEC): CEL_SPEC names that of cel-spec's tests/simple/testdata." >&2; exit 64; }
	CEL_SPEC="$$(cd "$(CEL_SPEC)" && pwd)" $(SWIFT) test --filter CELTests.Conformance

# Lets libFuzzer try the expression language (or YAML) from the corpus in Tests/Fuzz: make fuzz LANGUAGE=yaml SECONDS=600
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

# Without the names of its functions, which triple its size.
install: build
	install -D -s -m 0755 .build/release/bellhop $(DESTDIR)$(PREFIX)/bin/bellhop

clean:
	rm -rf .build

# Installs Debian's packages when a header is missing; says in one sentence what is needed where it cannot.
packages:
	@.make/packages "$(PACKAGES) $(RUN_TIME)" $(HEADERS)
