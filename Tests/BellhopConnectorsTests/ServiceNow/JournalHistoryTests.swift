import BellhopCore
import Testing

@testable import BellhopConnectors

/// Reading the history shown in a task, and how certain its entries are.
@Suite struct JournalHistoryTests {
    private let clock = Self.clock("2026-01-05 10:00:00", as: "2026-01-05 11:00:00")
    private let ages = Timestamp(seconds: 0)

    private static func clock(_ utc: String, as shown: String) -> UserClock? {
        UserClock([FieldValue(["value": .string(utc), "display_value": .string(shown)])].compactMap(\.self))
    }

    private func read(
        _ history: String, above known: String? = nil, since: String = "2000-01-01 00:00:00", labels: Set<String>? = nil
    ) throws -> [JournalHistory.Entry] {
        let clock = try #require(clock)
        let since = try #require(Timestamp(sql: since))
        let known = known.map { JournalHistory.Known($0) }
        return try JournalHistory(history, above: known, since: since, labels: labels, clock: clock).entries
    }

    private let old = "2026-01-05 09:00:00 - Abel Tuter (Additional comments)\nIt smokes.\n\n"

    @Test func `entries have their author, their text and their time in UTC`() throws {
        let entries = try read("2026-01-05 10:30:00 - John Doe (Additional comments)\nOne\n\nTwo\n\n" + old)
        #expect(entries.map(\.author) == ["John Doe", "Abel Tuter"])
        #expect(entries.map(\.text) == ["One\n\nTwo", "It smokes."])
        #expect(entries.map(\.time.sql) == ["2026-01-05 09:30:00", "2026-01-05 08:00:00"])
    }

    @Test func `a comment by someone whose name begins with an accent is an entry of its own`() throws {
        let entries = try read("2026-01-05 10:30:00 - \u{301}X (Additional comments)\nOne\n\n" + old)
        #expect(entries.map(\.author) == ["\u{301}X", "Abel Tuter"])
        #expect(entries.map(\.text) == ["One", "It smokes."])
        #expect(JournalHistory.headings(in: entries[0].heading) == 1)
    }

    @Test(arguments: [
        "3 - Moderate (was 2 - High)", "1 - x (y)", "2026-01-05 09:30:00 - Any Name (Work notes)",
        "2026-01-05 09:30 - Any Name (Additional comments)", "05/01/2026 09:30:00 - Any Name (Additional comments)",
        "2026-01-05 19:30:00 - Any Name (Additional comments)", "2026-01-05 09:30:00 Any Name (Additional comments)",
    ])
    func `a line that is not a heading of this journal belongs to the text`(_ line: String) throws {
        let entries = try read("2026-01-05 10:30:00 - John Doe (Additional comments)\nOne\n\n\(line)\n\nTwo\n\n")
        #expect(entries.map(\.text) == ["One\n\n\(line)\n\nTwo"])
    }

    @Test func `a heading inside a text counts only after an empty line`() throws {
        let quoted =
            "2026-01-05 10:30:00 - John Doe (Additional comments)\nOne\n2026-01-05 09:30:00 - X (Additional comments)\n\n"
        #expect(try read(quoted).count == 1)
    }

    @Test func `only the first new entry is certain, and known entries are not read again`() throws {
        let forged =
            "2026-01-05 10:30:00 - John Doe (Additional comments)\nOne\n\n2026-01-05 10:00:00 - X (Additional comments)\nTwo\n\n"
        let entries = try read(forged + old, above: old)
        #expect(entries.map(\.text) == ["One", "Two"])
        #expect(entries.map(\.isProved) == [true, false])
        #expect(try read(forged + old, above: forged + old) == [])
        #expect(try read(old, above: "").map(\.isProved) == [true])
    }

    @Test func `equal entries have ids of their own, whatever was known before`() throws {
        let entry = "2026-01-05 10:30:00 - John Doe (Additional comments)\nSeen\n\n"
        func ids(_ history: String, above known: String? = nil) throws -> [String] {
            try read(history, above: known).map { $0.id(on: TaskKey("a1"), in: "comments") }
        }
        let all = try ids(entry + entry + entry + old)
        #expect(Set(all).count == 4)
        #expect(try ids(entry + entry + entry + old, above: entry + old) == Array(all[..<2]))
        #expect(try ids(entry + entry + old, above: entry + old) == [all[1]])
        #expect(try ids(entry + old) == Array(all[2...]))
    }

    @Test func `an invented time hides no entries below it`() throws {
        let forged =
            "2026-01-05 10:30:00 - John Doe (Additional comments)\nOne\n\n2020-01-01 00:00:00 - X (Additional comments)\nTwo\n\n"
        let entries = try read(forged + old, since: "2026-01-05 07:00:00")
        #expect(entries.map(\.text) == ["One", "Two", "It smokes."])
        #expect(entries.map(\.isProved) == [true, false, false])
        #expect(entries.allSatisfy { $0.time.sql >= "2026-01-05 07:00:00" })
        #expect(try read(forged + old, since: "2026-01-05 09:00:00").map(\.text) == ["One"])
        #expect(try read(old, since: "2026-01-05 09:00:00") == [])
    }

    @Test func `a history whose known end has changed is read by its times`() throws {
        let new = "2026-01-05 10:30:00 - John Doe (Additional comments)\nOne\n\n"
        #expect(try read(new + old, above: "another" + old, since: "2026-01-05 09:00:00").map(\.text) == ["One"])
    }

    @Test func `an entry from the minute in which reading begins is read if times have no seconds`() throws {
        let clock = try #require(Self.clock("2026-01-05 10:00:42", as: "2026-01-05 11:00"))
        let since = try #require(Timestamp(sql: "2026-01-05 10:30:15"))
        let history =
            "2026-01-05 11:30 - John Doe (Additional comments)\nOne\n\n2026-01-05 11:29 - A (Additional comments)\nOld\n\n"
        let read = try JournalHistory(history, above: nil, since: since, clock: clock)
        #expect(read.entries.map(\.text) == ["One"])
    }

    @Test func `the label of the journal is that of the first heading, in any language`() throws {
        let entries = try read(
            "2026-01-05 10:30:00 - J. (extern) Doe (Kommentare (sichtbar))\nEins\n\n2026-01-05 10:00:00 - A (Kommentare (sichtbar))\nZwei\n\n"
        )
        #expect(entries.map(\.author) == ["J. (extern) Doe", "A"])
    }

    @Test func `a first line without the dictionary's label is not a heading`() throws {
        let history = "2026-01-05 10:30:00 - Any Name (Customer notes)\nOne\n\n" + old
        #expect(throws: JournalHistory.Unreadable.heading) { try read(history, labels: ["Additional comments", "Kommentare"]) }
        #expect(try read(history, labels: ["Customer notes"]).map(\.author) == ["Any Name"])
        #expect(try read(old, labels: ["Additional comments", "Kommentare"]).map(\.author) == ["Abel Tuter"])
    }

    @Test func `an entry whose text contains headings is also read as a whole`() throws {
        let clock = try #require(clock)
        let text = "One\n\n2026-01-05 10:00:00 - X (Additional comments)\n\nTwo"
        let history = try JournalHistory(
            "2026-01-05 10:30:00 - John Doe (Additional comments)\n\(text)\n\n" + old, above: nil, since: ages, clock: clock)
        #expect(history.texts(of: 0, joining: JournalHistory.headings(in: text)).contains(text))
    }

    @Test(arguments: [
        ("2026-01-05 10:00:00", "2026-01-05 11:00:00", "2026-01-04 23:30:00", "2026-01-04 22:30:00"),
        ("2026-01-05 22:10:30", "01/06/2026 07:40:30 AM", "01/05/2026 12:00:00 AM", "2026-01-04 14:30:00"),
        ("2026-01-25 10:00:42", "25.01.2026 05:00", "24.01.2026 23:59", "2026-01-25 04:59:00"),
        ("2026-01-25 10:00:42", "25-01-2026 10.00.42", "01-02-2026 10.00.00", "2026-02-01 10:00:00"),
    ])
    func `times are read in the user's format and zone`(_ utc: String, _ shown: String, _ text: String, _ read: String) {
        #expect(Self.clock(utc, as: shown)?.read(text)?.sql == read)
    }

    @Test func `a time that is ambiguous, or that no zone explains, is not read`() {
        #expect(Self.clock("2026-01-05 10:00:00", as: "2026-01-09 10:00:00") == nil)
        #expect(Self.clock("2026-01-05 10:00:00", as: "Monday") == nil)
        let either = Self.clock("2026-01-01 10:00:00", as: "01/01/2026 10:00:00")
        #expect(either?.read("02/03/2026 10:00:00") == nil)
        #expect(either?.read("03/03/2026 10:00:00")?.sql == "2026-03-03 10:00:00")
    }

    @Test func `a comment in the minute that a deep read begins in, shown without seconds, is not reported twice`() throws {
        let minute = try #require(Timestamp(rfc3339: "2026-01-05T09:00:00Z"))
        let comment = TaskComment(
            id: "h1", task: TaskKey("a"), text: "x", author: "", kind: "comments", time: minute, authorship: .others)
        var cursor = JournalCursor(at: minute)
        cursor.reported = [JournalCursor.ReportedEntry(comment, from: .histories)]
        cursor.forget(before: minute + .seconds(59))
        #expect(cursor.unreported([comment], from: .histories) == [])
        cursor.forget(before: minute + .seconds(61))
        #expect(cursor.unreported([comment], from: .histories) == [comment])
    }
}
