/// A comment on a task, as the system shows it.
public struct TaskComment: Sendable, Hashable {
    /// What is known about an entry's author.
    public enum Authorship: Sendable, Hashable {
        /// The account that the source reads with: it may be our own comment.
        case ours
        case others
        /// Unknown or uncertain.
        case unknown
    }

    /// Its identity among all comments of its instance.
    public var id: String
    public var task: TaskKey
    public var text: String
    /// The author's user name, or the display name if only that can be read; empty if uncertain.
    public var author: String
    /// The kind of comment, by which the system decides who can read it: `comments`, `work_notes`.
    public var kind: String
    public var time: Timestamp
    public var authorship: Authorship
    /// False for text that looks like a comment in a task's history, but may be part of the comment above it.
    public var isProved: Bool

    public init(
        id: String, task: TaskKey, text: String, author: String, kind: String, time: Timestamp, authorship: Authorship,
        isProved: Bool = true
    ) {
        self.id = id
        self.task = task
        self.text = text
        self.author = author
        self.kind = kind
        self.time = time
        self.authorship = authorship
        self.isProved = isProved
    }
}

/// A comment that one of our deliveries wrote on a task, or may have written.
public struct WrittenComment: Sendable, Hashable {
    /// The id under which the system shows it, if known.
    public var reference: String?
    public var text: String
    public var hop: Int
    /// The marker at its end, on a connection that marks its comments.
    public var marker: String

    public init(reference: String?, text: String, hop: Int, marker: String = "") {
        (self.reference, self.text, self.hop, self.marker) = (reference, text, hop, marker)
    }

    /// How closely an entry matches our own comment.
    public enum Match: Int, Comparable, Sendable {
        /// Our account wrote it, and the comment's own entry is unknown: a rule that answers comments must not answer its own.
        case possible
        /// It has the same content, allowing for changes by an instance.
        case alike
        /// It has the same id, marker or text.
        case same

        public static func < (left: Match, right: Match) -> Bool { left.rawValue < right.rawValue }
    }

    /// How closely the entry matches; nil for no match.
    public func match(_ comment: TaskComment) -> Match? {
        if comment.authorship == .others { return nil }
        if let reference, reference == comment.id { return .same }
        if !marker.isEmpty, comment.text.contains(marker) { return .same }
        if text.lazy.filter({ !$0.isWhitespace }).elementsEqual(comment.text.lazy.filter { !$0.isWhitespace }) { return .same }
        let (own, other) = (TextLikeness(text), TextLikeness(comment.text))
        if comment.isProved ? own.covers(other) : own.includes(other) { return .alike }
        return reference == nil && comment.authorship == .ours && comment.isProved ? .possible : nil
    }
}

extension Delivery.ID {
    /// The marker at the end of a comment on a connection that marks its comments: short, and unique to this delivery within a
    /// task.
    public var marker: String { Self.marker(of: text) }

    /// The marker of the delivery with this short name.
    public static func marker(of name: String) -> String { "ref " + name.prefix(6) }
}
