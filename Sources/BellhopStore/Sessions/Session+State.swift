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
        var insert = try prepare(SQL.State.insert)
        var update = try prepare(SQL.State.update)
        var updateValue = try prepare(SQL.State.updateValue)
        var delete = try prepare(SQL.State.delete)
        for write in writes {
            let isDone: Bool
            switch (write.change, write.expected) {
            case (.set(let value, let expires), .absent):
                isDone = try Self.set(&insert, write.key, value, expires, at: now) == 1
            case (.set(let value, let expires), .any):
                try update.bind(":expected", text: nil)
                if try Self.set(&update, write.key, value, expires, at: now) == 0 {
                    try Self.set(&insert, write.key, value, expires, at: now)
                }
                isDone = true
            case (.set(let value, let expires), .value(let expected)):
                let isAboutTheSame = value["event"] == expected["event"] && value["subject"] == expected["subject"]
                let text = expected.encoded()
                if isAboutTheSame {
                    try updateValue.bind(":expected", text: text)
                    isDone = try Self.set(&updateValue, write.key, value, expires, at: now) == 1
                } else {
                    try update.bind(":expected", text: text)
                    isDone = try Self.set(&update, write.key, value, expires, at: now) == 1
                }
            case (.delete, let expected):
                var text: [UInt8]?
                if case .value(let expected) = expected { text = expected.encoded() }
                try delete.bind(":expected", text: text)
                try Self.bind(write.key, to: &delete)
                let count = try delete.run()
                isDone = expected == .any || count == (expected == .absent ? 0 : 1)
            }
            if !isDone { throw RouteConflict.state(write.key) }
        }
    }

    @discardableResult
    private static func set(
        _ statement: inout Prepared, _ key: StateKey, _ value: JSON, _ expires: Timestamp?, at now: Timestamp
    ) throws -> Int {
        try bind(key, to: &statement)
        try statement.bind(":value", text: value.encoded())
        try statement.bind(":expires", expires)
        try statement.bind(":at", now)
        return try statement.run()
    }

    private static func bind(_ key: StateKey, to statement: inout Prepared) throws {
        try statement.bind(":rule", key.rule)
        try statement.bind(":kind", key.kind.rawValue)
        try statement.bind(":key", key.key)
        try statement.bind(":element", key.element)
    }
}
