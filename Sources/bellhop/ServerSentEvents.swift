/// Reads server-sent events line by line (WHATWG HTML, 9.2.6).
struct ServerSentEvents: Sendable {
    struct Message: Sendable, Hashable {
        var type: String
        var data: String
        /// The last id in the stream so far.
        var id: String
    }

    private var lastID = ""
    /// The fields of the current event.
    private var (id, type, data): (String?, String, [Substring]) = (nil, "", [])

    private mutating func endEvent() { (id, type, data) = (nil, "", []) }

    /// Reads a line. Returns the event that it ends, if any.
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
