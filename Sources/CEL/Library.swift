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
