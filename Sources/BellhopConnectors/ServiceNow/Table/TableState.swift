import BellhopCore
import Synchronization

/// What a table's polls learn about the server for later ones: its clock, and how many rows it can return at once.
///
/// A class over a lock, because sources are values and this outlives a poll.
final class TableState: Sendable {
    private struct Learnt {
        /// How far the server's clock is ahead.
        var ahead: Duration?
        var limit: Int
        var good = 0
        /// Since when the server has counted rows but shown none.
        var hiding: Timestamp?
    }

    private let learnt: Mutex<Learnt>
    private let most: Int
    /// The minimal page size.
    static let least = 10

    /// - Parameter page: the page size while the server can handle it.
    init(page: Int) {
        most = page
        learnt = Mutex(Learnt(limit: page))
    }

    var limit: Int { learnt.withLock { $0.limit } }

    /// Halves the page; false if it is minimal already.
    func shrink() -> Bool {
        learnt.withLock { learnt in
            guard learnt.limit > Self.least else { return false }
            learnt.limit = max(Self.least, learnt.limit / 2)
            learnt.good = 0
            return true
        }
    }

    /// Records a successful page: after every tenth, pages grow by a quarter, up to the original size.
    func succeed() {
        learnt.withLock { learnt in
            guard learnt.limit < most else { return }
            learnt.good += 1
            guard learnt.good >= 10 else { return }
            learnt.good = 0
            learnt.limit = min(most, learnt.limit + max(learnt.limit / 4, 1))
        }
    }

    /// Records that rows are counted but none is shown; returns since when.
    func hidesRows(at now: Timestamp) -> Timestamp {
        learnt.withLock { learnt in
            let since = learnt.hiding ?? now
            learnt.hiding = since
            return since
        }
    }

    func showsRows() { learnt.withLock { $0.hiding = nil } }

    /// The server's time, as far as known.
    func serverTime(_ now: Timestamp) -> Timestamp { now + (learnt.withLock { $0.ahead } ?? .zero) }

    func note(_ reply: ServiceNowReply, at now: Timestamp) {
        guard let time = reply.serverTime else { return }
        learnt.withLock { $0.ahead = time - now }
    }
}

/// The position of a table's polls, stored with each poll.
struct TableCursor: Sendable, Hashable {
    /// The latest row time seen; nil if rows have none.
    var watermark: Timestamp?
    /// The last walk over all rows, by the server's clock.
    var reconciled: Timestamp?
    /// The fields of each row: rows read with other fields cannot be compared.
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
