/// The names of the members of events' data.
public enum EventKey: String, Sendable {
    // Of an event's data.
    case task, before, after, changes, comment, removed, page, diff, due, missed
    case connection, user, ok, reason, code
    case source, error, since, counts, fields, delivery
    // Of a change and a comment.
    case from, to, text, author, kind, time, own, proved
    // Of a page, a result and a delivery.
    case url, title, known, new, gone, changed, id, rule, action, receiver, occasion, message, by
    // Of a silence.
    case silence, when, rules, receivers, starts, ends, writes, kept
}

extension JSON.Object {
    public subscript(key: EventKey) -> JSON? {
        get { self[key.rawValue] }
        set { self[key.rawValue] = newValue }
    }

    /// An object with these members, except those without a value.
    init(_ members: KeyValuePairs<EventKey, JSON?>) {
        self.init(distinct: members.compactMap { member in member.value.map { (member.key.rawValue, $0) } })
    }
}

extension JSON {
    public subscript(key: EventKey) -> JSON? { self[key.rawValue] }
}
