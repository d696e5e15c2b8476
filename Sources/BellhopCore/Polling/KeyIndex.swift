/// Finds the place of a key in an array of things that have keys, with four bytes for each slot: a table with open addressing.
///
/// It holds places, not keys; who has the array answers which key is at a place. At most three quarters of the slots are taken.
struct KeyIndex: Sendable {
    /// A place plus one; 0 is a free slot.
    private var slots: [Int32]
    private(set) var count = 0

    init(minimumCapacity: Int = 0) {
        slots = Array(repeating: 0, count: Self.size(for: minimumCapacity))
    }

    /// The place at which `isThere` says yes, among those with this hash.
    @inline(__always)
    func find(_ hash: UInt64, where isThere: (Int) -> Bool) -> Int? {
        let mask = slots.count &- 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 {
            let place = Int(slots[slot] &- 1)
            if isThere(place) { return place }
            slot = (slot &+ 1) & mask
        }
        return nil
    }

    /// Notes that a key with this hash is at `place`, unless `isThere` says yes to a place before: then that one is the answer.
    @inline(__always)
    mutating func insert(_ hash: UInt64, at place: Int, unless isThere: (Int) -> Bool, hashAt: (Int) -> UInt64) -> Int? {
        if (count &+ 1) &* 4 > slots.count &* 3 { grow(to: count * 2, hashAt: hashAt) }
        let mask = slots.count &- 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 {
            let other = Int(slots[slot] &- 1)
            if isThere(other) { return other }
            slot = (slot &+ 1) & mask
        }
        slots[slot] = Int32(place &+ 1)
        count &+= 1
        return nil
    }

    /// Notes that the key with this hash is now at `place` instead of `old`.
    mutating func move(_ hash: UInt64, from old: Int, to place: Int) {
        if let slot = slot(of: old, hash) { slots[slot] = Int32(place + 1) }
    }

    /// Forgets the key with this hash at `place`; the keys behind it move up, so that no slot is lost.
    mutating func remove(_ hash: UInt64, at place: Int, hashAt: (Int) -> UInt64) {
        guard var hole = slot(of: place, hash) else { return }
        let mask = slots.count - 1
        var slot = (hole + 1) & mask
        while slots[slot] != 0 {
            let home = Int(truncatingIfNeeded: hashAt(Int(slots[slot] - 1))) & mask
            if (slot - home) & mask >= (slot - hole) & mask {
                slots[hole] = slots[slot]
                hole = slot
            }
            slot = (slot + 1) & mask
        }
        slots[hole] = 0
        count -= 1
    }

    /// Makes room for this many keys.
    mutating func grow(to capacity: Int, hashAt: (Int) -> UInt64) {
        let size = Self.size(for: capacity)
        guard size > slots.count else { return }
        let old = slots
        slots = Array(repeating: 0, count: size)
        for entry in old where entry != 0 {
            var slot = Int(truncatingIfNeeded: hashAt(Int(entry - 1))) & (size - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = entry
        }
    }

    private func slot(of place: Int, _ hash: UInt64) -> Int? {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 {
            if slots[slot] == Int32(place + 1) { return slot }
            slot = (slot + 1) & mask
        }
        return nil
    }

    /// The power of two of which `capacity` is at most three quarters.
    private static func size(for capacity: Int) -> Int {
        let least = capacity + capacity / 3 + 2
        return max(16, 1 << (Int.bitWidth - (least - 1).leadingZeroBitCount))
    }
}
