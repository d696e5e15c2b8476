/// The verdict of a query on a row: three-valued, because only the server can evaluate everything.
enum Verdict: Sendable, Hashable {
    case matches, fails, unknown

    init(_ holds: Bool) { self = holds ? .matches : .fails }

    var negated: Verdict {
        switch self {
        case .matches: .fails
        case .fails: .matches
        case .unknown: .unknown
        }
    }

    /// Whether all hold.
    static func all<Element>(_ elements: some Sequence<Element>, _ judge: (Element) -> Verdict) -> Verdict {
        var verdict = Verdict.matches
        for element in elements {
            switch judge(element) {
            case .matches: continue
            case .fails: return .fails
            case .unknown: verdict = .unknown
            }
        }
        return verdict
    }

    /// Whether one holds.
    static func any<Element>(_ elements: some Sequence<Element>, _ judge: (Element) -> Verdict) -> Verdict {
        all(elements) { judge($0).negated }.negated
    }
}
