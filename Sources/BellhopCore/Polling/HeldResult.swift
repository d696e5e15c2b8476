/// A poll's result that is held back: enough to know it again when the next poll shows the same.
public struct HeldResult: Sendable, Hashable {
    /// Of the keys that were new and of those that were gone.
    public var fingerprint: Fingerprint
    /// How many tasks were known.
    public var known: Int
    /// How many were listed.
    public var listed: Int
    /// How many of the listed were new.
    public var new: Int
    /// How many of the known were gone.
    public var gone: Int
    /// How many polls in a row were held, this one included, whether or not they showed the same.
    public var polls: Int

    /// What is held of this comparison.
    public init(known: Int, listing: Listing, comparison: Comparison, polls: Int = 1) {
        self.polls = polls
        self.known = known
        listed = listing.entries.count
        new = comparison.new.count
        gone = comparison.gone.count
        var builder = FingerprintBuilder()
        builder.add("new")
        for key in comparison.new.map({ listing.entries[$0].key }).sorted() { builder.add(key.text) }
        builder.add("gone")
        for key in comparison.gone.sorted() { builder.add(key.text) }
        builder.add(Int64(new))
        fingerprint = builder.fingerprint
    }

    /// The result as it is kept, and as `source_held` tells its counts.
    public var json: JSON {
        [
            "fingerprint": .string(fingerprint.hex), "known": .int(Int64(known)), "listed": .int(Int64(listed)),
            "new": .int(Int64(new)), "gone": .int(Int64(gone)), "polls": .int(Int64(polls)),
        ]
    }

    /// Reads what ``json`` wrote; nil when it is anything else.
    public init?(json: JSON) {
        guard let hex = json["fingerprint"]?.asString, let fingerprint = Fingerprint(hex: hex),
            let known = json["known"]?.asInt, let listed = json["listed"]?.asInt, let new = json["new"]?.asInt,
            let gone = json["gone"]?.asInt
        else { return nil }
        self.fingerprint = fingerprint
        polls = json["polls"]?.asInt.map { Int($0) } ?? 1
        (self.known, self.listed, self.new, self.gone) = (Int(known), Int(listed), Int(new), Int(gone))
    }
}
