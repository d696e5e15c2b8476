/// The definitions of a source's fields as of its last stored poll, numbered: each poll that finds a field redefined has a new revision.
///
/// Each task keeps the revision with which it was read. In a task that was read before a field was redefined, the configuration causes the
/// field's difference.
public struct FieldDefinitions: Sendable, Hashable {
    private struct Field: Sendable, Hashable {
        var definition: String
        /// The revision that redefined it last; 0 if none did.
        var since: UInt16
    }

    /// Of 16 bits, for which a ``KnownTask`` has room.
    public private(set) var revision: UInt16 = 0
    /// Includes fields that are no longer declared: some tasks may still have values that were read by their last definitions.
    private var fields: [String: Field] = [:]

    public init() {}

    /// The same with these definitions, by field.
    public func updated(to definitions: [String: String]) -> FieldDefinitions {
        var next = self
        for (name, definition) in definitions {
            let before = fields[name]
            if before?.definition == definition { continue }
            if before != nil { next.revision = revision == .max ? .max : revision + 1 }
            next.fields[name] = Field(definition: definition, since: before == nil ? 0 : next.revision)
        }
        return next
    }

    /// The fields that were redefined after this revision.
    public func redefined(since revision: UInt16) -> Set<String> {
        Set(fields.lazy.filter { $0.value.since > revision }.map(\.key))
    }

    /// The definitions in their stored form.
    public var json: JSON {
        let fields = fields.sorted { $0.key < $1.key }.map { name, field in
            (name, ["definition": .string(field.definition), "since": .int(Int64(field.since))] as JSON)
        }
        return ["revision": .int(Int64(revision)), "fields": .object(JSON.Object(fields))]
    }

    /// Reads the form of ``json``.
    public init(json: JSON) {
        func number(_ json: JSON?) -> UInt16 { json?.asInt.flatMap { UInt16(exactly: $0) } ?? 0 }
        revision = number(json["revision"])
        for (name, field) in json["fields"]?.asObject ?? [:] {
            fields[name] = Field(definition: field["definition"].textOrEmpty, since: number(field["since"]))
        }
    }
}
