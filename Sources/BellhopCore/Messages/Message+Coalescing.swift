extension Message {
    /// How much of the messages that it takes the place of a message names.
    public enum Extent: Sendable, Hashable {
        /// What every receiver shows whole.
        case short
        /// All of them: what is more than a receiver takes is left out by its renderer, which counts it.
        case whole

        /// The most lines, and the most characters of all lines.
        public var lines: Int { self == .short ? 20 : 1000 }
        fileprivate var characters: Int { self == .short ? 2000 : 50_000 }
    }

    /// One message in the place of several: a line each, with its title and link. As many as fit, the rest counted. It mentions the
    /// people that they mention, up to a number that leaves room for the lines, and has the highest of their severities.
    ///
    /// - Parameters:
    ///   - messages: the first ones.
    ///   - count: how many there are in all.
    ///   - title: what follows the count in the title.
    ///   - notes: what stands at the end of each line.
    public static func coalesced(
        _ messages: [Message], of count: Int, title: String = "messages", extent: Extent = .short, notes: [[Inline]] = []
    ) -> Message {
        var items: [[Inline]] = []
        var room = extent.characters
        for (number, message) in messages.prefix(extent.lines).enumerated() {
            let line = message.line + (number < notes.count ? notes[number] : [])
            room -= line.plainText.count
            if room < 0, !items.isEmpty { break }
            items.append(line)
        }
        let severities = Severity.allCases
        let worst = messages.map(\.severity).max { severities.firstIndex(of: $0) ?? 0 < severities.firstIndex(of: $1) ?? 0 }
        var mentions: [Mention] = []
        for mention in messages.lazy.flatMap(\.mentions) where !mentions.contains(mention) { mentions.append(mention) }
        let others = mentions.count - mostMentions
        let note: [Block] = others > 0 ? [.paragraph([.text("Mentions of \(others) others are left out.")])] : []
        return Message(
            title: [.text("\(count) \(title)")], text: note, list: List(items: items, more: count - items.count),
            severity: worst ?? .info, mentions: Array(mentions.prefix(mostMentions)))
    }

    private static let mostMentions = 20
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

    /// The receipt of a delivery whose message is a line of this one.
    public static func receipt(joinedIn delivery: ID) -> Receipt { Receipt("sent with others in delivery \(delivery.text)") }

    /// The delivery of one message in the place of several.
    ///
    /// - Parameters:
    ///   - first: the first of these deliveries, whose facts it is made of.
    ///   - expires: when the last of these expires; nil if one never does.
    ///   - name: the name of its step.
    public static func coalescing(
        _ message: Message, insteadOf first: Delivery, expires: Timestamp?, hop: Int, at now: Timestamp,
        name: String = "coalesced messages"
    ) -> Delivery {
        let id = coalescing(first)
        return Delivery(
            id: id, revision: first.revision, action: first.action, name: name, arguments: .message(message),
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
