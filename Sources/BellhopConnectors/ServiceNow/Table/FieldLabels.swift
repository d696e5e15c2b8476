import BellhopCore

/// Resolves labels and names to values: a choice by its label, a record by its name. Each lookup uses the caller's session, so that
/// an attempt does not wait for a poll.
///
/// An actor, because the sources and actions of a connection share the results.
actor FieldLabels {
    private let place: String
    /// By table; and by `table.field` for fields that the table does not have: those of referenced records, and unknown ones.
    private var dictionaries: [String: TableDictionary] = [:]
    /// Choices by `table.field`, and when they were read.
    private var choices: [String: (all: [TaskSchema.Choice], asked: Timestamp)] = [:]
    /// Values by table, field and text. Failed lookups are not kept, because the record may be created later.
    private var found: [String: String] = [:]
    /// Labels by `table.field`, and when they were read; empty if this account may not read them.
    private var labels: [String: (all: Set<String>, asked: Timestamp)] = [:]
    /// Fields whose dictionary entry this account could not read, and when.
    private var unreadable: [String: Timestamp] = [:]

    /// After this time, choices that lack a text, or an unreadable dictionary entry, are read again: the text or the right may have been
    /// added.
    private static let missLife = Duration.seconds(60)

    private static let labelLife = Duration.seconds(3600)

    /// The maximal number of values; when it is reached, all are dropped.
    private static let maxFound = 10_000

    /// Longer texts are not kept.
    private static let longestFound = 200

    /// - Parameter place: the instance, for messages.
    init(at place: String) { self.place = place }

    private static func reading(_ session: ServiceNowSession) -> DictionaryReading {
        DictionaryReading(session: session, timeout: nil)
    }

    /// The value that a text stands for. If the field holds choices or references, the text may be a label or a name; otherwise it is
    /// the value.
    /// - Throws: a permanent failure with the candidates if the name is unknown or ambiguous.
    func value(of text: String, in path: String, of table: String, _ session: ServiceNowSession) async throws(Failure) -> String {
        if Self.isPlainValue(text) || Self.freeTexts.contains(path) { return text }
        let key = "\(table).\(path)=\(text)"
        if let value = found[key] { return value }
        let value = try await lookUp(text, path, table, session)
        if found.count >= Self.maxFound { found = [:] }
        if text.utf8.count <= Self.longestFound { found[key] = value }
        return value
    }

    /// All labels of a field, including those in other languages and of single tables. Nil if this account may not read them.
    func labels(of field: String, in table: String, _ session: ServiceNowSession) async throws(Failure) -> Set<String>? {
        let key = "\(table).\(field)"
        let now = session.clock.now
        if let known = labels[key], Self.isFresh(known.asked, now, for: Self.labelLife) {
            return known.all.isEmpty ? nil : known.all
        }
        let all = try await Self.reading(session).labels(of: field, in: table)
        labels[key] = (all, now)
        return all.isEmpty ? nil : all
    }

    /// Fields of every task that hold free text, which needs no lookup.
    private static let freeTexts: Set<String> = [
        "short_description", "description", "close_notes", "correlation_id", "correlation_display", "comments", "work_notes",
    ]

    /// Texts that are never labels or names: ids, numbers, flags, times, scripts, and empty texts.
    private static func isPlainValue(_ text: String) -> Bool {
        text.isEmpty || text == "true" || text == "false" || ServiceNowConnection.isSysID(text) || Double(text) != nil
            || ItemValue.plainTime(text) != nil || ComparedValue.isComputed(text)
    }

    private func lookUp(
        _ text: String, _ path: String, _ table: String, _ session: ServiceNowSession
    ) async throws(Failure) -> String {
        guard let dictionary = try await dictionary(of: path, in: table, session) else {
            // This account may not read the dictionary, so only the references and types that every instance has are known.
            if let target = TaskFields.target(of: path) { return try await record(called: text, in: target, for: path, session) }
            guard TaskFields.type(of: path) == .int else { return text }
            throw unresolved(text, path, "it holds a number, and this account may not read its labels: write the number")
        }
        guard let column = dictionary.column(path, in: table) else { return text }
        if let target = column.reference, column.type == "reference" {
            return try await record(called: text, in: target, for: path, session)
        }
        guard column.isChoice || column.fieldType == .int, let owner = dictionary.owner(of: path, in: table) else { return text }
        return try await choice(called: text, path, of: owner, isNumber: column.fieldType == .int, session)
    }

    /// The dictionary that describes a field, read once; nil if this account may not read it.
    private func dictionary(
        of path: String, in table: String, _ session: ServiceNowSession
    ) async throws(Failure) -> TableDictionary? {
        let key = "\(table).\(path)"
        if let own = dictionaries[key] { return own }
        if let shared = dictionaries[table], shared.has(path, in: table) { return shared }
        let now = session.clock.now
        if Self.isFresh(unreadable[key], now) { return nil }
        guard let read = try await Self.reading(session).read(table, for: [path]) else {
            unreadable[key] = now
            return nil
        }
        dictionaries[dictionaries[table] == nil && read.has(path, in: table) ? table : key] = read
        return read
    }

    private static func isFresh(_ asked: Timestamp?, _ now: Timestamp, for life: Duration = missLife) -> Bool {
        asked.map { (Duration.zero...life).contains(now - $0) } ?? false
    }

    private func unresolved(_ text: String, _ path: String, _ why: String) -> Failure {
        Failure.badArguments("`\(path)` cannot be '\(Redaction.excerpt(text, length: 60))' on \(place): \(why).")
    }

    // MARK: Choices

    private func choice(
        called text: String, _ path: String, of table: String, isNumber: Bool, _ session: ServiceNowSession
    ) async throws(Failure) -> String {
        let field = TaskFields.column(path)
        let key = "\(table).\(field)"
        let now = session.clock.now
        /// The values that the text may stand for.
        func candidates(among all: [TaskSchema.Choice]) -> [String] {
            all.contains { $0.value == text } ? [text] : TaskSchema.Choice.values(called: text, among: all)
        }
        var all = choices[key]?.all ?? []
        if !Self.isFresh(choices[key]?.asked, now), candidates(among: all).isEmpty {
            all = try await Self.reading(session).choices(of: field, in: table)
            choices[key] = (all, now)
        }
        if all.isEmpty, !isNumber { return text }
        let values = candidates(among: all)
        if values.count == 1 { return values[0] }
        let listed = Self.listed(all.map { "\($0.value) (\($0.label))" })
        throw unresolved(
            text, path,
            values.isEmpty
                ? all.isEmpty ? "it holds a number: write the number" : "use \(listed)"
                : "several values have this label: write \(values.joined(separator: " or "))")
    }

    // MARK: Records

    /// The sys_id of the only record with a name.
    private func record(
        called text: String, in table: String, for path: String, _ session: ServiceNowSession
    ) async throws(Failure) -> String {
        let display = try await Self.reading(session).display(of: table)
        let names = table == "sys_user" ? [display, "user_name", "email"] : [display]
        let conditions = names.map { EncodedQuery.Alternative.condition(.init($0, .equal, text)) }
        let rows = try await rows(
            of: table, EncodedQuery(groups: [.init(terms: [.init(alternatives: conditions)])]), names, session)
        guard let rows else {
            throw unresolved(
                text, path,
                "it holds the sys_id of a record of \(table), whose names this account may not read: write the sys_id")
        }
        // A server drops conditions on fields it does not know.
        let called = rows.filter { row in names.contains { row.values[$0]?.lowercased() == text.lowercased() } }
        let exact = called.filter { row in names.contains { row.values[$0] == text } }
        for fitting in [exact, called] where fitting.count == 1 { return fitting[0].id }
        if called.isEmpty {
            let start = String(text.prefix(4))
            let like = try await self.rows(of: table, EncodedQuery(.init(display, .contains, start)), names, session) ?? []
            let near = like.isEmpty ? "" : "; similar names: " + Self.listed(like.map { $0.values[display] ?? $0.id })
            throw unresolved(text, path, "no record of \(table) has this name\(near)")
        }
        let listed = Self.listed(called.map { row in "\(row.values[names.last ?? display] ?? text) (\(row.id))" })
        throw unresolved(text, path, "more than one record of \(table) has this name: write the sys_id of one, \(listed)")
    }

    private struct Row: Sendable {
        var id: String
        var values: [String: String]
    }

    /// At most six rows, as many as a message can show; nil if the account may not read the table.
    private func rows(
        of table: String, _ query: EncodedQuery, _ names: [String], _ session: ServiceNowSession
    ) async throws(Failure) -> [Row]? {
        do throws(Failure) {
            let reply = try await TableReader(session: session, table: table, paths: ["sys_id"] + names).page(query, limit: 6)
            return try reply.list.compactMap { row in
                guard let id = row.raw("sys_id") else { return nil }
                let values = names.compactMap { name in FieldValue(row[name]).map { (name, $0.raw) } }
                return Row(id: id, values: Dictionary(values) { first, _ in first })
            }
        } catch  where [.forbidden, .goneOrHidden, .refused].contains(error.reason) {
            return nil
        }
    }

    private static func listed(_ names: [String]) -> String {
        let most = 12
        let shown = names.prefix(most).map { Redaction.excerpt($0, length: 60) }.joined(separator: ", ")
        return names.count > most ? shown + ", …" : shown
    }
}

extension FieldLabels {
    /// The writes with labels and names replaced by values. Writes of display values stay unchanged.
    /// - Parameter record: the record being updated; nil for a new one.
    func resolved(
        _ writes: [FieldWrite], in table: String, of record: TaskRecord? = nil, _ session: ServiceNowSession
    ) async throws(Failure) -> [FieldWrite] {
        var resolved = writes
        for index in writes.indices where !writes[index].isDisplay {
            let write = writes[index]
            if let found = record?[write.name], found.label == write.value {
                resolved[index].value = found.raw
            } else {
                resolved[index].value = try await value(of: write.value, in: write.name, of: table, session)
            }
        }
        return resolved
    }

    /// The query with the labels and names in its conditions replaced by values.
    func resolved(_ query: EncodedQuery, in table: String, _ session: ServiceNowSession) async throws(Failure) -> EncodedQuery {
        var query = query
        for group in query.groups.indices {
            for term in query.groups[group].terms.indices {
                for place in query.groups[group].terms[term].alternatives.indices {
                    guard case .condition(var condition) = query.groups[group].terms[term].alternatives[place] else { continue }
                    switch condition.how {
                    case .equal, .notEqual:
                        condition.value = try await value(of: condition.value, in: condition.field, of: table, session)
                    case .isOneOf, .isNotOneOf:
                        var values: [String] = []
                        for part in condition.value.split(separator: ",", omittingEmptySubsequences: false) {
                            values.append(try await value(of: String(part), in: condition.field, of: table, session))
                        }
                        condition.value = values.joined(separator: ",")
                    default: continue
                    }
                    query.groups[group].terms[term].alternatives[place] = .condition(condition)
                }
            }
        }
        return query
    }
}
