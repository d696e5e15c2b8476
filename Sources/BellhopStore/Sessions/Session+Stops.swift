import BellhopCore

/// Why receivers get no deliveries.
extension Session {
    func stops() throws -> [ReceiverStop] {
        try rows(SQL.Deliveries.stops) { row in
            guard let cause = ReceiverStop.Cause(rawValue: row.text(1)) else { return nil }
            return ReceiverStop(
                receiver: row.text(0), cause: cause, since: row.time(2), until: row.optionalTime(3),
                interval: .microseconds(row.int(4)), reason: row.text(5))
        }
    }

    func keep(_ stop: ReceiverStop) throws { try run(SQL.Deliveries.stop, stop) }

    /// Pauses a receiver, with an event and a message. Does nothing if it is already paused for the same cause or was resumed since, so
    /// that each pause is reported once, however many attempts fail.
    ///
    /// - Parameter person: who paused it; ignored for a pause that Bellhop itself makes.
    @discardableResult
    func pause(_ pause: ReceiverPause, by person: Person? = nil) throws -> Bool {
        guard try run(SQL.Deliveries.pauseReceiver, pause.stop) == 1 else { return false }
        try append([pause.event])
        if let notice = pause.notice { try insert([notice]) }
        if pause.stop.cause == .person {
            let facts: JSON.Object = ["receiver": .string(pause.stop.receiver), "reason": .string(pause.stop.reason)]
            try audit(.pause, by: person, facts, at: pause.stop.since)
        }
        return true
    }

    func resume(_ receiver: String, by person: Person?, at now: Timestamp) throws -> Bool {
        let wasPaused = try run(SQL.Deliveries.resumeReceiver, (":now", now), (":receiver", receiver)) > 0
        try run(SQL.Deliveries.resumption, (":receiver", receiver), (":now", now))
        guard wasPaused else { return false }
        try append([.receiverResumed(receiver, at: now)])
        try audit(.resume, by: person, ["receiver": .string(receiver)], at: now)
        return true
    }

    @discardableResult
    private func run(_ sql: String, _ stop: ReceiverStop) throws -> Int {
        return try run(
            sql, (":receiver", stop.receiver), (":cause", stop.cause.rawValue), (":since", stop.since), (":until", stop.until),
            (":interval", stop.interval.wholeMicroseconds), (":reason", stop.reason))
    }
}
