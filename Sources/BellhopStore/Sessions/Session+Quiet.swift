import BellhopCore

/// Messages that quiet times hold, and their release.
extension Session {
    /// The most bytes of messages that are released together; at least one is.
    private static let mostHeld = 32 << 20

    func nextRelease() throws -> Timestamp? {
        var statement = try prepare(SQL.Quiet.next)
        return try statement.next() ? statement.optionalTime(0) : nil
    }

    func released(at now: Timestamp) throws -> [HeldMessage] {
        var first = try prepare(SQL.Quiet.first)
        try first.bind(":now", now)
        guard try first.next() else { return [] }
        var statement = try prepare(SQL.Quiet.held)
        try statement.bind(":end", first.time(0))
        try statement.bind(":receiver", first.text(1))
        try statement.bind(":limit", HeldMessage.most)
        var messages: [HeldMessage] = []
        var bytes = 0
        while bytes < Self.mostHeld, try statement.next() {
            bytes += statement.size(DeliveryRow.body)
            let delivery = DeliveryRow(statement).delivery
            let place = statement.int(DeliveryRow.width)
            messages.append(
                HeldMessage(
                    place: place, delivery: delivery, continues: try continues(delivery), waits: try waits(place, delivery)))
        }
        return messages
    }

    /// Throws ``ReleaseConflict`` or ``RouteConflict`` if the release was decided on something that has changed.
    func release(_ release: MessageRelease) throws {
        var check = try prepare(SQL.Quiet.isHeld)
        for (message, _) in release.fates {
            try check.bind(":id", message.place)
            try check.bind(":end", message.delivery.runAt)
            guard try check.next(), check.int(0) == 1 else { throw ReleaseConflict() }
            check.stop()
        }
        var silenced: [String: Int] = [:]
        let receipt = release.joined.map { Delivery.receipt(joinedIn: $0.id) }
        for (message, fate) in release.fates {
            let id = message.place
            switch fate {
            case .sent: try send(id, message.delivery.lane, at: release.at)
            case .joined:
                guard let receipt else { throw ReleaseConflict() }
                try done(id, receipt, at: release.at)
                try forgetWaits(of: id)
            case .silenced(let silence):
                var statement = try prepare(SQL.Quiet.silence)
                try statement.bind(":silence", silence)
                try statement.bind(":now", release.at)
                try statement.bind(":id", id)
                try statement.run()
                try forgetWaits(of: id)
                silenced[silence, default: 0] += 1
            case .dropped(let failure):
                var statement = try prepare(SQL.Quiet.drop)
                try statement.bind(":failure", text: failure.stored.encoded())
                try statement.bind(":now", release.at)
                try statement.bind(":id", id)
                try statement.run()
                try forgetWaits(of: id)
            case .held(let until):
                var statement = try prepare(SQL.Quiet.holdOn)
                try statement.bind(":until", until)
                try statement.bind(":id", id)
                try statement.run()
            }
        }
        if let joined = release.joined { try insert([joined]) }
        try count(keptBy: silenced)
    }

    /// Makes a held message available, or has it wait for the earlier steps of its run.
    func send(_ id: Int64, _ lane: String, at now: Timestamp) throws {
        var statement = try prepare(SQL.Quiet.send)
        try statement.bind(":now", now)
        try statement.bind(":id", id)
        try statement.run()
        try settle(id, at: now)
        try reorder(lane)
    }

    func quietStatus() throws -> [StoreStatus.QuietStatus] {
        var statement = try prepare(SQL.Quiet.all)
        var status: [StoreStatus.QuietStatus] = []
        while try statement.next() {
            status.append(
                StoreStatus.QuietStatus(receiver: statement.text(0), until: statement.time(1), count: Int(statement.int(2))))
        }
        return status
    }

    private func continues(_ delivery: Delivery) throws -> Bool {
        guard case .message(let message) = delivery.arguments, let conversation = message.conversation else { return false }
        var statement = try prepare(SQL.Quiet.continues)
        try statement.bind(":receiver", delivery.id.receiver)
        try statement.bind(":conversation", conversation)
        return try statement.next() && statement.int(0) == 1
    }

    private func waits(_ id: Int64, _ delivery: Delivery) throws -> Bool {
        if delivery.after.isEmpty { return false }
        var statement = try prepare(SQL.Quiet.waits)
        try statement.bind(":id", id)
        return try statement.next() && statement.int(0) == 1 && !isFree(id)
    }
}

/// A message is no longer held as it was when its release was decided.
struct ReleaseConflict: Error {}
