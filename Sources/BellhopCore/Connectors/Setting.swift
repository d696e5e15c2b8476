/// One setting of a connector or one argument of an action, declared once for checking, help, the JSON Schema, redaction and the
/// reference page.
public struct Setting: Sendable, Hashable {
    public var name: String
    public var type: SettingType
    public var required: Bool
    /// The default as written in a file; nil if there is none.
    public var fallback: String?
    /// One sentence.
    public var summary: String
    /// A line as written in a file, shown if the setting is missing.
    public var example: String?
    /// The least duration or size, as written in a file; nil for no limit.
    public var least: String?
    /// The greatest duration, as written in a file; nil for no limit.
    public var most: String?
    /// The names that a map must not have, in small letters, each with the reason; names compare without regard to case.
    public var refusedNames: [String: String]

    public init(
        _ name: String, _ type: SettingType, required: Bool = false, default fallback: String? = nil, least: String? = nil,
        most: String? = nil, refusedNames: [String: String] = [:], _ summary: String, example: String? = nil
    ) {
        self.name = name
        self.type = type
        self.required = required
        self.fallback = fallback
        self.summary = summary
        self.example = example
        self.least = least
        self.most = most
        self.refusedNames = refusedNames
    }
}

extension Setting {
    /// The value that its example gives it, as written in a file.
    public var exampleValue: String? { example.map { String($0.dropFirst(name.count + ": ".count)) } }

    /// The type of a field that a source declares.
    public static let fieldType = Setting(
        "type", .oneOf(FieldType.allCases.map(\.rawValue)), default: "text", "The type of the value.")
}

extension SettingType {
    /// Where a field of an item is: `path`, or `{path, type}`.
    public static let fieldPath = SettingType.either([
        .text, .record([Setting("path", .text, "The path to the value; by default the field's name."), .fieldType]),
    ])
}

/// The type of a setting's value.
public indirect enum SettingType: Sendable, Hashable {
    /// A text; a plain number or boolean is taken as text.
    case text
    /// A text, a number, `true`, `false` or null; keeps its own type.
    case scalar
    /// A text that is never printed.
    case secret
    /// The name of something declared elsewhere, never a template.
    case name
    case integer(ClosedRange<Int>)
    case number(ClosedRange<Double>)
    case boolean
    /// `30s`, `15m`; stored as microseconds.
    case duration
    /// `64MB`; stored as bytes.
    case size
    /// `60/m`, `20/h`; stored as `{count, microseconds}`.
    case rate
    case oneOf([String])
    /// An absolute http or https address.
    case address
    /// A path below an address, perhaps with a query: inserted values are encoded for their place.
    case target
    /// A path, relative to bellhop.yaml; inserted values become part of the file's name.
    case path
    /// One value, or a list.
    case list(SettingType)
    /// Names to values.
    case map(SettingType)
    case record([Setting])
    /// Any YAML value, kept as JSON; templates in its strings keep their types.
    case json
    /// The first type that fits.
    case either([SettingType])
    /// The small Markdown of messages.
    case markdown
    /// A CEL expression.
    case expression
}

/// Settings checked against their manifest: durations are microseconds, sizes bytes. May hold secrets, so it does not print
/// itself.
public struct Settings: Sendable, Hashable, CustomStringConvertible {
    public var values: JSON.Object
    /// The user's secrets that were inserted in any setting: must not be shown anywhere.
    public var secrets: [String]

    public init(_ values: JSON.Object = [:], secrets: [String] = []) { (self.values, self.secrets) = (values, secrets) }

    public func text(_ name: String) -> String? { if case .string(let text)? = values[name] { text } else { nil } }
    public func integer(_ name: String) -> Int? { if case .int(let number)? = values[name] { Int(number) } else { nil } }
    public func number(_ name: String) -> Double? { values[name]?.asDouble }
    public func boolean(_ name: String) -> Bool? { if case .bool(let flag)? = values[name] { flag } else { nil } }
    public func duration(_ name: String) -> Duration? { integer(name).map { .microseconds($0) } }
    public func texts(_ name: String) -> [String] {
        switch values[name] {
        case .string(let text)?: [text]
        case .array(let items)?: items.compactMap { if case .string(let text) = $0 { text } else { nil } }
        default: []
        }
    }
    public func integers(_ name: String) -> [Int] {
        switch values[name] {
        case .int(let number)?: [Int(number)]
        case .array(let items)?: items.compactMap { if case .int(let number) = $0 { Int(number) } else { nil } }
        default: []
        }
    }
    public func record(_ name: String) -> Settings? {
        if case .object(let members)? = values[name] { Settings(members, secrets: secrets) } else { nil }
    }

    public var description: String { "Settings(\(values.keys.joined(separator: ", ")))" }
}

/// An error in a setting that a check of its type cannot find, with its place.
public struct SettingComplaint: Error, Sendable, Hashable {
    public typealias Step = JSON.Path.Step

    public var code: String
    /// Without a full stop, like a diagnostic's.
    public var message: String
    public var help: String?
    /// From the mapping of settings down to the value.
    public var path: [Step]
    /// True if the last key of the path is at fault, not its value.
    public var isAboutKey: Bool
    /// The faulty part of a text, in UTF-8 bytes; nil for all of it.
    public var range: Range<Int>?

    public init(
        code: String, _ message: String, at path: [Step], isAboutKey: Bool = false, range: Range<Int>? = nil, help: String? = nil
    ) {
        self.code = code
        self.message = message
        self.help = help
        self.path = path
        self.isAboutKey = isAboutKey
        self.range = range
    }
}

/// All errors in some settings; never empty.
public struct SettingComplaints: Error, Sendable, Hashable {
    public var all: [SettingComplaint]

    public init(_ all: [SettingComplaint]) { self.all = all }
}
