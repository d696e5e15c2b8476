/// The values that were added last: at least `most` of them, at most twice as many.
struct RecentSet<Value: Hashable & Sendable>: Sendable {
    private let most: Int
    private var (young, old): (Set<Value>, Set<Value>) = ([], [])

    init(most: Int) { self.most = most }

    var count: Int { young.count + old.count }

    func contains(_ value: Value) -> Bool { young.contains(value) || old.contains(value) }

    mutating func insert(_ value: Value) {
        young.insert(value)
        if young.count >= most { (young, old) = ([], young) }
    }

    mutating func remove(_ value: Value) {
        young.remove(value)
        old.remove(value)
    }
}
