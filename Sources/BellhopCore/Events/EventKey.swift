/// The member names in the data of events.
public enum EventKey: String, Sendable {
    // Members of the data itself.
    case task, before, after, changes, comment, removed, page, diff, due, missed
    case connection, user, ok, reason, code
    case source, error, since, counts, fields, delivery
    // Members of a change or a comment.
    case from, to, text, author, kind, time, own, proved
    // Members of a page, a result or a delivery.
    case url, title, known, new, gone, changed, id, rule, action, receiver, occasion, message, by
    // Members of a silence.
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
