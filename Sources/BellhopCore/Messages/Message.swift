/// The content of a `notify`, as a tree that separates the rule's markup from inserted values, so that each receiver can render
/// the former and escape the latter.
public struct Message: Sendable, Hashable {
    /// Plain text.
    public var title: [Inline]
    public var text: [Block]
    public var list: List?
    public var fields: [Field]
    public var severity: Severity
    public var link: Link?
    /// Groups messages, if the receiver has threads.
    public var thread: String?
    /// True if the rule's message could not be rendered and this plain one replaces it.
    public var isFallback: Bool

    public init(
        title: [Inline], text: [Block] = [], list: List? = nil, fields: [Field] = [], severity: Severity = .info,
        link: Link? = nil,
        thread: String? = nil, isFallback: Bool = false
    ) {
        self.title = title
        self.text = text
        self.list = list
        self.fields = fields
        self.severity = severity
        self.link = link
        self.thread = thread
        self.isFallback = isFallback
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
            self.items = items
            self.more = more
            self.empty = empty
        }
    }

    public struct Field: Sendable, Hashable {
        public var name: [Inline]
        public var value: [Inline]

        public init(name: [Inline], value: [Inline]) {
            self.name = name
            self.value = value
        }
    }

    public struct Link: Sendable, Hashable {
        public var label: String
        public var address: String

        public init(label: String, address: String) {
            self.label = label
            self.address = address
        }
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
