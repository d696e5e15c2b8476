import BellhopCore

extension Session {
    /// A delivery's state, given those it waits for.
    private enum Readiness: Hashable {
        /// All of them are done.
        case free
        /// At least one is not done; later deliveries of this one's rule and lane wait behind this one.
        case waiting
        /// At least one waits for a person, perhaps for days: meanwhile this delivery blocks no others.
        case aside
        /// At least one was given up.
        case stopped
    }

    private struct Follower {
        var id: Int64
        /// Whether a quiet time holds it. Then only a predecessor that was given up matters.
        var isQuiet: Bool
        var readiness: Readiness
        var lane: String
    }

    private static let stopped = Failure(.stopped, .giveUp, "An earlier step of the rule is dead or was dropped.")

    /// Records which existing deliveries a newly inserted one waits for. One that a quiet time holds waits for that first.
    func wait(_ id: Int64, _ delivery: Delivery) throws {
        var statement = try prepare(SQL.Predecessors.insert)
        for predecessor in delivery.after {
            try statement.bind(":delivery", id)
            try statement.bind(":name", key: predecessor.text)
            try statement.run()
        }
        if case .quiet = delivery.initial { return }
        try set(id, to: try readiness(of: id), at: delivery.createdAt)
        try reorder(delivery.lane)
    }

    /// Sets a delivery's state by the present states of those it waits for.
    func updateState(of id: Int64, at now: Timestamp) throws { try set(id, to: try readiness(of: id), at: now) }

    /// Whether all that a delivery waits for are done.
    func isFree(_ id: Int64) throws -> Bool { try readiness(of: id) == .free }

    /// Updates the deliveries that wait, directly or indirectly, for a changed one: each becomes free, continues to wait, or is stopped.
    func updateFollowers(of id: Int64, at now: Timestamp) throws {
        var changed = [id]
        while let id = changed.popLast() {
            for follower in try followers(of: id) {
                let readiness = try readiness(of: follower.id)
                if follower.isQuiet, readiness == .free { try dropKeptBack(settledBy: follower.id, at: now) }
                guard readiness != follower.readiness, readiness == .stopped || !follower.isQuiet else { continue }
                try set(follower.id, to: readiness, at: now)
                try reorder(follower.lane)
                changed.append(follower.id)
            }
        }
    }

    /// Drops a delivery, and those that wait for it.
    func drop(_ id: Int64, _ failure: Failure, at now: Timestamp) throws {
        try run(SQL.Predecessors.stop, (":now", now), (":failure", failure.stored.encoded()), (":id", id))
        try forgetWaits(of: id)
        try updateFollowers(of: id, at: now)
    }

    /// Deletes a delivery's waits, so that no predecessor makes it available again.
    func forgetWaits(of id: Int64) throws { try run(SQL.Predecessors.forget, (":id", id)) }

    /// Finds new heads for the lanes in which a delivery waits.
    func reorder(barredAmong deliveries: [Delivery]) throws {
        for lane in Self.distinct(deliveries.map(\.lane)) {
            if try exists(SQL.Predecessors.laneBars, (":lane", lane)) { try reorder(lane) }
        }
    }

    // Parts.

    private func followers(of id: Int64) throws -> [Follower] {
        try rows(SQL.Predecessors.followers, (":id", id)) { row in
            let state = try Self.state(row.text(1))
            let readiness: Readiness =
                switch state {
                case .waiting: row.int(2) == 1 ? .waiting : .aside
                case .dropped: .stopped
                case .available, .running, .done, .joined, .dead, .held, .shadow, .silenced, .quiet: .free
                }
            return Follower(id: row.int(0), isQuiet: state == .quiet, readiness: readiness, lane: row.text(3))
        }
    }

    private func readiness(of id: Int64) throws -> Readiness {
        var statement = try prepare(SQL.Predecessors.readiness, (":id", id))
        guard try statement.next() else { return .free }
        if statement.int(0) == 1 { return .stopped }
        if statement.int(1) == 1 { return .aside }
        return statement.int(2) == 1 ? .waiting : .free
    }

    private func set(_ id: Int64, to readiness: Readiness, at now: Timestamp) throws {
        switch readiness {
        case .free:
            try run(SQL.Predecessors.free, (":now", now), (":id", id))
            try forgetWaits(of: id)
            try dropKeptBack(settledBy: id, at: now)
        case .waiting, .aside: try run(SQL.Predecessors.wait, (":bars", readiness == .waiting), (":id", id))
        case .stopped: try run(SQL.Predecessors.stop, (":now", now), (":failure", Self.stopped.stored.encoded()), (":id", id))
        }
    }
}

extension SQL {
    /// Deliveries that wait for other deliveries. Only rules with `on_error: stop` fill these tables.
    enum Predecessors {
        /// Makes a delivery wait for a predecessor, if that still exists.
        static let insert = """
            INSERT OR IGNORE INTO delivery_wait (after, delivery)
            SELECT id, :delivery FROM delivery WHERE \(Deliveries.isNamed) AND id < :delivery
            """

        static let followers = """
            SELECT delivery.id, delivery.state, delivery.bars, delivery.lane
            FROM delivery_wait CROSS JOIN delivery ON delivery.id = delivery_wait.delivery
            WHERE delivery_wait.after = :id
            ORDER BY delivery_wait.delivery
            """

        /// Whether a predecessor was given up, whether one waits for a person (itself or through others), and whether one is not done.
        static let readiness = """
            SELECT
                coalesce(max(delivery.state IN ('dead', 'dropped')), 0),
                coalesce(max(delivery.state = 'held' OR (delivery.state = 'waiting' AND delivery.bars = 0)), 0),
                coalesce(max(delivery.state NOT IN ('done', 'joined', 'shadow', 'silenced', 'quiet')), 0)
            FROM delivery_wait CROSS JOIN delivery ON delivery.id = delivery_wait.after
            WHERE delivery_wait.delivery = :id
            """

        static let free = """
            UPDATE delivery SET
                state = 'available', head = 0, bars = 0, run_at = max(run_at, :now), finished = NULL, failure = NULL
            WHERE id = :id
            """

        static let wait = """
            UPDATE delivery SET state = 'waiting', head = 0, bars = :bars, finished = NULL, failure = NULL WHERE id = :id
            """

        static let stop = """
            UPDATE delivery SET state = 'dropped', head = 0, bars = 0, finished = :now, failure = :failure WHERE id = :id
            """

        static let forget = "DELETE FROM delivery_wait WHERE delivery = :id"

        static let forgetFollowers = "DELETE FROM delivery_wait WHERE after = :id"

        static let anyBars = "SELECT EXISTS (SELECT 1 FROM delivery WHERE bars = 1)"

        static let laneBars = "SELECT 1 FROM delivery WHERE lane = :lane AND bars = 1"
    }
}
