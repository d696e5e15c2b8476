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
