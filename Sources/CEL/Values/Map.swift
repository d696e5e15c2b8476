extension Value {
    /// A map that keeps the order of its entries. Keys are bools, ints, uints or strings; numeric keys match by value, whatever
    /// their type (`{1: 'a'}[1u]`).
    public struct Map: Sendable {
        enum Storage: Sendable {
            case table(Table)
            case host(any HostMap)
        }

        let storage: Storage

        /// Adds entries in order; the first of equal keys counts.
        public init(_ entries: [(Value, Value)] = []) { storage = .table(Table(entries)) }

        public init(_ host: any HostMap) { storage = .host(host) }

        public var count: Int {
            switch storage {
            case .table(let table): table.keys.count
            case .host(let map): map.keys.count
            }
        }

        var shape: Shape {
            switch storage {
            case .table(let table): table.shape
            case .host(let map): Shape(weight: 1 + map.keys.count * 2, depth: 1)
            }
        }

        /// Whether there are enough keys for an index to find them by.
        var isIndexed: Bool {
            switch storage {
            case .table(let table): table.isIndexed
            case .host: false
            }
        }

        public var keys: [Value] {
            switch storage {
            case .table(let table): table.keys
            case .host(let map): map.keys
            }
        }

        /// Keys with their values, in order.
        public var entries: [(Value, Value)] {
            switch storage {
            case .table(let table): Array(zip(table.keys, table.values))
            case .host(let map): map.keys.map { ($0, map.value(for: $0) ?? .null) }
            }
        }

        /// The value of a selected field that is no key; nil if selecting it is an error.
        var absent: Value? {
            switch storage {
            case .table: nil
            case .host(let map): map.absent
            }
        }

        public subscript(key: Value) -> Value? {
            switch storage {
            case .table(let table): table[key]
            case .host(let map): map.value(for: key)
            }
        }
    }
}

/// A map kept by the host: a value is converted only when its key is read.
public protocol HostMap: AnyObject, Sendable {
    var keys: [Value] { get }
    func value(for key: Value) -> Value?
    /// The value of `map.field` for a field that is no key. By default there is none, and selecting it is an error.
    var absent: Value? { get }
}

extension HostMap {
    public var absent: Value? { nil }
}

extension Value.Map {
    /// Entries in the order given, with an index if there are many.
    ///
    /// A class because a value of the language must stay two words long; immutable once made.
    final class Table: Sendable {
        let keys: [Value]
        let values: [Value]
        let shape: Shape
        private let index: [Value: Int]

        private static let indexedFrom = 9

        init(_ entries: [(Value, Value)]) {
            var keys: [Value] = []
            var values: [Value] = []
            keys.reserveCapacity(entries.count)
            values.reserveCapacity(entries.count)
            if entries.count < Self.indexedFrom {
                for (key, value) in entries where !keys.contains(key) {
                    keys.append(key)
                    values.append(value)
                }
                index = [:]
            } else {
                var index: [Value: Int] = [:]
                index.reserveCapacity(entries.count)
                for (key, value) in entries where index[key] == nil {
                    index[key] = keys.count
                    keys.append(key)
                    values.append(value)
                }
                self.index = index
            }
            (self.keys, self.values) = (keys, values)
            shape = Shape(of: [keys, values].joined())
        }

        var isIndexed: Bool { !index.isEmpty }

        subscript(key: Value) -> Value? {
            if index.isEmpty { return keys.firstIndex(of: key).map { values[$0] } }
            return index[key].map { values[$0] }
        }
    }
}
