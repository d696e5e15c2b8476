import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopConnectors

@Suite struct QueryTruthTests {
    private static let ada = "0123456789abcdef0123456789abcdef"
    private static let bob = "fedcba9876543210fedcba9876543210"

    @Test(arguments: [
        ("1", "a=1", Truth.matches), ("1", "a=2", .fails), ("1", "a=1.0", .unknown), ("true", "a=true", .matches),
        ("false", "a=true", .fails), ("1", "a=true", .unknown), ("Mail", "a=mail", .unknown), ("Mail", "a=Mail", .matches),
        ("Mail", "a=Post", .fails), ("Mail ", "a=Mail", .unknown), ("Café", "a=Cafe", .unknown), ("Mail", "a=NULL", .unknown),
        ("Mail", "a=javascript:x()", .unknown), ("", "a=1", .fails), ("", "a=false", .unknown), ("", "a=0", .unknown),
        ("", "a!=1", .unknown), ("2", "a!=1", .matches), ("1", "a!=1", .fails), ("Mail", "a!=mail", .unknown),
        (ada, "a=\(ada)", .matches), (ada, "a=\(bob)", .fails), (ada, "a=Ada Lovelace", .unknown), (ada, "a!=Ada", .unknown),
        ("2", "aIN1,2", .matches), ("3", "aIN1,2", .fails), ("3", "aINjavascript:x()", .unknown), ("", "aNOT IN1", .unknown),
        ("2", "aNOT IN1,2", .fails), ("3", "aNOT IN1,2", .matches), ("Mail", "aINpost,mail", .unknown),
        ("Mail server", "aLIKEserver", .matches), ("Mail server", "aLIKESERVER", .unknown),
        ("Mail server", "aLIKEprinter", .fails),
        ("Mail server", "aLIKEm%r", .unknown), ("", "aLIKEx", .unknown), (ada, "aLIKEAda", .unknown), ("3", "aLIKENew", .unknown),
        ("Mail", "aNOT LIKEPost", .matches), ("Mail", "aNOT LIKEai", .fails), ("", "aNOT LIKEx", .unknown),
        ("x\r\ny", "aLIKE\ny", .matches),
        ("Mail", "aSTARTSWITHMa", .matches), ("Mail", "aSTARTSWITHma", .unknown), ("Mail", "aSTARTSWITHil", .fails),
        ("Mail", "aENDSWITHil", .matches), ("Mail", "aENDSWITHIL", .unknown), ("Mail", "a%ai", .fails),
        ("", "aISEMPTY", .matches), ("1", "aISEMPTY", .fails), ("1", "aISNOTEMPTY", .matches), ("", "aISNOTEMPTY", .fails),
        ("", "aEMPTYSTRING", .unknown), ("1", "aEMPTYSTRING", .fails),
        ("10", "a>9", .matches), ("9", "a>10", .fails), ("-1", "a<=0", .matches), ("1.5", "a<1.25", .fails),
        ("b", "a>a", .unknown),
        ("", "a<1", .fails), ("2026-01-05 09:00:00", "a>2026-01-05 08:59:59", .matches),
        ("2026-01-05 09:00:00", "a<=2026-01-05 08:00:00", .fails),
        ("2026-01-05 09:00:00", "a>2026-01-05", .unknown), ("2026-01-06", "a>2026-01-05", .matches),
        ("2026-01-06", "a=2026-01-05", .fails),
        ("2026-01-05 09:00:00", "a=2026-01-05", .unknown), ("2026-01-05 09:00:00", "a>=javascript:gs.daysAgoStart(0)", .unknown),
        ("5", "aBETWEEN1@9", .matches), ("10", "aBETWEEN1@9", .fails), ("5", "aBETWEEN1@x", .unknown),
        ("0", "aBETWEEN1@x", .fails),
        ("5", "aBETWEENx", .unknown), ("x", "aDYNAMIC1", .unknown), ("x", "aIN_HIERARCHYy", .unknown),
        ("x", "aONToday@a@b", .unknown),
        ("x", "aRELATIVEGT@hour@ago@1", .unknown), ("x", "aVALCHANGES", .unknown), ("x", "bANYTHING^ORa=x", .matches),
    ])
    func `a condition has a verdict if it is certain`(_ raw: String, _ query: String, _ expected: Truth) throws {
        // `ANYTHING` alone is refused; beside another condition it is allowed.
        let text = query.hasPrefix("bANYTHING") ? "zISEMPTY^" + query : query
        #expect(try EncodedQuery(parsing: text).judge(["a": .string(raw), "z": ""]) == expected)
    }

    @Test func `two fields are compared if both are known`() throws {
        let row: JSON = ["a": "5", "b": "7", "c": "", "d": "5", "t": "2026-01-05 09:00:00", "u": "2026-01-05 10:00:00"]
        for (query, expected) in [
            ("aLT_FIELDb", Truth.matches), ("aGT_FIELDb", .fails), ("aGT_OR_EQUALS_FIELDd", .matches),
            ("aLT_OR_EQUALS_FIELDc", .unknown),
            ("aSAMEASd", .matches), ("aSAMEASb", .fails), ("aNSAMEASb", .matches), ("aSAMEASnosuch", .unknown),
            ("tLT_FIELDu", .matches),
            ("tSAMEASu@day", .unknown), ("tMORETHANu@day@after@3", .fails),
        ] {
            #expect(try EncodedQuery(parsing: query).judge(row) == expected, "\(query)")
        }
    }

    @Test func `a missing field, a keyword and a related list have an unknown verdict`() throws {
        let row: JSON = ["a": "1", "comments": "", "sys_id": .string(Self.ada)]
        for (query, expected) in [
            ("caller_id.name=x", Truth.unknown), ("a=1^caller_id.name=x", .unknown), ("a=2^caller_id.name=x", .fails),
            ("a=1^ORcaller_id.name=x", .matches), ("a=2^NQcaller_id.name=x", .unknown), ("a=2^NQa=3", .fails),
            ("a=2^NQa=1", .matches),
            ("123TEXTQUERY321=mail", .unknown), ("a=1^RLQUERYt.task,>=1^ENDRLQUERY", .unknown), ("commentsLIKEx", .unknown),
            ("commentsISNOTEMPTY", .unknown), ("sys_id>\(Self.bob)", .fails), ("sys_id<\(Self.bob)", .matches),
            ("sys_idIN\(Self.bob),\(Self.ada)", .matches),
        ] {
            #expect(try EncodedQuery(parsing: query).judge(row) == expected, "\(query)")
        }
    }

    @Test func `a condition that may mean a label does not fail by the value alone`() throws {
        let row: JSON = [
            "state": ["value": "2", "display_value": "In Progress"], "who": ["value": .string(Self.ada), "display_value": "Ada"],
        ]
        #expect(try EncodedQuery(parsing: "state=In Progress").judge(row) == .unknown)
        #expect(try EncodedQuery(parsing: "state=Closed").judge(row) == .fails)
        #expect(try EncodedQuery(parsing: "state=2^whoLIKEAda").judge(row) == .unknown)
    }

    @Test func `every row matches the query of all`() { #expect(EncodedQuery.all.judge([:]) == .matches) }

    @Test func `a verdict agrees with a naive reading of the text, and a combination with both parts`() throws {
        var random = SeededRandom(seed: 11)
        var decided = 0
        for _ in 0..<10_000 {
            let first = Naive.query(&random)
            let second = Naive.query(&random)
            let query = try EncodedQuery(parsing: first)
            let other = try EncodedQuery(parsing: second)
            var row: [String: String] = [:]
            for field in Naive.fields { row[field] = Naive.values.randomElement(using: &random)! }
            let json = JSON.object(JSON.Object(row.map { ($0.key, .string($0.value)) }))
            let (holds, otherHolds) = (Naive.holds(first, row), Naive.holds(second, row))
            let verdict = query.judge(json)
            #expect(verdict == .unknown || verdict == Truth(holds), "\(first) of \(row)")
            decided += verdict == .unknown ? 0 : 1
            let both = query.and(other)
            #expect(Naive.holds(both.text, row) == (holds && otherHolds), "\(first) and \(second)")
            #expect(Naive.holds(query.or(other).text, row) == (holds || otherHolds), "\(first) or \(second)")
            #expect(both.order.isEmpty)
        }
        #expect(decided > 7000)
    }
}

/// The meaning of queries, by a reading of their text that is independent of the parser.
private enum Naive {
    static let fields = ["a", "b", "c"]
    static let values = ["", "1", "2", "10", "x", "xy", "y^z", "2026-01-05 09:00:00", "2026-01-05 10:00:00"]
    static let operators = ["=", "!=", "LIKE", "STARTSWITH", "IN", "NOT IN", ">", "<=", "ISEMPTY", "ISNOTEMPTY"]

    static func query(_ random: inout SeededRandom) -> String {
        var text = condition(&random)
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            text += ["^", "^OR", "^NQ"].randomElement(using: &random)! + condition(&random)
        }
        return text + (random.oneIn(3) ? "^ORDERBYa" : "")
    }

    private static func condition(_ random: inout SeededRandom) -> String {
        let how = operators.randomElement(using: &random)!
        let field = fields.randomElement(using: &random)!
        if how.hasPrefix("IS") { return field + how }
        var value = values.dropFirst().randomElement(using: &random)!.replacing("^", with: "^^")
        if how.hasSuffix("IN") { value += "," + values[1 + Int.random(in: 0..<4, using: &random)] }
        return field + how + value
    }

    static func holds(_ text: String, _ row: [String: String]) -> Bool {
        let marked = text.replacing("^^", with: "\u{1}").split(separator: "^ORDERBY")[0]
        return marked.split(separator: "^NQ").contains { group in
            group.replacing("^OR", with: "\u{2}").split(separator: "^").allSatisfy { term in
                term.split(separator: "\u{2}").contains { holds(condition: String($0).replacing("\u{1}", with: "^"), row) }
            }
        }
    }

    private static func holds(condition: String, _ row: [String: String]) -> Bool {
        let raw = row[String(condition.first!)]!
        let rest = condition.dropFirst()
        let how = operators.sorted { $0.count > $1.count }.first { rest.hasPrefix($0) }!
        let value = String(rest.dropFirst(how.count))
        let list = value.split(separator: ",").map(String.init)
        let isLess = Int(raw).flatMap { left in Int(value).map { left < $0 } } ?? (raw < value)
        return switch how {
        case "=": raw == value
        case "!=": raw != value
        case "LIKE": raw.contains(value)
        case "STARTSWITH": raw.hasPrefix(value)
        case "IN": list.contains(raw)
        case "NOT IN": !list.contains(raw)
        case ">": !raw.isEmpty && raw != value && !isLess
        case "<=": !raw.isEmpty && (raw == value || isLess)
        case "ISEMPTY": raw.isEmpty
        default: !raw.isEmpty
        }
    }
}
