import BellhopCore

extension Session {
    func state(for keys: [StateKey]) throws -> RuleState {
        var state: RuleState = [:]
        var statement = try prepare(SQL.State.read)
        for key in keys {
            try statement.bind(":rule", key.rule)
            try statement.bind(":kind", key.kind.rawValue)
            try statement.bind(":key", key.key)
            while try statement.next() { state[key.at(statement.text(0))] = try statement.json(1) }
        }
        return state
    }

    /// Throws ``RouteConflict`` if a value is not the expected one.
    func write(_ writes: [StateWrite], at now: Timestamp) throws {
        guard !writes.isEmpty else { return }
        var set = try prepare(SQL.State.set)
        var replace = try prepare(SQL.State.replace)
        var delete = try prepare(SQL.State.delete)
        for write in writes {
            let isDone: Bool
            switch (write.change, write.expected) {
            case (.set(let value, let expires), .value(let expected)):
                try Self.bind(write.key, to: &replace)
                try replace.bind(":expected", text: expected.encoded())
                try replace.bind(":value", text: value.encoded())
                try replace.bind(":expires", expires)
                try replace.bind(":at", now)
                isDone = try replace.run() == 1
            case (.set(let value, let expires), .any), (.set(let value, let expires), .absent):
                try Self.bind(write.key, to: &set)
                try set.bind(":value", text: value.encoded())
                try set.bind(":expires", expires)
                try set.bind(":at", now)
                try set.bind(":any", write.expected == .any)
                isDone = try set.run() == 1
            case (.delete, let expected):
                try Self.bind(write.key, to: &delete)
                var value: [UInt8]?
                if case .value(let expected) = expected { value = expected.encoded() }
                try delete.bind(":expected", text: value)
                let count = try delete.run()
                isDone = expected == .any || count == (expected == .absent ? 0 : 1)
            }
            if !isDone { throw RouteConflict.state(write.key) }
        }
    }

    private static func bind(_ key: StateKey, to statement: inout Prepared) throws {
        try statement.bind(":rule", key.rule)
        try statement.bind(":kind", key.kind.rawValue)
        try statement.bind(":key", key.key)
        try statement.bind(":element", key.element)
    }
}
