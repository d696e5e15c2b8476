import BellhopCore
import Synchronization

/// A table's columns by its dictionary, and what a source derives from them: whether its fields exist, and their types.
///
/// A class over a lock, because they are learned while the source is in use.
final class TableColumns: Sendable {
    private struct Learnt {
        var dictionary: TableDictionary?
        var schema: TaskSchema
        /// True once the dictionary was read in this run.
        var isAsked = false
        /// True once all fields were found to exist.
        var isExamined = false
        /// The query with labels and names replaced by values, once resolved.
        var query: EncodedQuery?
    }

    private let learnt: Mutex<Learnt>
    private let settings: TableSettings
    private let source: String
    private let connection: ServiceNowConnection
    private var key: String { "dictionary/\(connection.instance)/\(connection.username)/\(settings.table)" }

    init(_ settings: TableSettings, source: String, connection: ServiceNowConnection) throws(ConnectorError) {
        self.settings = settings
        self.source = source
        self.connection = connection
        learnt = Mutex(
            Learnt(schema: try TaskFields.schema(settings.fields, display: settings.display, source: source)))
    }

    var schema: TaskSchema { learnt.withLock { $0.schema } }

    /// The query: as written before the first poll, then with labels and names replaced by values.
    var query: EncodedQuery { learnt.withLock { $0.query } ?? settings.query }

    /// Whether a field may be requested: false if the dictionary is known not to have it.
    func exists(_ path: String) -> Bool {
        learnt.withLock { $0.dictionary?.lacks(path, in: settings.table) } != true
    }

    /// Takes the types of fields from the stored dictionary, then from the instance's.
    func prepare(offline: Bool) async {
        let note = try? await connection.notebook.note(key)
        if let note, let known = TableDictionary(json: note) { take(known) }
        if offline { return }
        // A failure here is retried at the next start; the first poll reports what is wrong.
        guard let dictionary = try? await ask() else { return }
        take(dictionary)
        try? await connection.notebook.setNote(key, to: dictionary.json)
    }

    private func take(_ dictionary: TableDictionary) {
        let isDeclared = settings.fields != nil
        let (table, display, source) = (settings.table, settings.display, source)
        learnt.withLock { learnt in
            let schema = try? TaskFields.schema(settings.fields, display: display, source: source) { path in
                dictionary.meaning(of: path, in: table)
            }
            learnt.dictionary = dictionary
            guard var schema else { return }
            if !isDeclared { schema.fields.removeAll { dictionary.lacks($0.path, in: table) } }
            learnt.schema = schema
        }
    }

    /// Reads the dictionary; nil if the account may not.
    private func ask() async throws(Failure) -> TableDictionary? {
        let paths = asked + schema.fields.map(\.path)
        let dictionary = try await DictionaryReading(
            session: connection.reading, timeout: settings.timeout, longest: settings.longest
        ).read(settings.table, for: paths)
        learnt.withLock { $0.isAsked = true }
        return dictionary
    }

    // MARK: - Examining

    /// Checks, before the table is read, that the named fields exist: a server drops the conditions on fields it does not know
    /// and returns every row that meets the others.
    func examine() async throws(Failure) {
        if learnt.withLock({ $0.isExamined }) { return }
        if let dictionary = try await learn() {
            do { try await connection.notebook.setNote(key, to: dictionary.json) } catch {
                throw Failure(.fileSystem, .retry(after: nil), "The table's dictionary cannot be stored: \(error).")
            }
        }
        let (unknown, isCertain) = try await look(forAll: false)
        if let first = unknown.first { throw first.failure }
        try await resolve()
        learnt.withLock { $0.isExamined = isCertain }
    }

    /// Resolves the labels and names in `where`. An encoded query is in the instance's own language and stays unchanged.
    private func resolve() async throws(Failure) {
        guard settings.asking == "where", learnt.withLock({ $0.query }) == nil else { return }
        do throws(Failure) {
            let query = try await connection.labels.resolved(settings.query, in: settings.table, connection.reading)
            learnt.withLock { $0.query = query }
        } catch {
            guard error.remedy == .giveUp else { throw error }
            throw Failure(
                error.reason, .giveUp,
                "`where` of source \(source): \(error.message) Bellhop does not poll this source until you correct it.")
        }
    }

    /// All named fields that do not exist. Stores nothing.
    func unknownFields() async throws(Failure) -> [UnknownField] {
        _ = try await learn()
        return try await look(forAll: true).unknown
    }

    /// A named field that the table does not have.
    struct UnknownField: Sendable {
        var path: String
        /// The failure of a poll.
        var failure: Failure
    }

    /// Reads the dictionary if it was not read in this run.
    private func learn() async throws(Failure) -> TableDictionary? {
        guard !learnt.withLock({ $0.isAsked }), let dictionary = try await ask() else { return nil }
        learnt.withLock { $0.dictionary = dictionary }
        return dictionary
    }

    /// The fields named by the query and its order.
    private var asked: [String] { settings.query.fields + settings.order.map(\.field) }

    /// - Parameter forAll: whether to continue after the first one.
    private func look(forAll: Bool) async throws(Failure) -> (unknown: [UnknownField], isCertain: Bool) {
        let known = learnt.withLock { $0.dictionary }
        let asked = asked + [settings.timeField]
        let shown = schema.fields.map(\.path)
        var doubtful = asked.filter { known?.has($0, in: settings.table) != true }
        if let known {
            doubtful += shown.filter { !known.has($0, in: settings.table) }
        } else {
            doubtful += try await missing(shown)
        }
        var seen: Set<String> = []
        var isCertain = true
        var unknown: [UnknownField] = []
        for path in doubtful where seen.insert(path).inserted {
            let isThere = try await isThere(path)
            isCertain = isCertain && isThere != nil
            guard isThere == false else { continue }
            let names = known?.names(of: settings.table) ?? TaskFields.standard
            let help = Suggestion.didYouMean(path, among: names).map { " (\($0))" } ?? ""
            let place =
                asked.contains(path) && path != settings.timeField
                ? "`\(settings.asking)`" : path == settings.timeField ? "`updated`" : "`fields`"
            let failure = Failure(
                .badArguments, .giveUp,
                "The table \(settings.table) of \(connection.base.place) has no field `\(path)`, which \(place) of source \(source) names\(help). "
                    + "Bellhop does not poll this source until you correct it.")
            unknown.append(UnknownField(path: path, failure: failure))
            if !forAll { break }
        }
        return (unknown, isCertain)
    }

    private func ask(_ paths: [String]) -> TableAsk {
        TableAsk(
            session: connection.reading, table: settings.table, paths: paths, longest: settings.longest, timeout: settings.timeout
        )
    }

    /// The fields missing from a row: unknown ones, and those that this account may not read.
    private func missing(_ paths: [String]) async throws(Failure) -> [String] {
        guard let row = try await ask(["sys_id"] + paths).page(.all, limit: 1).list.first else { return [] }
        return paths.filter { row[$0] == nil }
    }

    /// Whether a column exists, found by two queries. If "empty and not empty" returns a row, the server drops conditions on this
    /// unknown column. If "empty or not empty" returns no row, they match nothing. Nil if the table has no row to test with.
    private func isThere(_ path: String) async throws(Failure) -> Bool? {
        let (empty, full) = (EncodedQuery.Condition(path, .isEmpty), EncodedQuery.Condition(path, .isNotEmpty))
        let either = EncodedQuery.Term(alternatives: [.condition(empty), .condition(full)])
        do throws(Failure) {
            if try await hasRows(EncodedQuery(empty, full)) { return false }
            if try await hasRows(EncodedQuery(groups: [.init(terms: [either])])) { return true }
            return try await hasRows(.all) ? false : nil
        } catch  where error.reason == .refused {
            return false
        }
    }

    private func hasRows(_ query: EncodedQuery) async throws(Failure) -> Bool {
        let reply = try await ask(["sys_id"]).page(query, limit: 1)
        if let total = reply.total { return total > 0 }
        return try !reply.list.isEmpty
    }
}
