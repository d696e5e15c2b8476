/// Finds the position of a key in an array of keyed elements: a hash table with open addressing, eight bytes per slot, at most
/// three quarters full.
///
/// A slot holds a position and 32 bits of its key's hash, so that the array is read only on a very likely match; the array's
/// owner compares the keys.
struct KeyIndex: Sendable {
    /// The hash's bits in the upper half, the position plus one in the lower; 0 is a free slot.
    private var slots: [UInt64]
    private var count = 0
    /// The seed of the keys' hashes: different in each process, which prevents chosen collisions.
    let seed = Self.processSeed

    private static let processSeed = Fingerprint(high: .random(in: .min ... .max) | 1, low: .random(in: .min ... .max) | 1)

    init(minimumCapacity: Int = 0) { slots = Array(repeating: 0, count: Self.size(for: minimumCapacity)) }

    /// The position for which `matches` is true, among those with this hash.
    @inline(__always)
    func find(_ hash: UInt64, where matches: (Int) -> Bool) -> Int? { search(hash, where: matches).place }

    /// Records a key with this hash at `place`, unless `matches` is true for an earlier position, which is then returned.
    @inline(__always)
    mutating func insert(_ hash: UInt64, at place: Int, unless matches: (Int) -> Bool) -> Int? {
        if (count &+ 1) &* 4 > slots.count &* 3 { reserveCapacity(count * 2) }
        let (slot, earlier) = search(hash, where: matches)
        if let earlier { return earlier }
        slots[slot] = Self.entry(hash, place)
        count &+= 1
        return nil
    }

    /// The first slot of the search for this hash, so that many can be prefetched before they are needed.
    @inline(__always)
    func peek(_ hash: UInt64) -> UInt64 { slots[Int(truncatingIfNeeded: hash >> 32) & (slots.count &- 1)] }

    /// Changes the position of the key with this hash from `old` to `place`.
    mutating func move(_ hash: UInt64, from old: Int, to place: Int) {
        if let slot = slot(hash, old) { slots[slot] = Self.entry(hash, place) }
    }

    /// Removes the key with this hash at `place`; later keys move up, so that no slot is lost.
    mutating func remove(_ hash: UInt64, at place: Int) {
        guard var hole = slot(hash, place) else { return }
        let mask = slots.count - 1
        var slot = (hole + 1) & mask
        while slots[slot] != 0 {
            let home = Int(truncatingIfNeeded: slots[slot] >> 32) & mask
            if (slot - home) & mask >= (slot - hole) & mask {
                slots[hole] = slots[slot]
                hole = slot
            }
            slot = (slot + 1) & mask
        }
        slots[hole] = 0
        count -= 1
    }

    mutating func reserveCapacity(_ capacity: Int) {
        let size = Self.size(for: capacity)
        guard size > slots.count else { return }
        let old = slots
        slots = Array(repeating: 0, count: size)
        for entry in old where entry != 0 {
            var slot = Int(truncatingIfNeeded: entry >> 32) & (size - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = entry
        }
    }

    /// The slot at which the search for a key with this hash ends, and the key's position; nil if the slot is free.
    @inline(__always)
    private func search(_ hash: UInt64, where matches: (Int) -> Bool) -> (slot: Int, place: Int?) {
        let mask = slots.count &- 1
        let tag = hash >> 32
        var slot = Int(truncatingIfNeeded: tag) & mask
        while slots[slot] != 0 {
            if slots[slot] >> 32 == tag {
                let place = Self.place(slots[slot])
                if matches(place) { return (slot, place) }
            }
            slot = (slot &+ 1) & mask
        }
        return (slot, nil)
    }

    private func slot(_ hash: UInt64, _ place: Int) -> Int? {
        let found = search(hash) { $0 == place }
        return found.place == nil ? nil : found.slot
    }

    @inline(__always)
    private static func entry(_ hash: UInt64, _ place: Int) -> UInt64 {
        (hash & 0xffff_ffff_0000_0000) | UInt64(UInt32(truncatingIfNeeded: place &+ 1))
    }

    @inline(__always)
    private static func place(_ entry: UInt64) -> Int { Int(UInt32(truncatingIfNeeded: entry)) &- 1 }

    /// The smallest power of two so large that `capacity` is at most three quarters of it.
    private static func size(for capacity: Int) -> Int {
        let least = capacity + capacity / 3 + 2
        return max(16, 1 << (Int.bitWidth - (least - 1).leadingZeroBitCount))
    }
}
