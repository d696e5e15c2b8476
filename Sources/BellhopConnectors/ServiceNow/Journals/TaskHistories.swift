import BellhopCore

/// Reads the journal histories that tasks show, if the journal's own table cannot be read.
///
/// A history has no ids and no UTC times. An entry is recognized by its heading and text; its time is converted with the help of
/// times that the same row shows both in UTC and in the user's format. The state of each history is remembered, so that the next
/// poll reads only the text added above it.
struct TaskHistories: Sendable {
    /// The result for some tasks.
    struct Entries: Sendable {
        var comments: [TaskComment] = []
        var known = KnownHistories()
        var notices: [String] = []
    }

    let kinds: [String]
    let table: String
    let connection: ServiceNowConnection

    /// The new entries of these tasks.
    /// - Parameters:
    ///   - since: only tasks updated since this time are read.
    ///   - floor: earlier entries are not reported.
    func entries(
        of keys: [TaskKey], since: Timestamp, floor: Timestamp, above known: KnownHistories
    ) async throws(Failure) -> Entries {
        var entries = Entries(known: known)
        var unreadable: Set<JournalHistory.Unreadable> = []
        var labels: [String: Set<String>] = [:]
        let own = await connection.reading.user
        if !keys.isEmpty {
            for kind in kinds { labels[kind] = try await connection.labels.labels(of: kind, in: table, connection.reading) }
        }
        let reader = TableReader(
            session: connection.reading, table: table, paths: ["sys_id"] + Self.times + kinds, display: .both)
        let query = EncodedQuery(.init("sys_updated_on", .atLeast, since.sql))
        try await reader.rows(of: keys, matching: query) { key, row in
            for kind in kinds {
                let history = FieldValue(row[kind])?.label ?? ""
                let place = KnownHistories.Place(task: key, kind: kind)
                let read: JournalHistory
                do throws(JournalHistory.Unreadable) {
                    read = try Self.read(history, above: known[place], since: max(since, floor), labels: labels[kind], row)
                } catch {
                    unreadable.insert(error)
                    continue
                }
                // An empty history may be one that the account may not read; the entries that it may read later are not all new.
                entries.known[place] = history.isEmpty ? nil : JournalHistory.Known(history)
                entries.comments += read.entries.map { comment($0, at: place, own) }
            }
        }
        entries.notices = notices(unreadable)
        return entries
    }

    private func notices(_ unreadable: Set<JournalHistory.Unreadable>) -> [String] {
        var notices = [
            "The account \(connection.username) may not read the journal's table (sys_journal_field), so comments are read from the tasks' own histories: their authors are display names."
        ]
        if unreadable.contains(.times) {
            notices.append(
                "The times in the histories of tasks cannot be read, so their comments produce no events: set the date format of \(connection.username) to yyyy-MM-dd HH:mm:ss."
            )
        }
        if unreadable.contains(.heading) {
            notices.append(
                "In the histories of some tasks, the label in the headings differs from the journal's label in the dictionary, so their comments produce no events: check the labels of \(kinds.joined(separator: " and ")) in sys_dictionary and sys_documentation."
            )
        }
        return notices
    }

    /// Columns that a row shows both in UTC and in the user's format. They reveal the format and time zone of the histories.
    static let times = ["sys_updated_on", "sys_created_on"]

    static func read(
        _ history: String, above known: JournalHistory.Known?, since: Timestamp, labels: Set<String>?, _ row: JSON
    ) throws(JournalHistory.Unreadable) -> JournalHistory {
        let clock = UserClock(times.compactMap { FieldValue(row[$0]) })
        // A history without entries needs no clock.
        guard let clock else {
            if history.isEmpty { return .empty }
            throw .times
        }
        return try JournalHistory(history, above: known, since: since, labels: labels, clock: clock)
    }

    private func comment(_ entry: JournalHistory.Entry, at place: KnownHistories.Place, _ own: ServiceNowUser?) -> TaskComment {
        // A name proves neither that this account wrote an entry nor that it did not: people share names, and a name has variants.
        let isOurs = entry.isProved && own?.isShown(as: entry.author) == true
        return TaskComment(
            id: entry.id(on: place.task, in: place.kind), task: place.task, text: entry.text,
            author: entry.isProved ? entry.author : "", kind: place.kind, time: entry.time,
            authorship: isOurs ? .ours : .unknown, isProved: entry.isProved)
    }
}

/// The histories read so far, by task and journal, up to a limit.
struct KnownHistories: Sendable, Hashable {
    struct Place: Sendable, Hashable {
        var task: TaskKey
        var kind: String
    }

    private var histories: [Place: JournalHistory.Known] = [:]
    /// Least recently read first.
    private var order: [Place] = []
    /// The maximal number of histories: all are stored with each poll that reads one.
    private static let most = 500

    init() {}

    init(json: JSON?) {
        for row in json?.asArray ?? [] {
            guard let task = row[0]?.asString, let kind = row[1]?.asString, let known = JournalHistory.Known(json: row[2]) else {
                continue
            }
            self[Place(task: TaskKey(task), kind: kind)] = known
        }
    }

    var json: JSON {
        .array(
            order.compactMap { place -> JSON? in
                histories[place].map { JSON.array([.string(place.task.text), .string(place.kind), $0.json]) }
            })
    }

    var isEmpty: Bool { histories.isEmpty }

    subscript(place: Place) -> JournalHistory.Known? {
        get { histories[place] }
        set {
            if let newValue, histories[place] == newValue { return }
            order.removeAll { $0 == place }
            histories[place] = newValue
            if newValue != nil { order.append(place) }
            if order.count > Self.most { histories[order.removeFirst()] = nil }
        }
    }

    /// Removes tasks that are no longer watched.
    mutating func keep(where isWatched: (TaskKey) -> Bool) {
        order.removeAll { !isWatched($0.task) }
        histories = histories.filter { isWatched($0.key.task) }
    }
}

extension ServiceNowUser {
    /// Whether a history may show this user by that name.
    func isShown(as author: String) -> Bool {
        [name, username].contains { !$0.isEmpty && ASCII.lowercased(ASCII.trimmed($0)) == ASCII.lowercased(author) }
    }
}
