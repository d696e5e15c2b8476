import Glibc

/// The agent itself, built for release, with its own working folder.
struct ProgramUnderTest {
    let path: String
    let folder: String

    /// The place where `make build` puts it: beside the benchmarks.
    static var standard: String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) { readlink("/proc/self/exe", $0.baseAddress!, $0.count) }
        }
        let parts = String(decoding: buffer[..<max(count, 0)], as: UTF8.self).split(separator: "/")
        return "/" + (parts.dropLast() + ["bellhop"]).joined(separator: "/")
    }

    /// Nil if it has not been built.
    init?(_ bench: Bench) {
        guard Files.exists(bench.program) else { return nil }
        (path, folder) = (bench.program, bench.folder)
    }

    static func missing(_ names: [String], _ bench: Bench) -> [Measurement] {
        names.map { .missing($0, "there is no \(bench.program): needs `make build`") }
    }

    /// Writes a configuration for an instance at this address, and each rule into its own file.
    /// - Parameter console: the port of the console; nil for none.
    func configure(_ name: String, instance: String, every: String, rules count: Int, console: Int? = nil) throws -> String {
        let place = "\(folder)/\(name)"
        try Files.makeFolder(place)
        try Files.makeFolder(place + "/rules")
        let configuration = """
            version: 1
            connections:
              snow: {kind: servicenow, instance: "\(instance)", auth: {basic: {username: john.doe, password: secret}}}
            sources:
              my-work: {kind: tracker, connection: snow, every: \(every)}
            \(console.map { "console: {listen: \"127.0.0.1:\($0)\", users: [{name: bench, token: \(ConsoleUnderTest.token)}]}" } ?? "")

            """
        guard Files.write(configuration, to: place + "/bellhop.yaml") else { throw BenchError("\(place) cannot be written to") }
        let rules = RuleSet(count: count)
        for number in 0..<count { Files.write(rules.text(number), to: "\(place)/rules/team-\(number).yaml") }
        return place + "/bellhop.yaml"
    }

    func start(_ arguments: [String], ready: ReadySocket? = nil, output: Program.Output = .nowhere) throws -> Program {
        var environment = ["HOME": folder]
        for name in ["PATH", "LD_LIBRARY_PATH"] {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        environment["NOTIFY_SOCKET"] = ready?.path
        return try Program.start(path, arguments, environment: environment, output: output)
    }
}
