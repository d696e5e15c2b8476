import BellhopCore

extension Session {
    func note(_ key: String) throws -> JSON? {
        var statement = try prepare(SQL.Notes.value)
        try statement.bind(":key", key)
        guard try statement.next() else { return Optional.none }  // a bare nil would be JSON's null
        return try statement.json(0)
    }

    func setNote(_ key: String, to value: JSON?) throws {
        if let value {
            var statement = try prepare(SQL.Notes.set)
            try statement.bind(":key", key)
            try statement.bind(":value", text: value.encoded())
            try statement.run()
        } else {
            var statement = try prepare(SQL.Notes.forget)
            try statement.bind(":key", key)
            try statement.run()
        }
    }
}
