/// One setting of a connector or one argument of an action, declared once: from it come checking, help, the JSON Schema, redaction
/// and the reference page.
public struct Setting: Sendable, Hashable {
    public var name: String
    public var type: SettingType
    public var required: Bool
    /// The default as one would write it; nil when there is none.
    public var fallback: String?
    /// One sentence.
    public var summary: String
    /// A line as one would write it, shown where the setting is missing.
    public var example: String?
    /// The least duration or size, as one would write it; nil where any will do.
    public var least: String?

    public init(
        _ name: String, _ type: SettingType, required: Bool = false, default fallback: String? = nil, least: String? = nil,
        _ summary: String, example: String? = nil
    ) {
        self.name = name
        self.type = type
        self.required = required
        self.fallback = fallback
        self.summary = summary
        self.example = example
        self.least = least
    }
}

/// What may be written for a setting.
public indirect enum SettingType: Sendable, Hashable {
    /// A text; a number or boolean written plainly counts with its own characters.
    case text
    /// A text, a number, `true`, `false` or null; keeps its own type.
    case scalar
    /// A text that is never printed.
    case secret
    /// The name of something declared elsewhere, never a template.
    case name
    case integer(ClosedRange<Int>)
    case boolean
    /// `30s`, `15m`; held as microseconds.
    case duration
    /// `64MB`; held as bytes.
    case size
    /// `60/m`, `20/h`; held as `{count, microseconds}`.
    case rate
    case oneOf([String])
    /// An absolute http or https address.
    case address
    /// A path below an address, perhaps with its query: what is inserted is encoded for its place.
    case target
    /// A path, relative to bellhop.yaml; what is inserted is a part of the file's name.
    case path
    /// One of them, or a list.
    case list(SettingType)
    /// Names to values.
    case map(SettingType)
    case record([Setting])
    /// Any YAML value, kept as JSON; templates in its strings keep their types.
    case json
    /// The first that fits.
    case either([SettingType])
    /// The small Markdown of messages.
    case markdown
    /// A CEL expression.
    case expression
}

/// Settings that were checked against their manifest: durations are microseconds, sizes bytes. May hold secrets, so it does not
/// print itself.
public struct Settings: Sendable, Hashable, CustomStringConvertible {
    public var values: JSON.Object
    /// What was inserted from the user's secrets, in whichever setting: nobody may read it anywhere.
    public var secrets: [String]

    public init(_ values: JSON.Object = [:], secrets: [String] = []) {
        self.values = values
        self.secrets = secrets
    }

    public func text(_ name: String) -> String? { if case .string(let text)? = values[name] { text } else { nil } }
    public func integer(_ name: String) -> Int? { if case .int(let number)? = values[name] { Int(number) } else { nil } }
    public func boolean(_ name: String) -> Bool? { if case .bool(let flag)? = values[name] { flag } else { nil } }
    public func duration(_ name: String) -> Duration? { integer(name).map { .microseconds($0) } }
    public func texts(_ name: String) -> [String] {
        switch values[name] {
        case .string(let text)?: [text]
        case .array(let items)?: items.compactMap { if case .string(let text) = $0 { text } else { nil } }
        default: []
        }
    }
    public func record(_ name: String) -> Settings? {
        if case .object(let members)? = values[name] { Settings(members, secrets: secrets) } else { nil }
    }

    public var description: String { "Settings(\(values.keys.joined(separator: ", ")))" }
}
