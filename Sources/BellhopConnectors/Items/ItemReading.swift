public import BellhopCore

/// Reads the items of a JSON answer as tasks.
///
/// A task depends only on the bytes of its item, so that a poll may compare items without decoding them. ``settings`` declares the
/// settings of a source; ``init(_:source:className:)`` reads them.
public struct ItemReading: Sendable, Hashable {
    /// Where the items are, and their ids in them.
    public var shape: ListingShape
    /// The path to the number that people use for an item; nil for its id.
    public var number: JSON.Path?
    public var title: JSON.Path?
    /// The path to the item's kind as people read it; nil for the name of its group.
    public var type: JSON.Path?
    /// The class of every item, for conditions.
    public var className: String
    /// The page where a person opens an item; nil if there is none.
    public var page: ItemPage?
    public var schema: TaskSchema
    /// The field that orders the states of an item in time; nil if there is none.
    public internal(set) var version: TaskSchema.Field?
    /// The paths to the fields, in the schema's order.
    private var paths: [JSON.Path]

    public init(
        shape: ListingShape, number: JSON.Path? = nil, title: JSON.Path? = nil, type: JSON.Path? = nil, className: String,
        page: ItemPage? = nil, fields: [(field: TaskSchema.Field, path: JSON.Path)]
    ) {
        self.shape = shape
        self.number = number
        self.title = title
        self.type = type
        self.className = className
        self.page = page
        let names = Set(fields.map(\.field.name))
        schema = TaskSchema(fields.map(\.field), roles: .init(created: ["created_at", "created"].first(where: names.contains)))
        paths = fields.map(\.path)
        self.shape.seed = seed
    }

    /// Identifies what a task takes from its item.
    private var seed: Fingerprint {
        var builder = FingerprintBuilder()
        for path in [number, title, type] { builder.add(path?.description ?? "-") }
        builder.add(className)
        builder.add(page?.text ?? "-")
        for (field, path) in zip(schema.fields, paths) { builder.add("\(field.name) \(field.type.rawValue) \(path)") }
        return builder.fingerprint
    }

    /// The fingerprint of a whole answer: another one if other fields are read from the same bytes.
    public func fingerprint(of listing: Listing) -> Fingerprint { Fingerprint(content: listing.body, seed: shape.seed) }

    /// A text that identifies the reading, as a part of a source's scope. It omits fields, because a new field does not require a new
    /// baseline.
    public var canonical: String {
        let paths = [("items", shape.items), ("id", JSON.Path(keys: shape.key)), ("number", number), ("title", title)]
        return paths.map { "\($0.0)=\($0.1.map(\.description) ?? "-")" }.joined(separator: " ")
    }

    /// The items of an answer: the complete list or an error.
    /// - Parameters:
    ///   - place: the server, for messages. It contains no secret.
    ///   - secrets: texts that messages must not contain.
    public func listing(_ body: [UInt8], from place: String, hiding secrets: [String] = []) throws(Failure) -> Listing {
        try rethrowing(as: { Self.failure($0, instead: names(in: body, for: $0), place, secrets) }) { () throws(ListingError) in
            try Listing(body, shape: shape)
        }
    }

    /// The names in the answer that a setting may have meant, as the end of a sentence; empty if there are none.
    private func names(in body: [UInt8], for error: ListingError) -> String {
        guard body.count <= 1_000_000, let answer = try? JSON.parse(body) else { return "" }
        switch error.reason {
        case .noKey(let path):
            let members = answer[shape.items]?.asArray?.first { $0[path] == nil }?.asObject?.keys ?? []
            return members.isEmpty ? "" : "; it has " + members.joined(separator: ", ")
        case .noRecords, .shape:
            let lists = answer.asObject?.filter { $0.value.asArray != nil }.keys ?? []
            return lists.isEmpty ? "" : "; `items` can name " + lists.joined(separator: ", ")
        case .json, .duplicateKey, .duplicateName, .tooLarge: return ""
        }
    }

    /// Joins the pages of one answer into one listing; an item on two pages is an error.
    /// - Parameter latestCounts: whether to use the last state of a repeated item, because items may change meanwhile.
    public func listing(
        pages: [Listing], latestCounts: Bool = false, from place: String, hiding secrets: [String] = []
    ) throws(Failure) -> Listing {
        if pages.count == 1, let page = pages.first { return page }
        return try rethrowing(as: { Self.failure($0, instead: "", place, secrets) }) { () throws(ListingError) in
            try Listing(pages: pages, latestCounts: latestCounts)
        }
    }

    /// The details of a source that has only a list: why an item left it is unknown.
    ///
    /// If all items are read, as at the first poll, a notice names the fields that no item has.
    /// - Parameter source: the source's name.
    public func details(of keys: [TaskKey], in listing: Listing, for source: String) -> Details {
        var details = Details()
        let (listed, gone) = listing.search(for: keys)
        if listed.count == listing.entries.count {
            let fields = zip(schema.fields, paths).map { (name: $0.name, path: $1) }
            let items = listing.entries.lazy.map { listing.record(of: $0) }
            details.notice = AbsentFields(of: fields, inItems: items).notice(of: source)
        }
        for entry in listed { details.snapshots[entry.key] = snapshot(of: entry, in: listing) }
        for key in gone { details.departures[key] = .unknown }
        return details
    }

    public func snapshot(of entry: Listing.Entry, in listing: Listing) -> Snapshot {
        snapshot(entry.key, listing.record(of: entry), group: listing.group(of: entry))
    }

    public func snapshot(_ key: TaskKey, _ record: JSON, group: String? = nil) -> Snapshot {
        func text(_ path: JSON.Path?) -> String? {
            let text = path.map { ItemValue.text(record[$0]) } ?? ""
            return text.isEmpty ? nil : text
        }
        var snapshot = Snapshot(
            key: key, number: text(number) ?? key.text, title: text(title) ?? "", type: text(type) ?? group ?? "",
            className: className, url: page?.address(of: key, record) ?? "")
        for (field, path) in zip(schema.fields, paths) { snapshot.fields[field.name] = ItemValue.typed(record[path], field.type) }
        return snapshot
    }

    /// The error names keys from the answer, which may repeat secrets that were sent: these are removed.
    private static func failure(
        _ error: ListingError, instead names: String, _ place: String, _ secrets: [String]
    ) -> Failure {
        let words = Redaction.line(error.description + names, hiding: secrets, length: 200)
        return Failure(
            error.reason == .tooLarge ? .tooLarge : .badAnswer, .retry(after: nil),
            "The items from \(place) cannot be read: \(words).")
    }
}

/// The configured address of an item's page: `https://shop.example.com/orders/{id}`. The values for the braces come from an answer;
/// they are percent-encoded, and none is in the host, so an answer cannot change the host.
public struct ItemPage: Sendable, Hashable {
    private enum Part: Sendable, Hashable {
        case text(String)
        case id
        case path(JSON.Path)
    }

    private var parts: [Part] = []
    /// As it is written in the settings.
    let text: String

    public init(_ text: String) throws(InvalidValue) {
        self.text = text
        guard let scheme = text.firstRange(of: "://"), ["http", "https"].contains(ASCII.lowercased(text[..<scheme.lowerBound]))
        else { throw InvalidValue(message: "An item's page needs an absolute https:// (or http://) address.") }
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{") {
            let before = rest[..<open]
            guard let close = rest[open...].firstIndex(of: "}") else {
                throw InvalidValue(message: "A `{` in the address of an item's page has no `}`.")
            }
            parts.append(.text(String(before)))
            let name = String(rest[rest.index(after: open)..<close])
            if name == "id" {
                parts.append(.id)
            } else if let path = JSON.Path(text: name), !path.steps.isEmpty {
                parts.append(.path(path))
            } else {
                throw InvalidValue(message: "`{\(name)}` in the address of an item's page is not a path: write {id} or {a.b}.")
            }
            rest = rest[rest.index(after: close)...]
        }
        parts.append(.text(String(rest)))
        guard case .text(let first)? = parts.first, let slash = first[scheme.upperBound...].firstIndex(of: "/"),
            slash > scheme.upperBound
        else { throw InvalidValue(message: "The host of an item's page must be written out: https://HOST/…{id}…") }
    }

    func address(of key: TaskKey, _ record: JSON) -> String {
        parts.map { part in
            switch part {
            case .text(let text): text
            case .id: PercentEncoding.encode(key.text)
            case .path(let path): PercentEncoding.encode(ItemValue.text(record[path]))
            }
        }.joined()
    }
}
