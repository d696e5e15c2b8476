import BellhopCore

/// A response to a TouchPoint, as a delivery describes it.
struct TouchPointEntry: Sendable, Hashable {
    struct Answer: Sendable, Hashable {
        enum Content: Sendable, Hashable {
            case text(String)
            case day(Timestamp)
            /// The numbers of the choices.
            case choices([Int64])
            case file(name: String, bytes: [UInt8])
        }

        var element: Int64
        /// ETO's number for the kind of element.
        var type: Int64
        var content: Content
    }

    var touchPoint: Int64
    var subject: Int64
    var program: ETOProgram?
    var created: Timestamp
    var answers: [Answer]
    /// The limit for all files of a response together, in bytes.
    static let fileLimit = 5 << 20

    /// Reads a delivery; throws a final failure if it can never be sent.
    init(_ delivery: Delivery) throws(Failure) {
        let arguments = try delivery.values()
        guard let touchPoint = Self.number(arguments["touchpoint"]) else {
            throw .badArguments("A response needs the number of its TouchPoint.")
        }
        guard let subject = Self.number(arguments["subject"]) else {
            throw .badArguments("A response needs the number of its subject.")
        }
        self.touchPoint = touchPoint
        self.subject = subject
        program = ETOProgram(ItemValue.text(arguments["program"]))
        // In whole milliseconds, as sent.
        created = Timestamp(microseconds: delivery.createdAt.microseconds / 1000 * 1000)
        if let given = arguments["created"], !given.isNull {
            guard let time = TouchPointTime.read(given) else {
                throw .badArguments("`created` is not a time: write it as 2026-01-05T09:00:00Z.")
            }
            created = time
        }
        answers = []
        for (name, value) in arguments["elements"]?.asObject ?? [:] where !value.isNull {
            answers.append(try Self.answer(name, value))
        }
        for (name, value) in arguments["files"]?.asObject ?? [:] where !value.isNull {
            answers.append(try Self.file(name, value))
        }
        guard !answers.isEmpty else { throw .badArguments("A response needs answers: `elements: {NUMBER: value}`.") }
        guard Set(answers.map(\.element)).count == answers.count else {
            throw .badArguments("An element is answered both under `elements` and under `files`.")
        }
        let size = answers.reduce(0) { sum, answer in
            if case .file(_, let bytes) = answer.content { sum + bytes.count } else { sum }
        }
        guard size <= Self.fileLimit else { throw .badArguments("The files of a response may have 5 MiB together.") }
    }

    private static func number(_ value: JSON?) -> Int64? {
        Int64(ASCII.trimmed(ItemValue.text(value))).flatMap { $0 > 0 ? $0 : nil }
    }

    private static func answer(_ name: String, _ value: JSON) throws(Failure) -> Answer {
        let element = try element(name)
        guard let members = value.asObject else {
            guard value.asArray == nil else {
                throw .badArguments("The element \(element) has a list: write {choice: [NUMBER, …]}.")
            }
            return Answer(element: element, type: 5, content: .text(ItemValue.text(value)))
        }
        let type = number(members["type"])
        let kinds = ["value", "date", "choice"].filter { members[$0] != nil }
        guard kinds.count == 1, let kind = kinds.first, let content = members[kind],
            members.keys.allSatisfy({ $0 == kind || $0 == "type" })
        else {
            throw .badArguments("The element \(element) needs one of `value`, `date` and `choice`, and beside it at most `type`.")
        }
        switch kind {
        case "choice":
            let choices = (content.asArray ?? [content]).map(number)
            guard !choices.isEmpty, !choices.contains(nil) else {
                throw .badArguments("The choices of the element \(element) must be numbers.")
            }
            return Answer(element: element, type: type ?? 4, content: .choices(choices.compactMap { $0 }))
        case "value" where type != 9: return Answer(element: element, type: type ?? 5, content: .text(ItemValue.text(content)))
        default:
            guard let day = TouchPointTime.read(content) else {
                throw .badArguments("The element \(element) needs a date such as 2026-01-05.")
            }
            return Answer(element: element, type: type ?? 9, content: .day(day))
        }
    }

    private static func file(_ name: String, _ value: JSON) throws(Failure) -> Answer {
        let element = try element(name)
        guard let file = value["name"]?.asString, !file.isEmpty else {
            throw .badArguments("The file of the element \(element) needs a `name`.")
        }
        let bytes: [UInt8]
        switch (value["text"], value["base64"]) {
        case (let text?, nil): bytes = Array(ItemValue.text(text).utf8)
        case (nil, let code?):
            guard let decoded = Base64.decode(ItemValue.text(code)[...]) else {
                throw .badArguments("The file of the element \(element) is not valid Base64.")
            }
            bytes = decoded
        case (nil, nil), (_?, _?): throw .badArguments("The file of the element \(element) needs either `text` or `base64`.")
        }
        return Answer(element: element, type: 29, content: .file(name: file, bytes: bytes))
    }

    private static func element(_ name: String) throws(Failure) -> Int64 {
        guard let element = number(.string(name)) else {
            throw .badArguments("`\(Redaction.excerpt(name, length: 40))` is not an element: elements are named by numbers.")
        }
        return element
    }

    func call(notAfter: Timestamp, program current: Int64?) -> ETOCall {
        var response: JSON.Object = [
            "TouchPointID": .int(touchPoint), "SubjectID": .int(subject), "ResponseCreatedDate": .string(created.wcf),
        ]
        if let current { response["ProgramID"] = .int(current) }
        response["ResponseElements"] = .array(answers.map(\.json))
        return ETOCall(
            method: "POST", target: "TouchPoint.svc/TouchPointResponseAdd/", body: ["TouchPointResponse": .object(response)],
            program: program, namedBy: TouchPointAction.stepName, changesSomething: true, notAfter: notAfter)
    }
}

extension TouchPointEntry.Answer {
    var json: JSON {
        var members: JSON.Object = ["ElementID": .int(element), "ElementType": .int(type)]
        switch content {
        case .text(let text): members["Value"] = .string(text)
        case .day(let day): members["Value"] = .string(TouchPointTime.american(day))
        case .choices(let choices):
            members["ResponseElementChoices"] = .array(choices.map { ["TouchPointElementChoiceID": .int($0)] })
        case .file(let name, let bytes):
            members["Value"] = .null
            members["ResponseFileAttachment"] = ["FileName": .string(name), "FileContent": .array(bytes.map { .int(Int64($0)) })]
        }
        return .object(members)
    }

    /// Whether an element of a response has the same content, apart from changes that the server makes.
    func matches(_ element: JSON) -> Bool {
        let text = TouchPointResponse.text(element)
        switch content {
        case .text(let own):
            let (left, right) = (own.split { $0.isWhitespace }, text.split { $0.isWhitespace })
            if left == right { return true }
            if let left = Double(own), let right = Double(text) { return left == right }
            return false
        case .day(let day):
            guard let there = TouchPointTime.read(.string(text)) else { return false }
            return TouchPointTime.american(there) == TouchPointTime.american(day)
        case .choices(let choices):
            let there = element["ResponseElementChoices"]?.asArray?.compactMap { $0["TouchPointElementChoiceID"]?.asInt }
            return there.map { Set($0) == Set(choices) } ?? false
        case .file(let name, _): return text.split(separator: ",").contains { $0 == name }
        }
    }
}
