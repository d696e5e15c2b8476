// swift-tools-version: 6.2
import PackageDescription

/// Warnings stop the build in CI; a newcomer with a newer toolchain is only told of them.
let strict: [SwiftSetting] = Context.environment["CI"] == nil ? [] : [.treatAllWarnings(as: .error)]

let house: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + strict

/// Makes the program smaller: without the names of its functions, which nothing looks up (63.5 MB, stripped, become 57.9), and with
/// relocations packed by LLVM's linker (54.7). An idle agent has 5.7 MB less in memory. Programs with packed relocations need glibc 2.36.
/// Without a build id, which is computed also from what the package strips, so that two builds are the same.
let compactProgram: [LinkerSetting] = [
    .unsafeFlags(
        ["-use-ld=lld"] + ["--no-export-dynamic", "--build-id=none", "-z", "pack-relative-relocs"].flatMap { ["-Xlinker", $0] },
        .when(platforms: [.linux], configuration: .release))
]

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
/// Only for tests of servers, and as a yardstick.
let asyncHTTPClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTLS = Target.Dependency.product(name: "HummingbirdTLS", package: "hummingbird")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioExtras = Target.Dependency.product(name: "NIOExtras", package: "swift-nio-extras")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTPCompression = Target.Dependency.product(name: "NIOHTTPCompression", package: "swift-nio-extras")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")

/// The rules that `bellhop init` writes and `bellhop demo` runs: links to the files of rules/.
let shippedRules = [
    "acknowledge-new-incidents", "alert-chat-on-new-task", "alert-on-dead-delivery", "alert-on-failed-login",
    "alert-on-failing-source", "morning-digest", "page-for-unowned-p1", "weekly-review",
].flatMap { ["\($0).yaml", "\($0).test.yaml"] }

let package = Package(
    name: "bellhop",
    products: [
        .executable(name: "bellhop", targets: ["bellhop"]),
        .library(name: "CEL", targets: ["CEL"]),
    ],
    // Without traits, nothing in the program needs the whole of Foundation, whose tables of languages are 34 MB.
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2", traits: []),
    ],
    targets: [
        // The cellar: system libraries.
        .systemLibrary(name: "CLibCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CLibYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
        .target(name: "CMalloc"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "CRE2", linkerSettings: [.linkedLibrary("re2"), .linkedLibrary("stdc++")]),

        // The ground floor: rooms that know nothing of each other.
        .target(name: "BellhopCore", dependencies: [crypto], swiftSettings: house),
        .target(name: "BellhopFiles", swiftSettings: house),
        .target(name: "CEL", dependencies: ["CRE2"], swiftSettings: house),
        .target(name: "YAML", dependencies: ["CLibYAML"], swiftSettings: house),

        // The first floor.
        .target(
            name: "BellhopConnectors",
            dependencies: [
                "BellhopCore", "BellhopFiles", "CLibCurl", "CRE2", crypto, cryptoExtras, deque, nioCore, nioExtras, nioHTTP1,
                nioHTTPCompression, nioPosix, nioSSL, nioTLS, subprocess,
            ],
            swiftSettings: house),
        .target(
            name: "BellhopInbound",
            dependencies: [
                "BellhopCore", "BellhopFiles", crypto, hummingbirdCore, logging, nioCore, nioHTTP1, nioPosix, serviceLifecycle,
            ],
            swiftSettings: house),
        .target(name: "BellhopRules", dependencies: ["BellhopCore", "CEL", "YAML", heap], swiftSettings: house),
        .target(name: "BellhopStore", dependencies: ["BellhopCore", "BellhopFiles", "CSQLite"], swiftSettings: house),
        .target(name: "BellhopTelemetry", dependencies: ["BellhopCore", metrics], swiftSettings: house),

        // The second floor: sees no concrete store, connector or clock.
        .target(
            name: "BellhopEngine",
            dependencies: ["BellhopCore", "BellhopRules", "BellhopTelemetry", logging, metrics, serviceLifecycle],
            swiftSettings: house),

        // The third floor.
        .target(
            name: "BellhopAgent",
            dependencies: [
                "BellhopConnectors", "BellhopCore", "BellhopEngine", "BellhopFiles", "BellhopInbound", "BellhopRules",
                "BellhopStore", "BellhopTelemetry", "CMalloc", "YAML", crypto, logging, metrics, nioCore, nioHTTP1, nioPosix,
                serviceLifecycle, subprocess, unixSignals,
            ],
            swiftSettings: house),
        .target(
            name: "BellhopConsole",
            dependencies: [
                "BellhopAgent", "BellhopConnectors", "BellhopCore", "BellhopEngine", "BellhopInbound", "BellhopRules",
                "BellhopTelemetry", crypto, httpTypes, hummingbirdCore, hummingbirdTLS, logging, nioCore, nioPosix, nioSSL,
                serviceLifecycle,
            ],
            resources: ["css", "js", "svg"].map { .embedInCode("Assets/console.\($0)") },
            swiftSettings: house),
        .target(
            name: "Simulator",
            dependencies: [
                "BellhopCore", crypto, cryptoExtras, httpTypes, hummingbirdCore, logging, nioCore, nioPosix, nioSSL,
            ],
            swiftSettings: house),

        // Virtual time and other fixtures, for every test target.
        .target(name: "BellhopTesting", dependencies: ["BellhopCore"], swiftSettings: house),

        // The roof.
        .executableTarget(
            name: "bellhop",
            dependencies: [
                "BellhopAgent", "BellhopConnectors", "BellhopConsole", "BellhopCore", "BellhopEngine", "BellhopFiles",
                "BellhopInbound", "BellhopRules", "BellhopStore", "Simulator", argumentParser, logging, nioCore, serviceLifecycle,
                unixSignals,
            ],
            resources: shippedRules.map { .embedInCode("Rules/\($0)") },
            swiftSettings: house, linkerSettings: compactProgram),

        .testTarget(
            name: "BellhopAgentTests",
            dependencies: [
                "BellhopAgent", "BellhopConnectors", "BellhopCore", "BellhopEngine", "BellhopFiles", "BellhopInbound",
                "BellhopRules", "BellhopStore", "BellhopTelemetry", "BellhopTesting", "CMalloc", "Simulator", "YAML", logging,
                metrics, serviceLifecycle,
            ],
            swiftSettings: house),
        .testTarget(
            name: "BellhopCommandTests",
            dependencies: [
                "BellhopAgent", "BellhopConnectors", "BellhopCore", "BellhopEngine", "BellhopFiles", "BellhopRules",
                "BellhopStore", "BellhopTesting", "Simulator", "bellhop", argumentParser,
            ], exclude: ["Golden"],
            swiftSettings: house),
        .testTarget(
            name: "BellhopConnectorsTests",
            dependencies: [
                "BellhopConnectors", "BellhopCore", "BellhopEngine", "BellhopStore", "BellhopTesting", "Simulator", crypto,
                cryptoExtras, logging, nioCore, nioEmbedded, nioHTTP1, nioPosix, nioSSL,
            ],
            swiftSettings: house),
        .testTarget(
            name: "BellhopConsoleTests",
            dependencies: [
                "BellhopAgent", "BellhopConnectors", "BellhopConsole", "BellhopCore", "BellhopEngine", "BellhopInbound",
                "BellhopRules", "BellhopStore", "BellhopTelemetry", "BellhopTesting", "Simulator", asyncHTTPClient, logging,
                nioCore, nioHTTP1, nioPosix,
                serviceLifecycle,
            ],
            swiftSettings: house),
        .testTarget(name: "BellhopCoreTests", dependencies: ["BellhopCore", "BellhopTesting"], swiftSettings: house),
        .testTarget(
            name: "BellhopEngineTests",
            dependencies: [
                "BellhopCore", "BellhopEngine", "BellhopRules", "BellhopStore", "BellhopTesting", logging, serviceLifecycle,
            ],
            swiftSettings: house),
        .testTarget(
            name: "BellhopInboundTests",
            dependencies: [
                "BellhopCore", "BellhopInbound", "BellhopTesting", asyncHTTPClient, crypto, logging, nioCore, nioEmbedded,
                nioHTTP1, nioPosix, serviceLifecycle,
            ],
            swiftSettings: house),
        .testTarget(
            name: "BellhopRulesTests", dependencies: ["BellhopCore", "BellhopRules", "BellhopTesting", "CEL", "YAML"],
            exclude: ["Golden"], swiftSettings: house),
        .testTarget(
            name: "BellhopStoreTests", dependencies: ["BellhopCore", "BellhopStore", "BellhopTesting", "CSQLite"],
            exclude: ["Fixtures"],
            swiftSettings: house),
        .testTarget(
            name: "BellhopSystemTests", dependencies: ["BellhopCore", "BellhopStore", "BellhopTesting", "Simulator"],
            swiftSettings: house),
        .testTarget(
            name: "BellhopTelemetryTests", dependencies: ["BellhopCore", "BellhopTelemetry", "BellhopTesting", metrics],
            swiftSettings: house),
        .testTarget(
            name: "CELTests", dependencies: ["BellhopCore", "BellhopTesting", "CEL"], exclude: ["Conformance/skipped.txt"],
            swiftSettings: house),
        .testTarget(
            name: "SimulatorTests",
            dependencies: ["BellhopCore", "BellhopTesting", "Simulator", asyncHTTPClient, nioCore, nioHTTP1],
            swiftSettings: house),
        .testTarget(name: "YAMLTests", dependencies: ["BellhopCore", "YAML"], swiftSettings: house),
    ]
)

// The benchmarks, built only when they are asked for, from the same objects as the program or the tests.
if Context.environment["BELLHOP_BENCHMARKS"] != nil {
    let folder = "Tests/Benchmarks/Sources/"
    package.targets += [
        .target(name: "CAllocations", path: folder + "CAllocations"),
        .executableTarget(
            name: "bench",
            dependencies: [
                "BellhopAgent", "BellhopConnectors", "BellhopConsole", "BellhopCore", "BellhopEngine", "BellhopInbound",
                "BellhopRules", "BellhopStore",
                "CAllocations", "CEL", "CMalloc", "CSQLite", asyncHTTPClient, logging, nioCore, nioHTTP1, nioPosix,
                serviceLifecycle,
            ],
            path: folder + "bench", swiftSettings: house),
    ]
}
