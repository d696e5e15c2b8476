/// An entry of a task's journal.
public struct TaskComment: Sendable, Hashable {
    /// What is known of who wrote an entry.
    public enum Authorship: Sendable, Hashable {
        /// The account that the source reads with: then it may be a comment of our own.
        case ours
        case others
        /// Nobody says, or not for certain.
        case unknown
    }

    /// What tells it from all other entries of its instance.
    public var id: String
    public var task: TaskKey
    public var text: String
    /// The author's user name, or the name as people read it where the journal itself cannot be read; empty where it is not certain.
    public var author: String
    /// The journal it is in, as the source's `journal:` names it: `comments` or `work_notes`.
    public var kind: String
    public var time: Timestamp
    public var authorship: Authorship
    /// False for what stands in a task's history like an entry, and may be a part of the text of the entry above it.
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

    /// The entry as `event.data.comment` holds it and as expressions see it.
    /// - Parameter own: whether a delivery of ours wrote it.
    public func json(own: Bool) -> JSON {
        [
            "text": .string(text), "author": .string(author), "kind": .string(kind), "time": .string(time.rfc3339),
            "own": .bool(own), "proved": .bool(isProved),
        ]
    }
}

/// A comment that a delivery of ours wrote on a task, or may have written.
public struct WrittenComment: Sendable, Hashable {
    /// The id of its journal entry, where it was found again.
    public var reference: String?
    public var text: String
    public var hop: Int
    /// What ends it on a connection that marks its comments.
    public var marker: String

    public init(reference: String?, text: String, hop: Int, marker: String = "") {
        self.reference = reference
        self.text = text
        self.hop = hop
        self.marker = marker
    }

    /// How near an entry comes to a comment of our own.
    public enum Match: Int, Comparable, Sendable {
        /// Our account wrote it while it is not known which entry is the comment: a rule that answers comments must not answer its own.
        case possible
        /// It says the same, allowing for how an instance may have written it down.
        case alike
        /// It has its id, its marker or its very words.
        case same

        public static func < (left: Match, right: Match) -> Bool { left.rawValue < right.rawValue }
    }

    /// Whether this may be the entry; nil where it is not.
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
    /// What ends a comment on a connection that marks its comments: short, and of this delivery alone among those of a task.
    public var marker: String { Self.marker(of: text) }

    /// The marker of the delivery that people know by this name.
    public static func marker(of name: String) -> String { "ref " + name.prefix(6) }
}
