import BellhopCore

/// A response to a TouchPoint: a form that was filled in for a subject.
struct TouchPointResponse: Sendable {
    var record: JSON

    init(_ record: JSON) { self.record = record }

    /// The id of a response; nil for anything else.
    var id: String? { record["TouchPointResponseID"].map(ItemValue.text).flatMap { Int64($0) }.map { String($0) } }
    var created: Timestamp? { record["ResponseCreatedDate"].flatMap(TouchPointTime.read) }
    /// The answers; nil if the record has none.
    var elements: [JSON]? { record["ResponseElements"]?.asArray }

    /// The value of an element as text: the text entered, the numbers of the choices, or the names of files.
    static func text(_ element: JSON) -> String {
        if let value = element["Value"], !value.isNull { return ItemValue.text(value) }
        if let choices = element["ResponseElementChoices"]?.asArray {
            return choices.map { ItemValue.text($0["TouchPointElementChoiceID"]) }.joined(separator: ",")
        }
        let files = (element["ResponseFileAttachment"].map { [$0] } ?? []) + (element["ResponseFileAttachments"]?.asArray ?? [])
        return files.compactMap { $0["FileName"]?.asString }.joined(separator: ",")
    }

    func element(_ id: Int64) -> JSON? { elements?.first { $0["ElementID"]?.asInt == id } }
}

/// Times as ETO writes them.
enum TouchPointTime {
    /// Reads WCF's `/Date(…)/`, `MM/dd/yyyy` with or without a time of day, and the formats of ``ItemValue/time(_:)``.
    static func read(_ value: JSON) -> Timestamp? { ItemValue.time(value) ?? value.asString.flatMap(american) }

    /// `01/05/2026`, the format for an element of type 9.
    static func american(_ time: Timestamp) -> String {
        let day = time.utc
        return "\(day.month.twoDigits)/\(day.day.twoDigits)/\(day.year)"
    }

    private static func american(_ text: String) -> Timestamp? {
        let words = text.split(separator: " ")
        let parts = (words.first ?? "").split(separator: "/").map { Int($0) }
        guard parts.count == 3, let month = parts[0], let day = parts[1], let year = parts[2], 1000...9999 ~= year else {
            return nil
        }
        var (hour, minute, second) = (0, 0, 0)
        if words.count > 1 {
            let clock = words[1].split(separator: ":").map { Int($0) }
            guard 2...3 ~= clock.count, let h = clock[0], let m = clock[1] else { return nil }
            (hour, minute, second) = (h, m, clock.count == 3 ? clock[2] ?? -1 : 0)
            if words.count > 2 {
                guard 1...12 ~= hour, words[2] == "AM" || words[2] == "PM" else { return nil }
                hour = hour % 12 + (words[2] == "PM" ? 12 : 0)
            }
        }
        return Timestamp(utc: year, month, day, hour, minute, second)
    }
}
