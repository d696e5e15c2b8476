import BellhopCore

extension Message {
    /// The message as stored. Empty members are left out.
    var stored: JSON {
        var object: JSON.Object = ["title": title.stored, "severity": .string(severity.rawValue)]
        if !text.isEmpty { object["text"] = .array(text.map(\.stored)) }
        if let list {
            object["list"] = [
                "items": .array(list.items.map(\.stored)), "more": .int(Int64(list.more)), "empty": list.empty.stored,
            ]
        }
        if !fields.isEmpty { object["fields"] = .array(fields.map { ["name": $0.name.stored, "value": $0.value.stored] }) }
        if let link { object["link"] = ["label": .string(link.label), "address": .string(link.address)] }
        if let thread { object["thread"] = .string(thread) }
        if isFallback { object["fallback"] = true }
        return .object(object)
    }

    init(stored json: JSON) throws(DamagedValue) {
        let object = try StoredObject(json, "a message")
        guard let severity = Severity(rawValue: try object.text("severity")) else { throw object.missing("severity") }
        self.init(title: try [Inline](stored: object.array("title")), severity: severity)
        for block in object.members["text"]?.asArray ?? [] { text.append(try Block(stored: block)) }
        if let json = object.members["list"] { list = try List(stored: json) }
        for json in object.members["fields"]?.asArray ?? [] {
            let field = try StoredObject(json, "a message's field")
            fields.append(Field(name: try .init(stored: field.array("name")), value: try .init(stored: field.array("value"))))
        }
        if let json = object.members["link"] {
            let stored = try StoredObject(json, "a message's link")
            link = Link(label: try stored.text("label"), address: try stored.text("address"))
        }
        thread = object.optionalText("thread")
        isFallback = object.members["fallback"] == true
    }
}

extension Message.List {
    init(stored json: JSON) throws(DamagedValue) {
        let object = try StoredObject(json, "a message's list")
        self.init(
            items: try [[Message.Inline]](stored: object.array("items")), more: Int(try object.int("more")),
            empty: try [Message.Inline](stored: object.array("empty")))
    }
}

extension Message.Block {
    var stored: JSON {
        switch self {
        case .paragraph(let inlines): ["paragraph": inlines.stored]
        case .list(let ordered, let items): ["list": .array(items.map(\.stored)), "ordered": .bool(ordered)]
        }
    }

    init(stored json: JSON) throws(DamagedValue) {
        let object = try StoredObject(json, "a message's block")
        if object.members["paragraph"] != nil {
            self = .paragraph(try .init(stored: object.array("paragraph")))
        } else {
            self = .list(ordered: object.members["ordered"] == true, items: try .init(stored: object.array("list")))
        }
    }
}

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
