public import BellhopCore
public import YAML

/// Reads a part of a file of rules or tests, and collects its problems.
protocol ProblemCollector {
    var file: String { get }
    var problems: Diagnostics { get set }
}

extension ProblemCollector {
    mutating func report(_ code: String, _ message: String, at node: Node, help: String? = nil) {
        problems.report(Diagnostic(code: code, message, at: Diagnostic.Place(node, file: file), help: help))
    }

    /// Reports an error, because of which a part cannot be read: returns nil.
    mutating func refuse<Part>(_ code: String, _ message: String, at node: Node, help: String? = nil) -> Part? {
        report(code, message, at: node, help: help)
        return nil
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

    mutating func value(_ node: Node, as setting: Setting) -> JSON? {
        var reader = SettingsReader<Never>(file: file)
        defer { problems.report(reader.diagnostics) }
        return reader.read(node, as: setting)?.json
    }
}

extension SettingsReader {
    /// Reports a complaint about settings at its place in the node they were read from.
    public mutating func report(_ complaint: SettingComplaint, in node: Node, _ settings: Settings) {
        var place = node
        var key: Node?
        var value = JSON.object(settings.values)
        for step in complaint.path {
            switch step {
            case .key(let name):
                guard let pair = place.mapping?.first(where: { $0.name == name }) else { continue }
                (place, key) = (pair.value, pair.key)
                value = value[name] ?? .null
            case .index(let index):
                value = value[index] ?? .null
                // A single value stands for a list of one.
                guard let items = place.items, items.indices.contains(index) else { continue }
                (place, key) = (items[index], nil)
            }
        }
        let target = complaint.isAboutKey ? key ?? place : place
        // A range refers to the final text, which is the written one only if nothing was substituted.
        let isAsWritten = target.scalar.map { value.asString == $0.text } ?? false
        let range = isAsWritten && !complaint.isAboutKey ? complaint.range : nil
        report(
            Diagnostic(
                code: complaint.code, complaint.message,
                at: range.map { Diagnostic.Place(target, utf8: $0, file: file) } ?? Diagnostic.Place(target, file: file),
                help: complaint.help))
    }
}
