/// What a `notify` says, as a tree that keeps the rule's own markup apart from the values that were inserted, so that each receiver
/// can render the first and escape the second.
public struct Message: Sendable, Hashable {
    /// Plain text.
    public var title: [Inline]
    public var text: [Block]
    public var list: List?
    public var fields: [Field]
    public var severity: Severity
    public var link: Link?
    /// Messages of one thread belong together, where the receiver has threads.
    public var thread: String?
    /// True when the rule's message could not be rendered and this plain one stands in for it.
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
        /// The rule author's words.
        case text(String)
        /// An inserted value: never markup, whatever it holds.
        case value(String)
        case strong([Inline])
        case emphasis([Inline])
        case code([Inline])
        /// `address` may hold inserted values; a renderer checks that the whole is an http or https address before it links.
        case link(label: [Inline], address: [Inline])
        case lineBreak
    }

    public enum Block: Sendable, Hashable {
        case paragraph([Inline])
        /// A bulleted (or numbered) list; one line of inlines per item.
        case list(ordered: Bool, items: [[Inline]])
    }

    public struct List: Sendable, Hashable {
        public var items: [[Inline]]
        /// How many elements there are beyond `items`.
        public var more: Int
        /// What is said when there is no element.
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
    /// The words alone, markup dropped.
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
