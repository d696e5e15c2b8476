/// A poll's result that is held back, with a fingerprint that shows whether the next poll has the same.
public struct HeldResult: Sendable, Hashable {
    /// The fingerprint of the keys that were new and of those that were gone.
    public var fingerprint: Fingerprint
    /// How many tasks were known.
    public var known: Int
    /// How many were listed.
    public var listed: Int
    /// How many of the listed were new.
    public var new: Int
    /// How many of the known were gone.
    public var gone: Int
    /// How many of the known tasks changed in the same fields, if this is why it is held; otherwise 0.
    public var changed = 0
    /// The fields in which they changed.
    public var fields: [String] = []
    /// How many polls in a row were held, including this one, whether or not their results were the same.
    public var polls: Int
    /// When the first of these polls was held. If a list is empty and the one before was not, or vice versa, it begins anew.
    public var since: Timestamp

    /// A result that is held because of this comparison.
    /// - Parameter previous: the previous poll's held result, if any.
    public init(
        known: Int, listing: Listing, comparison: Comparison, after previous: HeldResult? = nil, at now: Timestamp
    ) {
        self.init(
            known: known, listed: listing.entries.count, new: comparison.new.map { listing.entries[$0].key },
            gone: comparison.gone, after: previous, at: now)
    }

    init(
        known: Int, listed: Int, new: [TaskKey], gone: [TaskKey], after previous: HeldResult? = nil, at now: Timestamp
    ) {
        self.known = known
        self.listed = listed
        self.new = new.count
        self.gone = gone.count
        polls = (previous?.polls ?? 0) + 1
        since = previous.flatMap { ($0.listed == 0) == (listed == 0) ? $0.since : nil } ?? now
        var builder = FingerprintBuilder()
        builder.add("new")
        for key in new.sorted() { builder.add(key.text) }
        builder.add("gone")
        for key in gone.sorted() { builder.add(key.text) }
        builder.add(Int64(new.count))
        fingerprint = builder.fingerprint
    }

    /// The result in its stored form.
    public var json: JSON {
        [
            "fingerprint": .string(fingerprint.hex), "known": .int(Int64(known)), "listed": .int(Int64(listed)),
            "new": .int(Int64(new)), "gone": .int(Int64(gone)), "changed": .int(Int64(changed)),
            "fields": .array(fields.map(JSON.string)), "polls": .int(Int64(polls)), "since": .int(since.microseconds),
        ]
    }

    /// Reads the form of ``json``; nil for anything else.
    public init?(json: JSON) {
        guard let hex = json["fingerprint"]?.asString, let fingerprint = Fingerprint(hex: hex),
            let known = json["known"]?.asInt, let listed = json["listed"]?.asInt, let new = json["new"]?.asInt,
            let gone = json["gone"]?.asInt, let changed = json["changed"]?.asInt, let polls = json["polls"]?.asInt,
            let fields = json["fields"]?.asArray, let since = json["since"]?.asInt
        else { return nil }
        self.fingerprint = fingerprint
        (self.known, self.listed, self.new, self.gone) = (Int(known), Int(listed), Int(new), Int(gone))
        (self.changed, self.polls) = (Int(changed), Int(polls))
        self.fields = fields.compactMap(\.asString)
        self.since = Timestamp(microseconds: since)
    }
}
