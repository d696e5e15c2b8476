import BellhopCore

extension Message.Inline {
    /// One member, named for the case, so that the rule's own markup and inserted values stay apart in the database too.
    var stored: JSON {
        switch self {
        case .text(let words): ["text": .string(words)]
        case .value(let words): ["value": .string(words)]
        case .strong(let inner): ["strong": inner.stored]
        case .emphasis(let inner): ["emphasis": inner.stored]
        case .code(let inner): ["code": inner.stored]
        case .link(let label, let address): ["link": label.stored, "address": address.stored]
        case .lineBreak: ["break": true]
        }
    }

    init(stored json: JSON) throws(DamagedValue) {
        let object = try StoredObject(json, "a part of a message")
        switch object.members.first?.key {
        case "text": self = .text(try object.text("text"))
        case "value": self = .value(try object.text("value"))
        case "strong": self = .strong(try .init(stored: object.array("strong")))
        case "emphasis": self = .emphasis(try .init(stored: object.array("emphasis")))
        case "code": self = .code(try .init(stored: object.array("code")))
        case "link":
            self = .link(label: try .init(stored: object.array("link")), address: try .init(stored: object.array("address")))
        case "break": self = .lineBreak
        default: throw DamagedValue("a part of a message is of an unknown kind")
        }
    }
}

extension [Message.Inline] {
    var stored: JSON { .array(map(\.stored)) }

    init(stored array: [JSON]) throws(DamagedValue) {
        self = []
        reserveCapacity(array.count)
        for json in array { append(try Message.Inline(stored: json)) }
    }
}

extension [[Message.Inline]] {
    init(stored array: [JSON]) throws(DamagedValue) {
        self = []
        for json in array {
            guard let line = json.asArray else { throw DamagedValue("a line of a message is a \(json.kindName)") }
            append(try [Message.Inline](stored: line))
        }
    }
}
