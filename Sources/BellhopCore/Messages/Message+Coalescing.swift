extension Message {
    /// One message in the place of several: a line each, with its title and link. As many as fit, the rest counted.
    ///
    /// - Parameters:
    ///   - messages: the first ones.
    ///   - count: how many there are in all.
    public static func coalesced(_ messages: [Message], of count: Int) -> Message {
        var items: [[Inline]] = []
        var room = mostCharacters
        for message in messages.prefix(mostLines) {
            let line = message.line
            room -= line.plainText.count
            if room < 0, !items.isEmpty { break }
            items.append(line)
        }
        let severities = Severity.allCases
        let worst = messages.map(\.severity).max { severities.firstIndex(of: $0) ?? 0 < severities.firstIndex(of: $1) ?? 0 }
        return Message(
            title: [.text("\(count) messages")], list: List(items: items, more: count - items.count), severity: worst ?? .info)
    }

    /// The most lines of a coalesced message, and the most characters of all its lines: what every receiver shows whole.
    public static let mostLines = 20
    private static let mostCharacters = 2000
    private static let longestLine = 150

    /// Its title, or else its first words, linked.
    private var line: [Inline] {
        var words = title.plainText
        for case .paragraph(let inlines) in text where words.isEmpty { words = inlines.plainText }
        if words.isEmpty { words = list?.items.first?.plainText ?? "" }
        words = String(words.map { $0.isNewline ? " " : $0 })
        let label: [Inline] = [.value(words.count > Self.longestLine ? words.prefix(Self.longestLine - 1) + "…" : words)]
        guard let link else { return label }
        return [.link(label: words.isEmpty ? [.value(link.label)] : label, address: [.value(link.address)])]
    }
}

extension Delivery {
    /// The name of the delivery that takes the place of this one and others.
    public static func coalescing(_ first: Delivery) -> ID {
        var id = first.id
        id.step = StepPath("\(id.step.text).\(coalesced)")
        return id
    }

    /// The delivery of one message in the place of several.
    ///
    /// - Parameters:
    ///   - first: the first of these deliveries, whose facts it is made of.
    ///   - expires: when the last of these expires; nil if one never does.
    public static func coalescing(
        _ message: Message, insteadOf first: Delivery, expires: Timestamp?, hop: Int, at now: Timestamp
    ) -> Delivery {
        let id = coalescing(first)
        return Delivery(
            id: id, revision: first.revision, action: first.action, name: "coalesced messages", arguments: .message(message),
            task: nil, lane: "coalesced/\(id.text)", createdAt: now, expires: expires, retry: first.retry, hop: hop)
    }

    /// Whether this is a message that belongs to itself alone, so that it may become one with others: it has no `thread`, mentions no
    /// one, and is not itself made of several.
    public var coalesces: Bool { Self.coalesces(arguments, action: action, step: id.step) }

    public static func coalesces(_ arguments: Arguments, action: String, step: StepPath) -> Bool {
        guard action == "notify", case .message(let message) = arguments else { return false }
        return message.thread == nil && message.mentions.isEmpty && !step.text.hasSuffix(".\(coalesced)")
    }

    /// How the step of a delivery of coalesced messages ends.
    public static let coalesced = "coalesced"
}
