public import BellhopCore
import Crypto

/// Turns bodies into events of a declared type.
public struct EventReading: Sendable {
    /// The place of the key that identifies a delivery: a delivery with a known key is a duplicate.
    public enum DedupKey: Sendable {
        /// A header field. If the request is signed but this field is not, the signed body is the key instead: otherwise an
        /// eavesdropper could replay a request as a new delivery.
        case header(String)
        case path(JSON.Path)
    }

    /// The source's name.
    public var source: String
    public var definition: EventDefinition
    /// The path to the list of items; nil if the whole body is one event.
    public var items: JSON.Path?
    /// The paths of members whose path differs from their name.
    public var fields: [String: JSON.Path]
    /// The names of the header fields that give members.
    public var headers: [String: String]
    /// The path to the id of the event's subject.
    public var id: JSON.Path?
    /// Nil if deliveries have no key: then each is new, except a replay of a signed request that contains a time.
    public var dedupKey: DedupKey?

    public init(
        source: String, definition: EventDefinition, items: JSON.Path? = nil, fields: [String: JSON.Path] = [:],
        headers: [String: String] = [:], id: JSON.Path? = nil, dedupKey: DedupKey? = nil
    ) {
        self.source = source
        self.definition = definition
        self.items = items
        self.fields = fields
        self.headers = headers
        self.id = id
        self.dedupKey = dedupKey
    }

    /// The events of a body. Throws 400 if the body is not valid.
    ///
    /// - Parameter unique: makes a unique text, the key of a delivery that has no other key.
    func events(
        _ request: InboundRequest, proof: InboundKey.Proof, at now: Timestamp, unique: () -> String
    ) throws(InboundAnswer) -> [Event] {
        let body = try InboundBody.json(request)
        let key = try key(of: request, body, proof) ?? "unique/" + unique()
        let items = try InboundBody.items(body, at: items)
        var events: [Event] = []
        for (place, item) in items.enumerated() {
            // Like the members, an id that is null is absent.
            let name = id.flatMap { item[$0] }.flatMap { $0.isNull ? nil : Self.text($0) } ?? ""
            let subject = name.isEmpty ? source : "\(source)/\(name)"
            events.append(
                Event(
                    id: Event.ID(type: definition.type, facts: source, key, String(place)), type: definition.type,
                    source: source, subject: subject, time: now, data: try data(of: item, in: request)))
        }
        return events
    }

    private func key(
        of request: InboundRequest, _ body: JSON, _ proof: InboundKey.Proof
    ) throws(InboundAnswer) -> String? {
        switch dedupKey {
        case .header(let name)?:
            guard let value = request.value(name), !value.isEmpty else {
                let problem = request.value(name) == nil ? request.problem(with: name) : "The header field `\(name)` is empty."
                throw InboundAnswer(400, problem + " It must identify the delivery.")
            }
            switch proof {
            case .secret: return "header/" + value
            case .identified where name.lowercased() == "webhook-id": return "header/" + value
            case .body, .timed, .identified: return "signed/" + Self.digest(of: request.body)
            }
        case .path(let path)?:
            guard let value = body[path], !value.isNull else {
                throw InboundAnswer(400, "The body has nothing at `\(path)`, which must identify the delivery.")
            }
            return "body/" + Self.text(value)
        case nil:
            if case .timed(let signed) = proof { return "signed/" + Self.digest(of: signed) }
            return nil
        }
    }

    private static func digest(of bytes: [UInt8]) -> String { Base64.encode(Array(SHA256.hash(data: bytes))) }

    private func data(of item: JSON, in request: InboundRequest) throws(InboundAnswer) -> JSON.Object {
        var data: JSON.Object = [:]
        var hasAny = definition.members.isEmpty
        for member in definition.members {
            let path = path(of: member)
            let header = headers[member.name]
            let value: JSON? = if let header { request.value(header).map { JSON.string($0) } } else { item[path] }
            if let header, request.isRepeated(header) { throw InboundAnswer(400, request.problem(with: header)) }
            hasAny = hasAny || value != nil
            guard let value, !value.isNull else {
                if member.required {
                    throw InboundAnswer(400, header.map { request.problem(with: $0) } ?? "The body has nothing at `\(path)`.")
                }
                continue
            }
            data[member.name] = try Self.value(value, member)
        }
        // An event without data is useless: most likely `items` or `fields` is wrong, or the sender sends something else.
        guard hasAny else {
            let paths = definition.members.filter { headers[$0.name] == nil }.map { "`\(path(of: $0))`" }
            let absent = definition.members.compactMap { headers[$0.name] }.map { request.problem(with: $0) }
            let listing = paths.joined(separator: ", ")
            let lacking = "The body has no value at \(listing), where the members of `\(definition.type.name)` are expected."
            throw InboundAnswer(400, ((paths.isEmpty ? [] : [lacking]) + absent).joined(separator: " "))
        }
        return data
    }

    private func path(of member: Setting) -> JSON.Path { fields[member.name] ?? JSON.Path(keys: [member.name]) }

    /// Converts a value to the member's type: forms send numbers and booleans as text.
    private static func value(_ value: JSON, _ member: Setting) throws(InboundAnswer) -> JSON {
        switch (member.type, value) {
        case (.text, .string), (.json, _), (.boolean, .bool), (.integer, .int): return value
        case (.text, .int), (.text, .double), (.text, .bool): return .string(value.text)
        case (.integer, .string(let text)): if let number = Int64(text) { return .int(number) }
        case (.integer, .double): if let number = value.asInt { return .int(number) }
        case (.boolean, .string("true")): return true
        case (.boolean, .string("false")): return false
        default: break
        }
        let wanted =
            switch member.type {
            case .integer: "a whole number"
            case .boolean: "true or false"
            default: "a text"
            }
        throw InboundAnswer(400, "`\(member.name)` is not \(wanted).")
    }

    private static func text(_ value: JSON) -> String { value.asString ?? value.text }
}
