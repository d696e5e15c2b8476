import BellhopAgent
import BellhopConnectors
import BellhopCore

/// A connection or a source that `bellhop init` writes.
struct StarterEntry {
    let name: String
    private let kind: String
    private let settings: [Setting]
    /// The values that the user need not write, by setting.
    private let values: [String: String]

    /// The kinds of connection that take messages.
    static var receivers: [String] { Catalogue.connections.filter { $0.messages != nil }.map(\.kind) }

    /// A connection with `values`, and the settings that its kind declares as `starter`; otherwise its required ones, or its first
    /// secret.
    init(connection name: String, kind: String, values: [String: String] = [:]) {
        guard let manifest = Catalogue.connections.first(where: { $0.kind == kind }) else {
            preconditionFailure("validate() lets no other kind through")
        }
        let required = manifest.settings.filter(\.required).map(\.name)
        let names =
            manifest.starter
            ?? (required.isEmpty ? manifest.settings.filter { $0.type == .secret }.prefix(1).map(\.name) : required)
        self.init(name, kind, manifest.settings, names: values.keys.filter { !names.contains($0) }.sorted() + names, values)
    }

    /// A source with `values`, and the other settings that `names` lists.
    init(source name: String, kind: String, names: [String], values: [String: String]) {
        guard let manifest = Catalogue.sources.first(where: { $0.kind == kind }) else {
            preconditionFailure("the kinds of StarterSystem are in the catalogue")
        }
        self.init(name, kind, manifest.settings, names: names, values)
    }

    private init(_ name: String, _ kind: String, _ settings: [Setting], names: [String], _ values: [String: String]) {
        self.name = name
        self.kind = kind
        self.settings = names.compactMap { name in settings.first { $0.name == name } }
        self.values = values
    }

    /// The lines in bellhop.yaml, without indentation.
    var lines: [String] {
        let settings = settings.map { setting in (line(setting), Self.sentence(setting)) }
        let width = max(30, (settings.map(\.0.count).max() ?? 0) + 2)
        return ["kind: \(kind)"] + settings.map { line, comment in line.padded(to: width) + "# " + comment }
    }

    /// The remaining steps for the user: the settings to write, and the commands that store the secrets.
    var steps: [StarterStep] {
        let open = settings.filter { values[$0.name] == nil }
        let own = open.filter { $0.type != .secret }.map {
            StarterStep("Write the `\($0.name)` of `\(name)` into bellhop.yaml: \(Self.sentence($0)).")
        }
        let secrets = open.filter { $0.type == .secret }.map {
            StarterStep("bellhop secret set \(name)_\($0.name)", to: Self.sentence($0))
        }
        return own + secrets
    }

    private func line(_ setting: Setting) -> String {
        if let value = values[setting.name] { return "\(setting.name): \(value)" }
        if setting.type == .secret { return "\(setting.name): \"${{ secret.\(name)_\(setting.name) }}\"" }
        let value = ConfigurationManifest.placeholder
        if case .list = setting.type { return "\(setting.name): [\(value)]" }
        return "\(setting.name): \(value)"
    }

    /// The first sentence of the setting's summary, in the form of a comment.
    private static func sentence(_ setting: Setting) -> String {
        let end = setting.summary.firstRange(of: /\.( |$)/)?.lowerBound ?? setting.summary.endIndex
        let text = setting.summary[..<end]
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}

/// What the user does after `bellhop init`.
struct StarterStep {
    /// A sentence or a command.
    let act: String
    /// What the command does, if that is not obvious.
    let purpose: String?

    init(_ act: String, to purpose: String? = nil) { (self.act, self.purpose) = (act, purpose) }

    /// The steps as lines with numbers; the purposes begin in one column.
    static func lines(_ steps: [StarterStep]) -> [String] {
        let width = steps.filter { $0.purpose != nil }.reduce(28) { max($0, $1.act.count) }
        return steps.enumerated().map { index, step in
            let number = "  \(index + 1). ".padded(to: steps.count > 9 ? 6 : 5)
            return number + (step.purpose.map { step.act.padded(to: width) + "  " + $0 } ?? step.act)
        }
    }
}
