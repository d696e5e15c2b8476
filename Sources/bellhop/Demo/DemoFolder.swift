import BellhopFiles
import Glibc
import Synchronization

/// The temporary folder of a demonstration: configuration, rules, store.
struct DemoFolder {
    let path: String

    /// The folder to remove when the program ends, also early: when its output cannot be written, or at a second signal.
    private static let toRemove = Mutex<DemoFolder?>(nil)

    init(isKept: Bool) throws(CommandError) {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        path = try Files.makeTemporaryFolder(in: base, prefix: "bellhop-demo")
        if isKept { return }
        Self.toRemove.withLock { [self] in $0 = self }
        atexit {
            if let folder = DemoFolder.toRemove.withLock({ $0 }) { folder.remove() }
        }
    }

    /// Writes the configuration for an instance at that address, and the shipped rules.
    /// - Parameter token: of the console's user; nil for no console.
    func write(address: String, token: String?) throws(CommandError) {
        let console = token.map { "console: {listen: \"127.0.0.1:0\", users: [{name: you, token: \($0), role: operator}]}" } ?? ""
        let configuration = """
            version: 1
            timezone: Europe/Berlin
            \(console)
            connections:
              snow:
                kind: servicenow
                instance: \(address)
                auth: {basic: {username: john.doe, password: demo}}
                timeout: 20m
              ops: {kind: slack, url: "\(address)/hooks/ops", timeout: 20m}
            sources:
              my-work: {kind: tracker, connection: snow, every: 30s}
              incidents:
                {kind: table, connection: snow, table: incident, where: {active: true, priority: 1}, every: 30s}

            """
        _ = try Files.create(path + "/bellhop.yaml", configuration)
        try Files.makeFolder(path + "/rules")
        for rule in ShippedRules.all where !rule.isTest { _ = try Files.create("\(path)/rules/\(rule.name)", rule.text) }
    }

    private func remove() { for folder in [path + "/rules", path + "/logs", path] { Folder.remove(folder) } }
}
