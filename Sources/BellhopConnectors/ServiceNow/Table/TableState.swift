import BellhopCore
import Synchronization

/// What polls of a table learn of its server for those that follow: how its clock stands, how many rows it bears at once.
///
/// A class over a lock, because sources are values and this outlives a poll.
final class TableState: Sendable {
    private struct Learnt {
        /// The server's clock before ours.
        var ahead: Duration?
        var limit: Int
        var good = 0
        /// Since when the server counts rows and shows none.
        var hiding: Timestamp?
    }

    private let learnt: Mutex<Learnt>
    private let most: Int
    /// A page is never asked to be smaller.
    static let least = 10

    /// - Parameter page: how many rows a page has while the server bears it.
    init(page: Int) {
        most = page
        learnt = Mutex(Learnt(limit: page))
    }

    var limit: Int { learnt.withLock { $0.limit } }

    /// Halves the page; false when it is as small as it gets.
    func shrink() -> Bool {
        learnt.withLock { learnt in
            guard learnt.limit > Self.least else { return false }
            learnt.limit = max(Self.least, learnt.limit / 2)
            learnt.good = 0
            return true
        }
    }

    /// Notes a page that went well: after every tenth pages grow by a quarter, until they are as large as they were.
    func succeed() {
        learnt.withLock { learnt in
            guard learnt.limit < most else { return }
            learnt.good += 1
            guard learnt.good >= 10 else { return }
            learnt.good = 0
            learnt.limit = min(most, learnt.limit + max(learnt.limit / 4, 1))
        }
    }

    /// Notes that rows are counted and none is shown; since when that is so.
    func hidesRows(at now: Timestamp) -> Timestamp {
        learnt.withLock { learnt in
            let since = learnt.hiding ?? now
            learnt.hiding = since
            return since
        }
    }

    func showsRows() { learnt.withLock { $0.hiding = nil } }

    /// The server's time, as well as it is known.
    func serverTime(_ now: Timestamp) -> Timestamp { now + (learnt.withLock { $0.ahead } ?? .zero) }

    func note(_ reply: ServiceNowReply, at now: Timestamp) {
        guard let time = reply.serverTime else { return }
        learnt.withLock { $0.ahead = time - now }
    }
}
