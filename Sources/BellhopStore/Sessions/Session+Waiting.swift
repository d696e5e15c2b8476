import BellhopCore

extension Session {
    /// A delivery's state, given those it waits for.
    private enum Standing: Hashable {
        /// All of them are done.
        case free
        /// One is not; later deliveries of its rule in its lane wait behind it.
        case waiting
        /// One waits for a person, perhaps for days: meanwhile this delivery blocks no others.
        case aside
        /// One was given up.
        case stopped
    }

    private struct Follower {
        var id: Int64
        var standing: Standing
        var lane: String
    }

    private static let stopped = Failure(.stopped, .giveUp, "An earlier step of the rule is dead.")

    /// Makes a delivery that was just inserted as waiting wait for its existing predecessors.
    func wait(_ id: Int64, _ delivery: Delivery) throws {
        var statement = try prepare(SQL.Waiting.insert)
        for predecessor in delivery.after {
            try statement.bind(":delivery", id)
            try statement.bind(":name", key: predecessor.text)
            try statement.run()
        }
        try stand(id, try standing(of: id), at: delivery.createdAt)
        try reorder(delivery.lane)
    }

    /// Frees, stops or makes wait again the deliveries that directly or indirectly wait for a changed one.
    func settleFollowers(of id: Int64, at now: Timestamp) throws {
        var changed = [id]
        while let id = changed.popLast() {
            for follower in try followers(of: id) {
                let standing = try standing(of: follower.id)
                guard standing != follower.standing else { continue }
                try stand(follower.id, standing, at: now)
                try reorder(follower.lane)
                changed.append(follower.id)
            }
        }
    }

    /// Deletes a delivery's waits, so that nothing revives it.
    func forgetWaits(of id: Int64) throws {
        var statement = try prepare(SQL.Waiting.forget)
        try statement.bind(":id", id)
        try statement.run()
    }

    /// Finds the heads of the lanes again in which a delivery waits.
    func reorder(barredAmong deliveries: [Delivery]) throws {
        for lane in Set(deliveries.map(\.lane)) {
            if try isBarred(lane) { try reorder(lane) }
        }
    }

    // Parts.

    private func isBarred(_ lane: String) throws -> Bool {
        var statement = try prepare(SQL.Waiting.laneBars)
        try statement.bind(":lane", lane)
        return try statement.next() && statement.int(0) == 1
    }

    private func followers(of id: Int64) throws -> [Follower] {
        var statement = try prepare(SQL.Waiting.followers)
        try statement.bind(":id", id)
        var followers: [Follower] = []
        while try statement.next() {
            let standing: Standing =
                switch try Self.state(statement.text(1)) {
                case .waiting: statement.int(2) == 1 ? .waiting : .aside
                case .dropped: .stopped
                case .available, .running, .done, .dead, .held, .shadow: .free
                }
            followers.append(Follower(id: statement.int(0), standing: standing, lane: statement.text(3)))
        }
        return followers
    }

    private func standing(of id: Int64) throws -> Standing {
        var statement = try prepare(SQL.Waiting.standing)
        try statement.bind(":id", id)
        guard try statement.next() else { return .free }
        if statement.int(0) == 1 { return .stopped }
        if statement.int(1) == 1 { return .aside }
        return statement.int(2) == 1 ? .waiting : .free
    }

    private func stand(_ id: Int64, _ standing: Standing, at now: Timestamp) throws {
        switch standing {
        case .free:
            var statement = try prepare(SQL.Waiting.free)
            try statement.bind(":now", now)
            try statement.bind(":id", id)
            try statement.run()
            try forgetWaits(of: id)
        case .waiting, .aside:
            var statement = try prepare(SQL.Waiting.wait)
            try statement.bind(":bars", standing == .waiting)
            try statement.bind(":id", id)
            try statement.run()
        case .stopped:
            var statement = try prepare(SQL.Waiting.stop)
            try statement.bind(":now", now)
            try statement.bind(":failure", text: Self.stopped.stored.encoded())
            try statement.bind(":id", id)
            try statement.run()
        }
    }
}
