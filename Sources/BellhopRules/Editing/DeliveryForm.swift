public import BellhopCore
import YAML

/// The arguments of a delivery as YAML that a person edits, and back, checked like the arguments of a rule's step.
///
/// Nothing in the text is a template: it is sent as written.
public struct DeliveryForm: Sendable {
    /// The name of the text in diagnostics.
    public static let file = "delivery.yaml"

    private let arguments: Arguments
    private let action: ActionManifest

    public init(_ delivery: Delivery, action: ActionManifest) {
        arguments = delivery.arguments
        self.action = action
    }

    /// The arguments as YAML, without comments.
    public var text: String { text(of: arguments) }

    private func text(of arguments: Arguments) -> String {
        switch arguments {
        case .message(let message): return YAMLWriter.text(MessageForm(message: message).arguments)
        case .values(let values):
            var shown: JSON.Object = [:]
            for (name, value) in values {
                guard let setting = settings.first(where: { $0.name == name }) else { continue }
                shown[name] = setting.type.written(value)
            }
            return YAMLWriter.text(shown)
        }
    }

    /// Reads an edited text. Returns the arguments, and their text in the form of ``text``.
    public func read(_ text: String) throws(Diagnostics) -> (arguments: Arguments, text: String) {
        var reader = SettingsReader<Never>(file: Self.file)
        let root = try Self.root(text)
        let object = reader.read(root, as: settings, of: "`\(action.kind)`").json?.asObject ?? [:]
        reader.report(ArgumentReview(action: action, file: Self.file).problems(of: .object(object), at: root))
        if reader.diagnostics.hasErrors { throw reader.diagnostics }
        let edited = try arguments(with: object, root)
        return (edited, self.text(of: edited))
    }

    private func arguments(with object: JSON.Object, _ root: Node) throws(Diagnostics) -> Arguments {
        switch arguments {
        case .message(let message):
            let edited = MessageForm(message: message).message(with: object)
            guard edited.title.plainText.isEmpty, edited.parts.isEmpty else { return .message(edited) }
            throw Diagnostics(
                code: "missing-key", "this message is empty", at: Diagnostic.Place(root, file: Self.file),
                help: "give it a `title` or a `text`")
        case .values(let values):
            // Arguments that a person cannot write stay, such as whether a value determined the host.
            var edited = object
            for (name, value) in values where !settings.contains(where: { $0.name == name }) { edited[name] = value }
            return .values(edited)
        }
    }

    private var settings: [Setting] {
        if action.isMessage { return MessageForm.settings(of: action) }
        return RuleKeys.arguments(of: action).filter { $0.name != "to" && !($0.name == "task" && action.effect == .writes) }
    }

    private static func root(_ text: String) throws(Diagnostics) -> Node {
        let source = SourceText(Array(text.utf8))
        let documents: [Document]
        do throws(YAMLErrors) {
            documents = try parse(source).filter { !$0.isEmpty }
        } catch {
            throw Diagnostics(error, in: source, file: file)
        }
        if documents.count == 1 { return documents[0].root }
        let place = documents.dropFirst().first.map { Diagnostic.Place($0.root, file: file) }
        throw Diagnostics(
            code: "missing-key",
            documents.isEmpty ? "this file contains no arguments" : "the arguments must be a single document",
            at: place ?? Diagnostic.Place(file: file, line: 1, column: 1))
    }
}

extension SettingType {
    /// A stored value as it is written in a file.
    func written(_ value: JSON) -> JSON {
        switch (self, value) {
        case (.duration, .int(let microseconds)): .string(DurationText.format(.microseconds(microseconds)))
        case (.size, .int(let bytes)): .string("\(bytes)B")
        case (.rate, .object(let rate)):
            .string("\(rate["count"]?.asInt ?? 0)/\(DurationText.format(.microseconds(rate["microseconds"]?.asInt ?? 0)))")
        case (.list(let element), .array(let items)): .array(items.map(element.written))
        case (.map(let element), .object(let members)):
            .object(members.reduce(into: [:]) { $0[$1.key] = element.written($1.value) })
        case (.record(let settings), .object(let members)):
            .object(
                members.reduce(into: [:]) { object, member in
                    let type = settings.first { $0.name == member.key }?.type ?? .json
                    object[member.key] = type.written(member.value)
                })
        default: value
        }
    }
}
