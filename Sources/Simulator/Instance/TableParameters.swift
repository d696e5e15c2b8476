/// The query parameters of a Table API request.
struct TableParameters: Sendable {
    enum Display: String, Sendable { case raw = "false", display = "true", all }

    var query = EncodedQuery()
    /// Nil for all columns.
    var fields: [FieldPath]?
    var limit = 10_000
    var offset = 0
    var display = Display.raw
    var showsLinks = true
    var counts = true
    var showsPages = true
    /// Whether the values of a write are display values.
    var inputsDisplay = false
    /// Whether the query has unknown names, on an instance that answers such a query with no rows.
    var returnsNoRows = false
    /// `name=value` pairs, which compare display values as well.
    var pairs: [(path: FieldPath, value: String)] = []

    private static let ignored: Set<String> = ["sysparm_query_category", "sysparm_view", "sysparm_query_no_domain"]

    init(_ call: InstanceCall, table: String, invalidReturnsNoRows: Bool) throws(QueryProblem) {
        let sloppy = invalidReturnsNoRows || call.quirks.contains(.sloppyQueries)
        var text: String?
        for (name, value) in call.request.parameters {
            switch name {
            case "sysparm_query": text = value
            case "sysparm_fields":
                var paths: [FieldPath] = []
                for name in value.split(separator: ",").map({ String($0.filter { $0 != " " }) }) {
                    do { paths.append(try EncodedQuery.path(name, in: table)) } catch { if !sloppy { throw error } }
                }
                fields = paths
            case "sysparm_limit": limit = try TableParameters.number(value, name)
            case "sysparm_offset": offset = try TableParameters.number(value, name)
            case "sysparm_display_value":
                guard let known = Display(rawValue: value) else {
                    throw QueryProblem(message: "sysparm_display_value is true, false or all, not '\(value)'")
                }
                display = known
            case "sysparm_exclude_reference_link": showsLinks = try !TableParameters.flag(value, name)
            case "sysparm_no_count": counts = try !TableParameters.flag(value, name)
            case "sysparm_suppress_pagination_header": showsPages = try !TableParameters.flag(value, name)
            case "sysparm_input_display_value": inputsDisplay = try TableParameters.flag(value, name)
            case _ where TableParameters.ignored.contains(name): continue
            case _ where name.hasPrefix("sysparm_"):
                if !sloppy { throw QueryProblem(message: "unknown query parameter '\(name)'") }
            default:
                do { pairs.append((try EncodedQuery.path(name, in: table), value)) } catch { if !sloppy { throw error } }
            }
        }
        if let text {
            guard pairs.isEmpty || sloppy else {
                throw QueryProblem(message: "sysparm_query and name=value pairs exclude each other")
            }
            do throws(QueryProblem) {
                query = try EncodedQuery(
                    text, table: table, user: call.user, sloppy: sloppy && !invalidReturnsNoRows, at: call.now)
            } catch {
                guard invalidReturnsNoRows else { throw error }
                returnsNoRows = true
            }
        }
    }

    private static func number(_ text: String, _ name: String) throws(QueryProblem) -> Int {
        guard let number = Int(text), number >= 0 else { throw QueryProblem(message: "\(name) is not a number: '\(text)'") }
        return min(number, 1 << 40)
    }

    private static func flag(_ text: String, _ name: String) throws(QueryProblem) -> Bool {
        guard text == "true" || text == "false" else { throw QueryProblem(message: "\(name) is true or false, not '\(text)'") }
        return text == "true"
    }
}
