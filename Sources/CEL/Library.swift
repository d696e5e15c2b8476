/// An optional extension of the standard language; named after cel-go's extension libraries.
public enum Library: String, Sendable, Hashable, CaseIterable {
    /// `charAt`, `indexOf`, `replace`, `split`, `substring`, `trim`, `format`, …
    case strings
    /// `math.greatest`, `math.round`, `math.bitAnd`, …
    case math
    /// `sort`, `sortBy`, `distinct`, `flatten`, `slice`, `lists.range`, `first`, `last`, `reverse`
    case lists
    /// `sets.contains`, `sets.equivalent`, `sets.intersects`
    case sets
    /// `base64.encode`, `base64.decode`
    case encoders
    /// `a.?b`, `a[?b]`, `optional.of`, `orValue`, `optMap`, …
    case optionals
    /// `all(i, v, …)`, `transformList`, `transformMap`, …
    case twoVariableComprehensions
    /// `cel.bind(name, value, body)`
    case bindings
    /// `regex.replace`, `regex.extract`, `regex.extractAll`
    case regex
    /// `ip`, `cidr`, `isIP`, …
    case network
    /// `cel.block([values], body)`
    case block
    /// `timestamp.format(pattern, zone)`
    case times
}

extension Library {
    /// The functions that the library adds; the parser handles its macros.
    func functions(_ host: Host) -> [Function] {
        switch self {
        case .strings: Strings.functions
        case .math: MathFunctions.functions
        case .lists: Lists.functions
        case .sets: Sets.functions
        case .encoders: Encoders.functions
        case .optionals: Optionals.functions
        case .regex: RegexFunctions.functions
        case .network: Network.functions
        case .times: Times.functions(host.zones)
        case .twoVariableComprehensions, .bindings, .block: []
        }
    }

    /// The type names that the library adds.
    var types: [CELType] {
        switch self {
        case .optionals: [.optional(.dyn)]
        case .network: [Network.ipType, Network.cidrType]
        default: []
        }
    }
}
