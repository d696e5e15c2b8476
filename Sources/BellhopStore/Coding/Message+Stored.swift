import BellhopCore

extension Message {
    /// The message as stored. Empty members are left out.
    var stored: JSON {
        var object: JSON.Object = ["title": title.stored, "severity": .string(severity.rawValue)]
        if !text.isEmpty { object["text"] = .array(text.map(\.stored)) }
        if let list { object["list"] = list.stored }
        if !fields.isEmpty { object["fields"] = .array(fields.map(\.stored)) }
        if !sections.isEmpty { object["sections"] = .array(sections.map(\.stored)) }
        if let link { object["link"] = ["label": .string(link.label), "address": .string(link.address)] }
        if !mentions.isEmpty { object["mentions"] = .array(mentions.map(\.stored)) }
        if let thread { object["thread"] = .string(thread) }
        if update { object["update"] = true }
        if resolve { object["resolve"] = true }
        if isFallback { object["fallback"] = true }
        return .object(object)
    }

    init(stored json: JSON) throws(DamagedValue) {
        let object = try StoredObject(json, "a message")
        guard let severity = Severity(rawValue: try object.text("severity")) else { throw object.missing("severity") }
        self.init(title: try [Inline](stored: object.array("title")), severity: severity)
        let own = try Section(stored: object)
        (text, list, fields) = (own.text, own.list, own.fields)
        for json in object.members["sections"].elements {
            let section = try StoredObject(json, "a message's section")
            sections.append(try Section(stored: section))
            sections[sections.count - 1].title = try [Inline](stored: section.array("title"))
        }
        if let json = object.members["link"] {
            let stored = try StoredObject(json, "a message's link")
            link = Link(label: try stored.text("label"), address: try stored.text("address"))
        }
        for json in object.members["mentions"].elements { mentions.append(try Mention(stored: json)) }
        thread = object.optionalText("thread")
        update = object.members["update"] == true
        resolve = object.members["resolve"] == true
        isFallback = object.members["fallback"] == true
    }
}

extension Message.Section {
    var stored: JSON {
        var object: JSON.Object = ["title": title.stored]
        if !text.isEmpty { object["text"] = .array(text.map(\.stored)) }
        if let list { object["list"] = list.stored }
        if !fields.isEmpty { object["fields"] = .array(fields.map(\.stored)) }
        return .object(object)
    }

    /// The section's parts without its title.
    init(stored object: StoredObject) throws(DamagedValue) {
        self.init()
        for block in object.members["text"].elements { text.append(try Message.Block(stored: block)) }
        if let json = object.members["list"] { list = try Message.List(stored: json) }
        for json in object.members["fields"].elements { fields.append(try Message.Field(stored: json)) }
    }
}

extension Message.Field {
    var stored: JSON { ["name": name.stored, "value": value.stored] }

    init(stored json: JSON) throws(DamagedValue) {
        let field = try StoredObject(json, "a message's field")
        self.init(name: try .init(stored: field.array("name")), value: try .init(stored: field.array("value")))
    }
}

extension Message.Mention {
    var stored: JSON {
        switch self {
        case .user(let id): ["user": .string(id)]
        case .group(let id): ["group": .string(id)]
        }
    }

    init(stored json: JSON) throws(DamagedValue) {
        let object = try StoredObject(json, "a mention")
        self = object.members["user"] == nil ? .group(try object.text("group")) : .user(try object.text("user"))
    }
}

extension Message.List {
    var stored: JSON { ["items": .array(items.map(\.stored)), "more": .int(Int64(more)), "empty": empty.stored] }

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
    /// An object with a member named for the case, so that the rule's own markup and inserted values are stored separately.
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
