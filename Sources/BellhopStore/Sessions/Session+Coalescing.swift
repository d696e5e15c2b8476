import BellhopCore

/// One message in the place of many that wait.
extension Session {
    /// The most deliveries that become one, so that no transaction lasts long.
    private static let most = 1000

    /// Replaces the messages that are due for a receiver by one, if there are more than `above`. They are done, and the new delivery waits in their place. Returns how many it replaced.
    func coalesce(receiver: String, above: Int, at now: Timestamp) throws -> Int {
        var counting = try prepare(SQL.Coalescing.count)
        try counting.bind(":receiver", receiver)
        try counting.bind(":now", now)
        try counting.bind(":limit", above + 1)
        guard try counting.next(), counting.int(0) > above else { return 0 }
        counting.stop()
        var heads = try heads(of: receiver, at: now)
        guard heads.count > 1, let first = heads.first?.delivery else { return 0 }
        let receipt = Receipt("sent with others in delivery \(Delivery.coalescing(first).text)")
        var messages: [Message] = []
        var last = first
        var count = 0
        // The end of a delivery brings up the next of its lane.
        while !heads.isEmpty, count < Self.most {
            for (id, delivery) in heads {
                if messages.count < Message.mostLines, case .message(let message) = delivery.arguments {
                    messages.append(message)
                }
                last.expires = last.expires.flatMap { one in delivery.expires.map { max($0, one) } }
                last.hop = max(last.hop, delivery.hop)
                try done(id, receipt, at: now)
                try promote(delivery.lane)
                try settleFollowers(of: id, at: now)
            }
            count += heads.count
            heads = try self.heads(of: receiver, at: now)
        }
        try insert([
            .coalescing(Message.coalesced(messages, of: count), insteadOf: first, expires: last.expires, hop: last.hop, at: now)
        ])
        return count
    }

    private func heads(of receiver: String, at now: Timestamp) throws -> [(id: Int64, delivery: Delivery)] {
        var statement = try prepare(SQL.Coalescing.heads)
        try statement.bind(":receiver", receiver)
        try statement.bind(":now", now)
        try statement.bind(":limit", Self.most)
        var heads: [(id: Int64, delivery: Delivery)] = []
        while try statement.next() {
            let row = DeliveryRow(statement)
            if row.problem == nil { heads.append((statement.int(DeliveryRow.width), row.delivery)) }
        }
        return heads.sorted { $0.id < $1.id }
    }
}
