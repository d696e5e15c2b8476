extension Message {
    /// Why one message replaces several.
    public enum Coalescing: Sendable, Hashable, CaseIterable {
        /// They waited for their receiver. It lists few enough that every receiver shows the message in full.
        case waiting
        /// A quiet time kept them back. It lists all; if a receiver accepts fewer, its renderer leaves out the rest and says how many.
        case keptBack

        /// The most lines, and the most characters of all lines.
        public var lines: Int { self == .waiting ? 20 : 1000 }
        fileprivate var characters: Int { self == .waiting ? 2000 : 50_000 }

        /// The words after the count in the title.
        fileprivate var title: String { self == .waiting ? "messages" : "messages were kept back" }
        /// The step name of the delivery.
        fileprivate var step: String { self == .waiting ? "coalesced messages" : "kept back messages" }
    }

    /// One message that replaces several. It has one line per message, with that message's title and link; messages that do not fit
    /// are counted. It has the highest severity of the messages and mentions the people that they mention, up to a limit that leaves
    /// room for the lines.
    ///
    /// - Parameters:
    ///   - messages: all of them; the first are listed.
    ///   - notes: the text to add at the end of each line.
    public static func coalesced(
        _ messages: [Message], as coalescing: Coalescing = .waiting, notes: [[Inline]] = []
    ) -> Message {
        var items: [[Inline]] = []
        var room = coalescing.characters
        for (number, message) in messages.prefix(coalescing.lines).enumerated() {
            let line = [message.line] + (number < notes.count ? notes[number] : [])
            room -= line.plainText.count
            if room < 0, !items.isEmpty { break }
            items.append(line)
        }
        let severities = Severity.allCases
        let worst = messages.map(\.severity).max { severities.firstIndex(of: $0) ?? 0 < severities.firstIndex(of: $1) ?? 0 }
        let mentions = messages.flatMap(\.mentions).unique()
        let others = mentions.count - maxMentions
        let left = others == 1 ? "The mention of one other is" : "Mentions of \(others) others are"
        let note: [Block] = others > 0 ? [.paragraph([.text("\(left) left out.")])] : []
        return Message(
            title: [.text("\(messages.count) \(coalescing.title)")], text: note,
            list: List(items: items, more: messages.count - items.count),
            severity: worst ?? .info, mentions: Array(mentions.prefix(maxMentions)))
    }

    /// The notes at the end of the lines of a coalesced message.
    public var coalescedNotes: [[Inline]] { list?.items.map { Array($0.dropFirst()) } ?? [] }

    private static let maxMentions = 20
    private static let longestLine = 150

    /// Its title, or else its first words, linked.
    private var line: Inline {
        var words = title.plainText
        for case .paragraph(let inlines) in text where words.isEmpty { words = inlines.plainText }
        if words.isEmpty { words = list?.items.first?.plainText ?? "" }
        words = String(words.map { $0.isNewline ? " " : $0 })
        let label = Inline.value(words.count > Self.longestLine ? words.prefix(Self.longestLine - 1) + "…" : words)
        guard let link else { return label }
        return .link(label: [words.isEmpty ? .value(link.label) : label], address: [.value(link.address)])
    }
}

extension Delivery {
    /// The name of the delivery that replaces this one and others.
    public static func coalescing(_ first: Delivery) -> ID {
        var id = first.id
        id.step = StepPath("\(id.step.text).\(coalesced)")
        return id
    }

    /// The receipt of a delivery whose message is a line of this one, whose id is the reference.
    public static func receipt(joining delivery: ID) -> Receipt {
        Receipt("joined delivery \(delivery.text)", reference: delivery.text)
    }

    /// The delivery of one message that replaces several.
    ///
    /// - Parameters:
    ///   - first: the first of the replaced deliveries. The new one has the same rule revision, action and retry policy.
    ///   - expires: when the last of the replaced deliveries expires; nil if one of them never does.
    public static func coalescing(
        _ message: Message, insteadOf first: Delivery, expires: Timestamp?, hop: Int, at now: Timestamp,
        as coalescing: Message.Coalescing = .waiting
    ) -> Delivery {
        let id = Self.coalescing(first)
        return Delivery(
            id: id, revision: first.revision, action: first.action, name: coalescing.step, arguments: .message(message),
            task: nil, lane: "coalesced/\(id.text)", createdAt: now, expires: expires, retry: first.retry, hop: hop)
    }

    /// Whether this delivery is a message that may be coalesced with others: one without a `thread` and mentions, and not coalesced
    /// already.
    public var coalesces: Bool { Self.coalesces(arguments, action: action, step: id.step) }

    public static func coalesces(_ arguments: Arguments, action: String, step: StepPath) -> Bool {
        guard action == "notify", case .message(let message) = arguments else { return false }
        return message.thread == nil && message.mentions.isEmpty && !step.isCoalesced
    }

    /// Why its message replaces several; nil if it does not.
    public var coalescing: Message.Coalescing? {
        id.step.isCoalesced ? Message.Coalescing.allCases.first { $0.step == name } : nil
    }

    /// The last part of the step path of a delivery of coalesced messages.
    public static let coalesced = "coalesced"
}

extension StepPath {
    /// Whether it belongs to a delivery of coalesced messages.
    public var isCoalesced: Bool { text.hasSuffix(".\(Delivery.coalesced)") }
}
