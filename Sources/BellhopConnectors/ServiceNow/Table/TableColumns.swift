import BellhopCore
import Synchronization

/// A table's columns according to its dictionary. They show whether the fields of a source exist, and their types.
///
/// A class over a lock, because the columns are read while the source is in use.
final class TableColumns: Sendable {
    private struct State {
        var dictionary: TableDictionary?
        var schema: TaskSchema
        /// True once the dictionary was requested in this run.
        var isRead = false
        /// True once all fields were found to exist.
        var isExamined = false
        /// The fields that exist although the dictionary lacks them: it hides some columns from this account.
        var confirmed: Set<String> = []
        /// The fields that rows do not show and whose conditions the server applies.
        var applied: Set<String> = []
        /// The field that rows do not show and whose condition the server ignores; nil if none was found.
        var ignored: String?
        /// The query with labels and names replaced by values, once resolved.
        var query: EncodedQuery?
    }

    private let state: Mutex<State>
    private let settings: TableSettings
    private let source: String
    private let connection: ServiceNowConnection
    private var key: String { "dictionary/\(connection.instance)/\(connection.username)/\(settings.table)" }

    init(_ settings: TableSettings, source: String, connection: ServiceNowConnection) throws(ConnectorError) {
        self.settings = settings
        self.source = source
        self.connection = connection
        state = Mutex(State(schema: try TaskFields.schema(settings.fields, display: settings.display, source: source)))
    }

    var schema: TaskSchema { state.withLock { $0.schema } }

    /// The query, as written until the first poll, and then with labels and names replaced by values.
    var query: EncodedQuery { state.withLock { $0.query } ?? settings.question.query }

    /// Whether a field may be requested: false if the dictionary is known not to have it, and the table was not found to have it.
    func exists(_ path: String) -> Bool {
        state.withLock { $0.confirmed.contains(path) || $0.dictionary?.lacks(path, in: settings.table) != true }
    }

    /// Whether the dictionary has a field.
    func has(_ path: String) -> Bool { state.withLock { $0.dictionary?.has(path, in: settings.table) == true } }

    /// Applies the stored dictionary, and then the one read from the instance.
    func prepare(offline: Bool) async {
        let note = try? await connection.notebook.note(key)
        if let note, let known = TableDictionary(json: note) { apply(known) }
        if offline { return }
        // After a failure the types stay as they are until the next start; the first poll reports what is wrong.
        guard let dictionary = try? await readDictionary() else { return }
        apply(dictionary)
        try? await connection.notebook.setNote(key, to: dictionary.json)
    }

    private func apply(_ dictionary: TableDictionary) {
        let isDeclared = settings.fields != nil
        let (table, display, source) = (settings.table, settings.display, source)
        state.withLock { state in
            let schema = try? TaskFields.schema(settings.fields, display: display, source: source) { path in
                dictionary.meaning(of: path, in: table)
            }
            state.dictionary = dictionary
            guard var schema else { return }
            if !isDeclared { schema.fields.removeAll { dictionary.lacks($0.path, in: table) } }
            state.schema = schema
        }
    }

    /// Reads the dictionary; nil if the account may not read it.
    private func readDictionary() async throws(Failure) -> TableDictionary? {
        let paths = queryFields + schema.fields.map(\.path)
        let dictionary = try await DictionaryReading(
            session: connection.reading, timeout: settings.timeout
        ).read(settings.table, for: paths)
        state.withLock { $0.isRead = true }
        return dictionary
    }

    // MARK: - Examining

    /// Checks that the fields of the query exist before the table is read: a server drops conditions on fields that it does not know,
    /// and returns all rows that meet the others.
    func examine() async throws(Failure) {
        if let ignored = state.withLock({ $0.ignored }) { try await checkCondition(on: ignored) }
        if state.withLock({ $0.isExamined }) { return }
        if let dictionary = try await readDictionaryOnce() {
            do { try await connection.notebook.setNote(key, to: dictionary.json) } catch {
                throw Failure(.fileSystem, .retry(after: nil), "The table's dictionary cannot be stored: \(error).")
            }
        }
        let (unknown, isCertain) = try await findUnknownFields(all: false)
        if let first = unknown.first { throw first.failure }
        try await resolveLabels()
        state.withLock { $0.isExamined = isCertain }
    }

    /// Checks that the server applies the conditions on fields that the rows do not show, so that ``PageCheck`` cannot judge them: some
    /// releases drop a condition on a field that the account may not read.
    func checkConditions(_ listing: Listing) async throws(Failure) {
        guard let first = listing.entries.first else { return }
        let row = listing.record(of: first)
        var query = settings.question.query
        query.order = []
        let applied = state.withLock { $0.applied }
        for path in query.fields where exists(path) && row[path] == nil && !applied.contains(path) {
            try await checkCondition(on: path)
        }
    }

    /// Fails if the server ignores the condition on a field. Later polls check this before they read the table.
    private func checkCondition(on path: String) async throws(Failure) {
        let isApplied = try await columnExists(path) != false
        state.withLock { state in
            state.ignored = isApplied ? nil : path
            if isApplied { state.applied.insert(path) }
        }
        guard isApplied else {
            throw Failure.badArguments(
                "The rows of the table \(settings.table) of \(connection.base.place) do not show the field `\(path)`, and the server ignores "
                    + "the condition on it in `\(settings.selection)` of source \(source): let the account read this field, or take the "
                    + "condition out. Bellhop does not poll this source until you correct it.")
        }
    }

    /// Replaces labels and names in `where` by values. An encoded query already has values.
    private func resolveLabels() async throws(Failure) {
        guard settings.selection == "where", state.withLock({ $0.query }) == nil else { return }
        do throws(Failure) {
            let query = try await connection.labels.resolved(settings.question.query, in: settings.table, connection.reading)
            state.withLock { $0.query = query }
        } catch {
            guard error.remedy == .giveUp else { throw error }
            throw Failure(
                error.reason, .giveUp,
                "`where` of source \(source): \(error.message) Bellhop does not poll this source until you correct it.")
        }
    }

    /// All fields of the source and its query that do not exist. Stores nothing.
    func unknownFields() async throws(Failure) -> [UnknownField] {
        _ = try await readDictionaryOnce()
        return try await findUnknownFields(all: true).unknown
    }

    /// A field in the configuration that the table does not have.
    struct UnknownField: Sendable {
        var path: String
        var failure: Failure
    }

    /// Reads the dictionary unless it was already requested in this run.
    private func readDictionaryOnce() async throws(Failure) -> TableDictionary? {
        guard !state.withLock({ $0.isRead }), let dictionary = try await readDictionary() else { return nil }
        state.withLock { $0.dictionary = dictionary }
        return dictionary
    }

    private var queryFields: [String] { settings.question.query.fields + settings.question.order.map(\.field) }

    /// The fields that do not exist, and whether that is certain for all others.
    /// - Parameter all: whether to find all instead of the first.
    private func findUnknownFields(all: Bool) async throws(Failure) -> (unknown: [UnknownField], isCertain: Bool) {
        let known = state.withLock { $0.dictionary }
        let queryFields = queryFields + [settings.timeField]
        let shown = schema.fields.map(\.path)
        var doubtful = queryFields.filter { known?.has($0, in: settings.table) != true }
        if let known {
            doubtful += shown.filter { !known.has($0, in: settings.table) }
        } else {
            doubtful += try await missing(shown)
        }
        var isCertain = true
        var unknown: [UnknownField] = []
        for path in doubtful.unique() {
            let exists = try await columnExists(path)
            isCertain = isCertain && exists != nil
            if exists == true { state.withLock { $0.confirmed.formUnion([path]) } }
            guard exists == false else { continue }
            let names = known?.names(of: settings.table) ?? TaskFields.standard
            let help = Suggestion.didYouMean(path, among: names).map { " (\($0))" } ?? ""
            let place = path == settings.timeField ? "updated" : queryFields.contains(path) ? settings.selection : "fields"
            let failure = Failure.badArguments(
                "The table \(settings.table) of \(connection.base.place) has no field `\(path)`, which `\(place)` of source \(source) names\(help). "
                    + "Bellhop does not poll this source until you correct it.")
            unknown.append(UnknownField(path: path, failure: failure))
            if !all { break }
        }
        return (unknown, isCertain)
    }

    private func reader(_ paths: [String]) -> TableReader {
        TableReader(session: connection.reading, table: settings.table, paths: paths, timeout: settings.timeout)
    }

    /// The fields missing from a row: unknown ones, and those that this account may not read.
    private func missing(_ paths: [String]) async throws(Failure) -> [String] {
        guard let row = try await reader(["sys_id"] + paths).page(.all, limit: 1).list.first else { return [] }
        return paths.filter { row[$0] == nil }
    }

    /// Whether a column exists; nil if the table has no row to test with.
    ///
    /// A server treats a condition on an unknown column in one of two ways. If it drops the condition, "empty and not empty" returns
    /// a row. If the condition matches nothing, "empty or not empty" returns none although the table has rows.
    private func columnExists(_ path: String) async throws(Failure) -> Bool? {
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
        let reply = try await reader(["sys_id"]).page(query, limit: 1)
        if let total = reply.total { return total > 0 }
        return try !reply.list.isEmpty
    }
}
