import BellhopCore
import Synchronization

/// Facts about the server that the polls of a table use again: its clock, and how many rows it can return at once.
///
/// A class over a lock, because sources are values and this outlives a poll.
final class TableState: Sendable {
    private struct Facts {
        /// How far the server's clock is ahead.
        var ahead: Duration?
        /// The current page size.
        var limit: Int
        /// The successful pages since the page size last changed.
        var successes = 0
        /// Since when the server has counted rows but shown none.
        var hiding: Timestamp?
    }

    private let facts: Mutex<Facts>
    private let maxPage: Int
    /// The minimal page size.
    static let minPage = 10

    /// - Parameter page: the page size while the server can handle it.
    init(page: Int) {
        maxPage = page
        facts = Mutex(Facts(limit: page))
    }

    var limit: Int { facts.withLock { $0.limit } }

    /// Halves the page; false if it is minimal already.
    func shrink() -> Bool {
        facts.withLock { facts in
            guard facts.limit > Self.minPage else { return false }
            facts.limit = max(Self.minPage, facts.limit / 2)
            facts.successes = 0
            return true
        }
    }

    /// Records a successful page: after every tenth, pages grow by a quarter, up to the original size.
    func succeed() {
        facts.withLock { facts in
            guard facts.limit < maxPage else { return }
            facts.successes += 1
            guard facts.successes >= 10 else { return }
            facts.successes = 0
            facts.limit = min(maxPage, facts.limit + max(facts.limit / 4, 1))
        }
    }

    /// Records that the server counts rows but shows none; returns since when.
    func hidesRows(at now: Timestamp) -> Timestamp {
        facts.withLock { facts in
            let since = facts.hiding ?? now
            facts.hiding = since
            return since
        }
    }

    func showsRows() { facts.withLock { $0.hiding = nil } }

    /// The server's time, or the local time while the difference is unknown.
    func serverTime(_ now: Timestamp) -> Timestamp { now + (facts.withLock { $0.ahead } ?? .zero) }

    func note(_ reply: ServiceNowReply, at now: Timestamp) {
        guard let time = reply.serverTime else { return }
        facts.withLock { $0.ahead = time - now }
    }
}

/// The position of a table's polls, stored with each poll.
struct TableCursor: Sendable, Hashable {
    /// The latest time of a row; nil if no row had a time.
    var watermark: Timestamp?
    /// When all rows were last walked, by the server's clock.
    var reconciled: Timestamp?
    /// A fingerprint of the rows' fields: rows with other fields cannot be compared.
    var shape = ""
    var journal: JournalCursor?

    init() {}

    init?(_ cursor: Cursor?) {
        guard let json = cursor?.value, json.asObject != nil else { return nil }
        watermark = json["watermark"]?.asInt.map { Timestamp(microseconds: $0) }
        reconciled = json["reconciled"]?.asInt.map { Timestamp(microseconds: $0) }
        shape = json["shape"]?.asString ?? ""
        journal = json["journal"].flatMap(JournalCursor.init(json:))
    }

    var cursor: Cursor {
        var members: JSON.Object = ["shape": .string(shape)]
        if let watermark { members["watermark"] = .int(watermark.microseconds) }
        if let reconciled { members["reconciled"] = .int(reconciled.microseconds) }
        if let journal { members["journal"] = journal.json }
        return Cursor(.object(members))
    }
}

/// Display names of task tables, for answers without display values.
enum ClassNames {
    private static let labels = [
        "sc_task": "Catalog Task", "sc_req_item": "Requested Item", "sc_request": "Request", "kb_submission": "KB Submission",
        "hr_case": "HR Case", "sn_customerservice_case": "Case", "std_change_proposal": "Standard Change Proposal",
    ]

    /// `Change Request` for `change_request`.
    static func label(of table: String) -> String {
        labels[table]
            ?? table.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: " ")
    }
}
