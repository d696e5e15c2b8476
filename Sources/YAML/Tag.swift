/// The tags of the core schema, and how each interprets a scalar.
enum Tag: String {
    case string = "tag:yaml.org,2002:str"
    case int = "tag:yaml.org,2002:int"
    case float = "tag:yaml.org,2002:float"
    case bool = "tag:yaml.org,2002:bool"
    case null = "tag:yaml.org,2002:null"
    case mapping = "tag:yaml.org,2002:map"
    case sequence = "tag:yaml.org,2002:seq"

    static let names = "`!!str`, `!!int`, `!!float`, `!!bool`, `!!null`, `!!map`, `!!seq`"

    /// The tag as written in a text.
    var written: String { "!!" + rawValue.dropFirst("tag:yaml.org,2002:".count) }

    /// The value that the tag requires, in words.
    var wanted: String {
        switch self {
        case .string: Node.Kind.string.description
        case .int: "a whole number of at most 64 bits"
        case .float: Node.Kind.float.description
        case .bool: "`true` or `false`"
        case .null: "`null` or nothing"
        case .mapping: Node.Kind.mapping.description
        case .sequence: Node.Kind.sequence.description
        }
    }

    /// The value of a scalar with this tag, or nil if its text does not fit.
    func value(of text: String) -> Value? {
        switch self {
        case .string: .string(text)
        case .int: CoreSchema.int(text).map(Value.int)
        case .float: (CoreSchema.float(text) ?? CoreSchema.int(text).map(Double.init)).map(Value.float)
        case .bool: CoreSchema.bool(text).map(Value.bool)
        case .null: CoreSchema.isNull(text) ? .null : nil
        case .mapping, .sequence: nil
        }
    }
}
