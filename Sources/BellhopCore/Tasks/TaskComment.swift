/// An entry of a task's journal.
public struct TaskComment: Sendable, Hashable {
    /// What tells it from all other entries of its instance.
    public var id: String
    public var task: TaskKey
    public var text: String
    /// The author's user name, or the name as people read it where the journal itself cannot be read.
    public var author: String
    /// The journal it is in, as the source's `journal:` names it: `comments` or `work_notes`.
    public var kind: String
    public var time: Timestamp
    /// Whether the author is the account that the source reads with: then it may be a comment of our own.
    public var isByOurUser: Bool

    public init(
        id: String, task: TaskKey, text: String, author: String, kind: String, time: Timestamp, isByOurUser: Bool
    ) {
        self.id = id
        self.task = task
        self.text = text
        self.author = author
        self.kind = kind
        self.time = time
        self.isByOurUser = isByOurUser
    }

    /// The entry as `event.data.comment` holds it and as expressions see it.
    /// - Parameter own: whether a delivery of ours wrote it.
    public func json(own: Bool) -> JSON {
        [
            "text": .string(text), "author": .string(author), "kind": .string(kind), "time": .string(time.rfc3339),
            "own": .bool(own),
        ]
    }
}

/// A comment that a delivery of ours wrote on a task, or may have written.
public struct WrittenComment: Sendable, Hashable {
    /// The sys_id of its journal entry, where it was read back.
    public var reference: String?
    public var text: String
    public var hop: Int

    public init(reference: String?, text: String, hop: Int) {
        self.reference = reference
        self.text = text
        self.hop = hop
    }

    /// Whether this is the entry: by its id where that is known, else by what it says, in which blanks do not count, for the server and
    /// we ourselves may have changed some.
    public func isEntry(_ comment: TaskComment) -> Bool {
        guard comment.isByOurUser else { return false }
        if let reference, reference == comment.id { return true }
        return text.lazy.filter { !$0.isWhitespace }.elementsEqual(comment.text.lazy.filter { !$0.isWhitespace })
    }
}
