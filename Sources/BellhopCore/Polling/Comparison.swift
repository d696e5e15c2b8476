/// How a listing differs from what is known: what must be read, and what has left.
///
/// A record whose bytes differ counts as changed even if they say the same in another order; its details decide.
public struct Comparison: Sendable, Hashable {
    /// The entries of the listing that are not known.
    public var new: [Int] = []
    /// The entries of the listing whose fingerprint is not the known one.
    public var changed: [Int] = []
    /// The known tasks that the listing has no more, in the order in which they are known.
    public var gone: [TaskKey] = []
    /// How many tasks are as they were.
    public var unchanged = 0

    public init() {}

    /// Whether nothing is new, changed or gone.
    public var isEmpty: Bool { new.isEmpty && changed.isEmpty && gone.isEmpty }
}

extension KnownTasks {
    /// Compares an answer with what is known: nothing is gone because of one that is not whole.
    public func compare(with answer: Answer) -> Comparison {
        switch answer.coverage {
        case .whole: compare(with: answer.listing)
        case .part: compare(with: answer.listing, isWhole: false)
        case .same: Comparison()
        }
    }

    /// Compares a listing with what is known.
    ///
    /// The listing is walked in its order, and the task after the last one met is tried first; only where that is another one is
    /// the index asked.
    /// - Parameter isWhole: false when a task that is not listed may be there all the same.
    public func compare(with listing: Listing, isWhole: Bool = true) -> Comparison {
        var comparison = Comparison()
        var isMet = [UInt64](repeating: 0, count: isWhole ? (count + 63) / 64 : 0)
        var met = 0
        var expected = 0  // where the order of the answer goes on
        var aside = count  // where it goes on after a task that stood elsewhere
        for place in listing.entries.indices {
            let found: Int?
            if expected < count, self[expected].key == listing.entries[place].key {
                found = expected
                expected += 1
            } else if aside < count, self[aside].key == listing.entries[place].key {
                found = aside
                aside += 1
            } else {
                found = self.place(of: listing.entries[place].key)
                if let found {
                    (expected, aside) = found > expected && found - expected < 64 ? (found + 1, aside) : (expected, found + 1)
                }
            }
            guard let found else {
                comparison.new.append(place)
                continue
            }
            if isWhole { isMet[found >> 6] |= 1 << UInt64(found & 63) }
            met += 1
            if self[found].listed == listing.entries[place].fingerprint {
                comparison.unchanged += 1
            } else {
                comparison.changed.append(place)
            }
        }
        if isWhole, met < count {
            comparison.gone.reserveCapacity(count - met)
            for place in indices where isMet[place >> 6] & (1 << UInt64(place & 63)) == 0 {
                comparison.gone.append(self[place].key)
            }
        }
        return comparison
    }
}
