public import BellhopCore

/// A first look at what a source watches: what is asked, how much there is, and some of it.
public struct SourceSample: Sendable {
    /// What is asked, by name: `table`, `query`; in the order to be shown.
    public var question: [(name: String, text: String)]
    /// How many there are; nil where nobody says.
    public var count: Int?
    /// The names that the rows have, in the order to be shown.
    public var columns: [String]
    public var rows: [JSON.Object]
    /// Whether a field must be declared in bellhop.yaml to be among the columns.
    public var isDeclared: Bool

    public init(
        question: [(name: String, text: String)], count: Int?, columns: [String], rows: [JSON.Object], isDeclared: Bool = false
    ) {
        self.question = question
        self.count = count
        self.columns = columns
        self.rows = rows
        self.isDeclared = isDeclared
    }
}

/// A source that can say what it asks, and look at a page of it without a poll.
///
/// One that does not conform is looked at by a poll whose answer is forgotten.
public protocol SampledSource: Source {
    /// What it asks of its system, by name.
    var question: [(name: String, text: String)] { get }

    /// At most so many rows, with these fields; empty for its own.
    func sample(_ limit: Int, fields: [String]) async throws(Failure) -> SourceSample
}

extension SampledSource {
    public func sample(_ limit: Int, fields: [String]) async throws(Failure) -> SourceSample {
        var sample = try await polled(limit)
        sample.question = question
        return sample
    }
}

extension Source {
    /// What a first poll shows.
    fileprivate func polled(_ limit: Int) async throws(Failure) -> SourceSample {
        let listing = try await list(from: Standing()).listing
        let keys = listing.entries.prefix(limit).map(\.key)
        let details = try await details(of: keys, in: listing)
        let own = ["id", "number", "title", "type", "class", "url"]
        let columns = own + schema.fields.map(\.name).filter { !own.contains($0) }
        let rows = keys.compactMap { details.snapshots[$0] }.map { snapshot in
            let task = snapshot.json(source: name)
            return JSON.Object(columns.map { ($0, own.contains($0) ? task[$0] ?? .null : snapshot.fields[$0] ?? .null) })
        }
        return SourceSample(
            question: [], count: listing.entries.count, columns: columns, rows: rows, isDeclared: shows == .tasks)
    }
}

extension Connectors {
    /// Looks at what a source watches; nil when there is no source of this name. Nothing is remembered.
    public func sample(of name: String, limit: Int, fields: [String]) async throws(Failure) -> SourceSample? {
        guard let source = sources.first(where: { $0.name == name }) else { return nil }
        let own = (source as? BoundSource)?.current ?? source
        if let source = own as? any SampledSource { return try await source.sample(limit, fields: fields) }
        return try await source.polled(limit)
    }
}
