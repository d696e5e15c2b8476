import BellhopAgent
import BellhopConnectors
import BellhopCore

/// The connection `ops` that `bellhop init` writes, which receives messages.
struct StarterReceiver {
    private let manifest: ConnectionManifest

    /// The kinds that take messages.
    static var kinds: [String] { manifests.map(\.kind) }

    private static var manifests: [ConnectionManifest] { Catalogue.connections.filter { $0.messages != nil } }

    /// - Parameter kind: one of ``kinds``.
    init(kind: String) {
        guard let manifest = Self.manifests.first(where: { $0.kind == kind }) else {
            preconditionFailure("validate() lets no other kind through")
        }
        self.manifest = manifest
    }

    /// The lines in bellhop.yaml, without indentation.
    var lines: [String] {
        let settings = settings.map { setting in (Self.line(setting), Self.sentence(setting)) }
        let width = max(30, (settings.map(\.0.count).max() ?? 0) + 2)
        return ["kind: \(manifest.kind)"] + settings.map { line, comment in line.padded(to: width) + "# " + comment }
    }

    /// The remaining steps for the user: the settings to write, and the commands that store the secrets.
    var steps: [String] {
        let own = settings.filter { $0.type != .secret }.map {
            "Write the `\($0.name)` of `ops` into bellhop.yaml: \(Self.sentence($0))."
        }
        return own + secrets.map { "bellhop secret set ops_\($0.name)".padded(to: 28) + "  " + Self.sentence($0) }
    }

    /// The settings that the kind declares as `starter`; otherwise its required settings, or its first secret.
    private var settings: [Setting] {
        if let names = manifest.starter { return names.compactMap { name in manifest.settings.first { $0.name == name } } }
        let required = manifest.settings.filter(\.required)
        return required.isEmpty ? Array(manifest.settings.filter { $0.type == .secret }.prefix(1)) : required
    }

    private var secrets: [Setting] { settings.filter { $0.type == .secret } }

    private static func line(_ setting: Setting) -> String {
        if setting.type == .secret { return "\(setting.name): \"${{ secret.ops_\(setting.name) }}\"" }
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
