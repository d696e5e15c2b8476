import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopRules

enum Operations {
    static let all: [Operation] = reading + trials + acting + workbench + backTests

    static let maxRows = 1000

    static let limit = Operation.Parameter("limit", "The most rows; 100 by default.", .count(most: maxRows))
    static let before = Operation.Parameter("before", "Only rows before this place: `next` of the previous page.", .place)
    static let since = Operation.Parameter("since", "Only rows newer than this, such as `7d`.", .span)

    static func find(_ method: String, _ path: some Collection<String>) throws(Problem) -> (Operation, [String: String]) {
        var fitting = all.compactMap { operation in PathPattern.values(operation.path, in: path).map { (operation, $0) } }
        // Prefer a path without parameters.
        if fitting.contains(where: { $0.1.isEmpty }) { fitting.removeAll { !$0.1.isEmpty } }
        if let found = fitting.first(where: { $0.0.method.rawValue == method || (method == "HEAD" && $0.0.method == .get) }) {
            return found
        }
        let methods = fitting.map(\.0.method.rawValue)
        if methods.isEmpty { throw Problem(404, "The API has no such address: /api/v1/openapi.json lists all.") }
        let allow = methods.joined(separator: ", ")
        throw Problem(405, "This address is for \(allow), not for \(method).", allow: allow)
    }

    /// The content of an answer with a page of rows.
    static func paged(_ name: String, _ item: String, _ more: [(String, Schema)] = []) -> Operation.Content {
        .json(
            .object(
                [
                    (name, .list(.named(item))),
                    ("next", .nullable(.integer("The next page's `before`; null after the last one."))),
                ] + more))
    }

    /// The answer's member that says how far a search went.
    static let seen: (String, Schema) = ("seen", .integer("How many rows were evaluated; the next page continues after them."))

    /// The answer's member that counts the rows for which the condition failed.
    static let failed: (String, Schema) = (
        "failed",
        .nullable(
            .object([
                ("count", .integer("How many were left out because the condition failed for them.")),
                ("error", .text("The first error.")),
            ]))
    )
}
