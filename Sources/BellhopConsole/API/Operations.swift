import BellhopAgent
import BellhopCore
import BellhopEngine
import BellhopRules

/// All operations of the API.
enum Operations {
    static let all: [Operation] = looking + trying + acting + workbench + backTests

    /// The most rows of one answer.
    static let mostRows = 1000

    static let limit = Operation.Parameter("limit", "How many at most; 100 without it.", .count(most: mostRows))
    static let before = Operation.Parameter("before", "Only those before this place: `next` of the page before.", .place)
    static let since = Operation.Parameter("since", "Only those of this span of time before now, such as `7d`.", .span)

    /// The operation for a request.
    static func find(_ method: String, _ path: some Collection<String>) throws(Problem) -> (Operation, [String: String]) {
        var fitting = all.compactMap { operation in operation.values(in: path).map { (operation, $0) } }
        // A path without parameters comes before one with.
        if fitting.contains(where: { $0.1.isEmpty }) { fitting.removeAll { !$0.1.isEmpty } }
        if let found = fitting.first(where: { $0.0.method.rawValue == method || (method == "HEAD" && $0.0.method == .get) }) {
            return found
        }
        let methods = fitting.map(\.0.method.rawValue)
        if methods.isEmpty { throw Problem(404, "The API has no such address: /api/v1/openapi.json lists all.") }
        let allow = methods.joined(separator: ", ")
        throw Problem(405, "This address is for \(allow), not for \(method).", allow: allow)
    }

    /// A page of rows, newest first, with the address of the next page.
    static func page(_ name: String, _ rows: [JSON], limit: Int, place: (JSON) -> Int64?) -> ConsoleAnswer {
        let next = rows.count == limit ? rows.first.flatMap(place) : nil
        return .json([name: .array(rows.reversed()), "next": next.map(JSON.int) ?? .null])
    }

    static func paged(_ name: String, _ item: String, _ more: [(String, Schema)] = []) -> Operation.Content {
        .json(
            .object(
                [
                    (name, .list(.named(item))),
                    ("next", .nullable(.integer("The next page's `before`; null after the last one."))),
                ] + more))
    }

    /// The member of a search's answer about how far it went.
    static let seen: (String, Schema) = ("seen", .integer("How many it looked at; the next page goes on behind them."))

    /// The member of a search's answer about what its condition failed for.
    static let failed: (String, Schema) = (
        "failed",
        .nullable(
            .object([
                ("count", .integer("How many were left out because the condition failed for them.")),
                ("error", .text("The first error.")),
            ]))
    )
}
