/// How a listing differs from the known tasks: which records must be read, and which tasks have left.
///
/// A record with different bytes counts as changed even if only their order differs; its details decide.
public struct Comparison: Sendable, Hashable {
    /// The entries of the listing that are not known.
    public var new: [Int] = []
    /// The entries of the listing with a different fingerprint.
    public var changed: [Int] = []
    /// The known tasks that are no longer in the listing, in their known order.
    public var gone: [TaskKey] = []
    public var unchanged = 0

    public init() {}

    /// Whether all tasks are unchanged.
    public var isEmpty: Bool { new.isEmpty && changed.isEmpty && gone.isEmpty }
}

extension KnownTasks {
    /// Compares an answer with the known tasks: a partial answer removes nothing.
    public func compare(with answer: Answer) -> Comparison {
        switch answer.coverage {
        case .whole: compare(with: answer.listing)
        case .part: compare(with: answer.listing, isWhole: false)
        case .same: Comparison()
        }
    }

    /// Compares a listing with the known tasks.
    ///
    /// For each entry, the known task after the last match is tried first; the index is used only if that fails.
    /// - Parameter isWhole: false if an unlisted task may still exist.
    public func compare(with listing: Listing, isWhole: Bool = true) -> Comparison {
        var comparison = Comparison()
        var isListed = [UInt64](repeating: 0, count: isWhole ? (count + 63) / 64 : 0)
        var listed = 0
        var expected = 0  // the next known task in the answer's order
        var displaced = count  // the known task after the latest one that was found out of order
        for place in listing.entries.indices {
            let found: Int?
            if expected < count, self[expected].key == listing.entries[place].key {
                found = expected
                expected += 1
            } else if displaced < count, self[displaced].key == listing.entries[place].key {
                found = displaced
                displaced += 1
            } else {
                found = self.place(of: listing.entries[place].key)
                if let found {
                    // A short jump forward skips tasks that have left; any other jump is a task out of order.
                    if found > expected, found - expected < 64 { expected = found + 1 } else { displaced = found + 1 }
                }
            }
            guard let found else {
                comparison.new.append(place)
                continue
            }
            if isWhole { isListed[found >> 6] |= 1 << UInt64(found & 63) }
            listed += 1
            if self[found].listed == listing.entries[place].fingerprint {
                comparison.unchanged += 1
            } else {
                comparison.changed.append(place)
            }
        }
        if isWhole, listed < count {
            comparison.gone.reserveCapacity(count - listed)
            for place in indices where isListed[place >> 6] & (1 << UInt64(place & 63)) == 0 {
                comparison.gone.append(self[place].key)
            }
        }
        return comparison
    }
}
