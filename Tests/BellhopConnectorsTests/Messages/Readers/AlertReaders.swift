import BellhopCore

/// A notification of ntfy: a title and a text without markup, and a button with the same address as the click.
struct NtfyReader: FormatReader {
    func read(_ body: JSON) -> ReadText {
        var read = ReadText()
        read.add(body["title"]?.asString ?? "")
        guard let message = body["message"]?.asString else {
            read.surprises.append("no message")
            return read
        }
        if body["markdown"] == true { read.surprises.append("Markdown") }
        read.add(message)
        let buttons = body["actions"]?.asArray ?? []
        for button in buttons { read.addLink(button["label"], button["url"]) }
        if buttons.count > 1 || body["click"] != buttons.first?["url"] { read.surprises.append("another click") }
        return read
    }
}

/// An event for PagerDuty: plain texts only. Its own text is the detail `text`.
struct PagerDutyReader: FormatReader {
    func read(_ body: JSON) -> ReadText {
        var read = ReadText()
        let payload = body["payload"] ?? .null
        read.add(payload["summary"]?.asString ?? "")
        read.add(payload["severity"]?.asString ?? "")
        let details = Array(payload["custom_details"]?.asObject ?? [:])
        // The fields come first, then the text, the rule and the delivery.
        for (place, detail) in details.enumerated() {
            let isText = place == details.count - 3 && detail.0.hasPrefix("text")
            if !isText { read.add(detail.0) }
            if let text = detail.1.asString { read.add(text) } else { read.surprises.append("a detail without text") }
        }
        for link in body["links"]?.asArray ?? [] { read.addLink(link["text"], link["href"]) }
        if body["client_url"] != body["links"]?[0]?["href"] { read.surprises.append("another address of the client") }
        return read
    }
}

/// An alert of Opsgenie: its title, the HTML of its description, and its details.
struct OpsgenieReader: FormatReader {
    func read(_ body: JSON) -> ReadText {
        var read = ReadText()
        let title = body["message"]?.asString ?? ""
        if title.contains("<") || title.contains(">") { read.surprises.append("angle brackets in the title") }
        read.add(title)
        read.add(HTMLReader().read(body["description"]?.asString ?? "<"))
        for (name, value) in body["details"]?.asObject ?? [:] {
            read.add(name)
            if let text = value.asString { read.add(text) } else { read.surprises.append("a detail without text") }
        }
        read.mentions += (body["responders"]?.asArray ?? []).map { String(decoding: $0.encoded(), as: UTF8.self) }
        return read
    }
}

extension ReadText {
    fileprivate mutating func addLink(_ label: JSON?, _ address: JSON?) {
        let address = address?.asString ?? ""
        if !address.hasPrefix("https://") { surprises.append("a link to \(address)") }
        add(label?.asString ?? "", .init(link: address))
    }
}
