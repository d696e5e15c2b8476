/// Reads server-sent events line by line (WHATWG HTML, 9.2.6).
struct ServerSentEvents: Sendable {
    struct Message: Sendable, Hashable {
        var type: String
        var data: String
        /// Its id, or that of the last one before it that has one.
        var id: String
    }

    private var lastID = ""
    /// The fields of the event that has begun.
    private var (id, type, data): (String?, String, [Substring]) = (nil, "", [])

    private mutating func endEvent() { (id, type, data) = (nil, "", []) }

    /// The event that ends with this line; nil if none does.
    mutating func read(_ line: String) -> Message? {
        let line = line.hasSuffix("\r") ? line.dropLast() : line[...]
        guard line.isEmpty else {
            let name = line.prefix { $0 != ":" }
            var value = line.dropFirst(name.count + 1)
            if value.first == " " { value.removeFirst() }
            switch name {
            case "id": id = String(value)
            case "event": type = String(value)
            case "data": data.append(value)
            default: break
            }
            return nil
        }
        defer { endEvent() }
        if let id { lastID = id }
        return data.isEmpty ? nil : Message(type: type, data: data.joined(separator: "\n"), id: lastID)
    }
}
