import BellhopCore
import YAML

/// Reads a part of a file of rules or tests, and collects its problems.
protocol ProblemCollector {
    var file: String { get }
    var problems: Diagnostics { get set }
}

extension ProblemCollector {
    mutating func report(_ code: String, _ message: String, at node: Node, help: String? = nil) {
        problems.report(Diagnostic(code: code, message, at: Diagnostic.Place(node, file: file), help: help))
    }

    mutating func warn(_ code: String, _ message: String, at node: Node, help: String? = nil) {
        problems.report(Diagnostic(.warning, code: code, message, at: Diagnostic.Place(node, file: file), help: help))
    }

    /// Reads a mapping with these settings, without the keys in `others`, and reports its problems.
    mutating func settings(
        _ node: Node, as declared: [Setting], of subject: String, besides others: Set<String> = []
    ) -> Settings {
        var reader = SettingsReader<Never>(file: file)
        defer { problems.report(reader.diagnostics) }
        return reader.settings(node, as: declared, of: subject, besides: others)
    }

    /// Reads the value of one setting, and reports its problems.
    mutating func value(_ node: Node, as setting: Setting) -> JSON? {
        var reader = SettingsReader<Never>(file: file)
        defer { problems.report(reader.diagnostics) }
        return reader.read(node, as: setting)?.json
    }
}
