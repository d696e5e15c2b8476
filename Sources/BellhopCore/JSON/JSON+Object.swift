extension JSON {
    /// The members of a JSON object in insertion order, with unique keys.
    ///
    /// Two objects are equal if they have the same members in any order. Up to 16 members are searched linearly; larger objects
    /// use an index, so that a hostile object costs no more than its length.
    public struct Object: Sendable {
        private var members: [Element] = []
        private var index: [String: Int]?

        public init() {}

        /// An object with these members; for a duplicate key the last value wins, at the first position.
        public init(_ members: some Sequence<(String, JSON)>) {
            self.members.reserveCapacity(members.underestimatedCount)
            for (key, value) in members { set(key, to: value) }
        }

        /// An object with these members, whose keys must be distinct (only asserted).
        public init(distinct members: [Element]) {
            self.members = members
            indexIfLarge()
            assert(Set(members.map(\.key)).count == members.count, "the keys are distinct")
        }

        /// The value of the member called `key`. Setting nil removes the member; setting a new key adds it at the end.
        public subscript(key: String) -> JSON? {
            get { position(of: key).map { members[$0].value } }
            set {
                if let newValue { return set(key, to: newValue) }
                guard let place = position(of: key) else { return }
                members.remove(at: place)
                index = nil
                indexIfLarge()
            }
        }

        /// The value of the member called `key`, trying the position it had in a similar object first: objects from the same
        /// producer usually have the same order. Without that, `route.memory` takes about 6 % more instructions.
        ///
        /// - Parameter place: that position; updated to the position here.
        public func value(of key: String, near place: inout Int) -> JSON? {
            if members.indices.contains(place), members[place].key == key { return members[place].value }
            guard let found = position(of: key) else { return nil }
            place = found
            return members[found].value
        }

        /// The members that are included, in their order.
        public func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> Object {
            Object(distinct: try members.filter(isIncluded))
        }

        /// The keys, in order.
        public var keys: [String] { members.map(\.key) }

        /// The members of both. If both have a key, the value is that of `others`.
        public func adding(_ others: Object) -> Object {
            var all = self
            for (key, value) in others { all[key] = value }
            return all
        }

        /// The same members sorted by key, in the order of their Unicode scalars.
        public func sorted() -> Object {
            var copy = self
            copy.members.sort { $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars) }
            copy.index = nil
            copy.indexIfLarge()
            return copy
        }

        /// The members in place: an iterator would retain each of them.
        func withMembers<Result>(_ work: (UnsafeBufferPointer<Element>) -> Result) -> Result {
            members.withUnsafeBufferPointer(work)
        }

        private mutating func set(_ key: String, to value: JSON) {
            if let place = position(of: key) {
                members[place].value = value
            } else {
                members.append((key, value))
                if index == nil { indexIfLarge() } else { index?[key] = members.count - 1 }
            }
        }

        private func position(of key: String) -> Int? {
            if let index { return index[key] }
            // In place: a closure over the elements would retain each value visited.
            return members.withUnsafeBufferPointer { members in
                for place in members.indices where members[place].key == key { return place }
                return nil
            }
        }

        private mutating func indexIfLarge() {
            guard members.count > 16 else { return }
            index = Dictionary(uniqueKeysWithValues: members.indices.map { (members[$0].key, $0) })
        }
    }
}

extension JSON.Object: RandomAccessCollection {
    public typealias Element = (key: String, value: JSON)
    public var startIndex: Int { 0 }
    public var endIndex: Int { members.count }
    public subscript(position: Int) -> Element { members[position] }
}

extension JSON.Object: Hashable {
    public static func == (left: Self, right: Self) -> Bool {
        guard left.count == right.count else { return false }
        return left.enumerated().allSatisfy { place, member in
            let other = right[place]  // mostly the order is the same
            return other.key == member.key ? other.value == member.value : right[member.key] == member.value
        }
    }

    public func hash(into hasher: inout Hasher) {
        var sum = 0
        for (key, value) in self {
            var member = Hasher()
            member.combine(key)
            member.combine(value)
            sum &+= member.finalize()
        }
        hasher.combine(count)
        hasher.combine(sum)
    }
}

extension JSON.Object: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, JSON)...) { self.init(elements) }
}
