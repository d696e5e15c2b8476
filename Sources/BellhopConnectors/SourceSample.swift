public import BellhopCore

/// A sample of what a source watches: the query, the number of rows, and some of them.
public struct SourceSample: Sendable {
    /// The query, by name: `table`, `query`; in display order.
    public var question: [(name: String, text: String)]
    /// The number of all rows; nil if unknown.
    public var count: Int?
    /// The names of the columns, in display order.
    public var columns: [String]
    public var rows: [JSON.Object]
    /// Whether only fields declared in bellhop.yaml are columns.
    public var isDeclared = false
}

/// A source that can describe its query and read a page of it without a poll.
///
/// Other sources are sampled by a poll whose answer is discarded.
protocol SampledSource: Source {
    /// Its query, by name.
    var question: [(name: String, text: String)] { get }

    /// Reads at most `limit` rows, with these fields; with the source's own fields if `fields` is empty.
    func sample(_ limit: Int, fields: [String]) async throws(Failure) -> SourceSample
}

/// A source whose first page can be requested on its own, to check whether it is accessible.
protocol ProbedSource: Source {
    /// The first request of a poll; nil if it may change something.
    var probe: HTTPRequest? { get }

    /// Describes the content of its answer: `25 items`.
    func words(for response: HTTPResponse) throws(Failure) -> String
}

extension SampledSource {
    func sample(_ limit: Int, fields: [String]) async throws(Failure) -> SourceSample {
        var sample = try await polled(limit)
        sample.question = question
        return sample
    }
}

extension Source {
    fileprivate func polled(_ limit: Int) async throws(Failure) -> SourceSample {
        let listing = try await list(from: LastPoll()).listing
        let keys = listing.entries.prefix(limit).map(\.key)
        let details = try await details(of: keys, in: listing)
        let own = ["id", "number", "title", "type", "class", "url"]
        let columns = own + schema.fields.map(\.name).filter { !own.contains($0) }
        let rows = keys.compactMap { details.snapshots[$0] }.map { snapshot in
            let task = snapshot.json(source: name)
            return JSON.Object(columns.map { ($0, own.contains($0) ? task[$0] ?? .null : snapshot.fields[$0] ?? .null) })
        }
        return SourceSample(question: [], count: listing.entries.count, columns: columns, rows: rows, isDeclared: shows == .tasks)
    }
}

extension Connectors {
    /// Samples a source; nil if there is no source with this name. Nothing is stored.
    public func sample(of name: String, limit: Int, fields: [String]) async throws(Failure) -> SourceSample? {
        guard let source = sources.first(where: { $0.name == name }) else { return nil }
        let own = (source as? BoundSource)?.current ?? source
        if let source = own as? any SampledSource { return try await source.sample(limit, fields: fields) }
        return try await source.polled(limit)
    }
}
