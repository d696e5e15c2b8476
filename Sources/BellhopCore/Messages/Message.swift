/// The content of a `notify`, as a tree that separates the rule's markup from inserted values, so that each receiver can render
/// the former and escape the latter.
public struct Message: Sendable, Hashable {
    /// Plain text.
    public var title: [Inline]
    public var text: [Block]
    public var list: List?
    public var fields: [Field]
    /// The parts that follow, each under its own title.
    public var sections: [Section]
    public var severity: Severity
    public var link: Link?
    /// The only people it may notify by name, each once: a receiver would notify twice, or refuse the message.
    public var mentions: [Mention] { didSet { mentions = mentions.unique() } }
    /// The key of its conversation: the receiver shows messages with the same key together.
    public var thread: String?
    /// Whether it replaces the first message of its conversation, instead of answering it.
    public var update: Bool
    /// Whether it closes what its conversation opened, such as an alert.
    public var resolve: Bool
    /// True if the rule's message could not be rendered and this plain one replaces it.
    public var isFallback: Bool

    public init(
        title: [Inline], text: [Block] = [], list: List? = nil, fields: [Field] = [], sections: [Section] = [],
        severity: Severity = .info, link: Link? = nil, mentions: [Mention] = [], thread: String? = nil, update: Bool = false,
        resolve: Bool = false, isFallback: Bool = false
    ) {
        self.title = title
        self.text = text
        self.list = list
        self.fields = fields
        self.sections = sections
        self.severity = severity
        self.link = link
        self.mentions = mentions.unique()
        self.thread = thread
        self.update = update
        self.resolve = resolve
        self.isFallback = isFallback
    }

    /// Its own text, list and fields as a section without a title, if it has any, and then its sections.
    public var parts: [Section] {
        let own = Section(text: text, list: list, fields: fields)
        return own == Section() ? sections : [own] + sections
    }

    /// The conversation key in a text: without blanks at its ends, because some receivers drop them. Nil if nothing is left.
    public static func threadKey(_ text: String) -> String? {
        // By scalars, because a blank and a combining mark after it are one whitespace character.
        var key = text.unicodeScalars[...]
        while let last = key.last, last.properties.isWhitespace { key.removeLast() }
        while let first = key.first, first.properties.isWhitespace { key.removeFirst() }
        return key.isEmpty ? nil : String(key)
    }

    /// The conversation's key in the store, in lanes and at pagers; nil without a thread.
    public var conversation: String? { thread.map(Self.conversation(of:)) }

    /// The key of a thread's conversation: the thread itself, or its hash if it is long.
    public static func conversation(of thread: String) -> String {
        thread.utf8.count <= 200 ? thread : Identity.of(["thread", thread])
    }

    public enum Severity: String, Sendable, Hashable, CaseIterable { case info, warning, error, critical }

    public indirect enum Inline: Sendable, Hashable {
        /// The rule author's text.
        case text(String)
        /// An inserted value: never markup, whatever it contains.
        case value(String)
        case strong([Inline])
        case emphasis([Inline])
        case code([Inline])
        /// `address` may contain inserted values; a renderer links only if the whole is an http or https address.
        case link(label: [Inline], address: [Inline])
        case lineBreak
    }

    public enum Block: Sendable, Hashable {
        case paragraph([Inline])
        /// A bulleted or numbered list; one line of inlines per item.
        case list(ordered: Bool, items: [[Inline]])
    }

    public struct List: Sendable, Hashable {
        public var items: [[Inline]]
        /// How many elements there are besides `items`.
        public var more: Int
        /// The text for an empty list.
        public var empty: [Inline]

        public init(items: [[Inline]], more: Int = 0, empty: [Inline] = []) {
            (self.items, self.more, self.empty) = (items, more, empty)
        }
    }

    public struct Field: Sendable, Hashable {
        public var name: [Inline]
        public var value: [Inline]

        public init(name: [Inline], value: [Inline]) { (self.name, self.value) = (name, value) }
    }

    /// A part of a message.
    public struct Section: Sendable, Hashable {
        /// Plain text; empty for none.
        public var title: [Inline]
        public var text: [Block]
        public var list: List?
        public var fields: [Field]

        public init(title: [Inline] = [], text: [Block] = [], list: List? = nil, fields: [Field] = []) {
            (self.title, self.text, self.list, self.fields) = (title, text, list, fields)
        }
    }

    /// A user or a group, by the id that the receiver uses for it.
    public enum Mention: Sendable, Hashable {
        case user(String)
        case group(String)
    }

    public struct Link: Sendable, Hashable {
        public var label: String
        public var address: String

        public init(label: String, address: String) { (self.label, self.address) = (label, address) }
    }
}

extension [Message.Inline] {
    /// The text alone, without markup.
    public var plainText: String {
        var text = ""
        for inline in self {
            switch inline {
            case .text(let words), .value(let words): text += words
            case .strong(let inner), .emphasis(let inner), .code(let inner): text += inner.plainText
            case .link(let label, let address):
                let address = address.plainText
                let label = label.plainText
                text += label == address || label.isEmpty ? address : "\(label) (\(address))"
            case .lineBreak: text += "\n"
            }
        }
        return text
    }
}
