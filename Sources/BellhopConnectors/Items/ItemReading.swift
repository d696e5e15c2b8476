public import BellhopCore

/// Reads the items of any JSON answer as tasks: where they stand, what tells one from another, and what of them a task has.
///
/// What it makes says the same of the same bytes, so that a poll may compare items without decoding them. What a source's
/// settings say of it is declared in ``settings`` and read by ``init(_:source:className:)``.
public struct ItemReading: Sendable, Hashable {
    /// Where the items stand and what tells one from another.
    public var shape: ListingShape
    /// The way to what people call an item by; nil for its id.
    public var number: JSON.Path?
    public var title: JSON.Path?
    /// The way to the kind of item as people read it; nil for the group it stands in.
    public var type: JSON.Path?
    /// What every item is, for conditions.
    public var className: String
    /// Where a person opens an item; nil where there is no such page.
    public var page: ItemPage?
    public var schema: TaskSchema
    /// The ways to the fields, in the schema's order.
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
        schema = TaskSchema(fields.map(\.field))
        paths = fields.map(\.path)
    }

    /// What the reading is, in words that are the same for the same reading: part of a source's scope. Fields are none of it, for
    /// declaring another is no reason to start anew.
    public var canonical: String {
        let ways = [
            ("items", shape.items), ("id", JSON.Path(keys: shape.key)), ("number", number), ("title", title),
        ]
        return ways.map { "\($0.0)=\($0.1.map(\.description) ?? "-")" }.joined(separator: " ")
    }

    /// The items of an answer; a whole list or an error.
    /// - Parameters:
    ///   - place: whom to name in messages; no secret.
    ///   - secrets: what must not be read in messages.
    public func listing(_ body: [UInt8], from place: String, hiding secrets: [String] = []) throws(Failure) -> Listing {
        do throws(ListingError) {
            return try Listing(body, shape: shape)
        } catch {
            throw Self.failure(error, place, secrets)
        }
    }

    /// One listing of the pages of one answer; an item that is on two of them is an error.
    /// - Parameter latestCounts: where an item is there again it has changed meanwhile, and its last state counts.
    public func listing(
        pages: [Listing], latestCounts: Bool = false, from place: String, hiding secrets: [String] = []
    ) throws(Failure) -> Listing {
        if pages.count == 1, let page = pages.first { return page }
        do throws(ListingError) {
            return try Listing(pages: pages, latestCounts: latestCounts)
        } catch {
            throw Self.failure(error, place, secrets)
        }
    }

    /// What a source answers whose list says all there is to know. Nobody can be asked about an item that has left the list.
    ///
    /// Where all is read, as at the first poll, it says which fields no item has.
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

    /// The task that a record is.
    public func snapshot(_ key: TaskKey, _ record: JSON, group: String? = nil) -> Snapshot {
        func text(_ path: JSON.Path?) -> String? {
            let text = path.map { ItemValue.text(record[$0]) } ?? ""
            return text.isEmpty ? nil : text
        }
        var snapshot = Snapshot(
            key: key, number: text(number) ?? key.text, title: text(title) ?? "", type: text(type) ?? group ?? "",
            className: className, url: page?.address(of: key, record) ?? "")
        for (field, path) in zip(schema.fields, paths) {
            snapshot.fields[field.name] = ItemValue.typed(record[path], field.type)
        }
        return snapshot
    }

    /// Keys are the server's words, which may repeat what it was sent.
    private static func failure(_ error: ListingError, _ place: String, _ secrets: [String]) -> Failure {
        let words = Redaction.excerpt(DisplayText.line(Redaction.scrub(error.description, of: secrets)), length: 200)
        return Failure(
            error.reason == .tooLarge ? .tooLarge : .badAnswer, .retry(after: nil),
            "The items that \(place) answered cannot be read: \(words).")
    }
}
