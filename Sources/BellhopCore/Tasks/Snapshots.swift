/// Snapshots by their keys, stored as text.
public struct Snapshots: Sendable {
    /// In order of arrival of their keys.
    public private(set) var texts: [SnapshotText] = []
    private var index = KeyIndex()

    public init() {}

    /// The snapshot with this key, parsed from its text.
    public subscript(key: TaskKey) -> Snapshot? {
        get { text(of: key)?.snapshot }
        set { if let newValue { add(SnapshotText(newValue)) } else { remove(key) } }
    }

    public func text(of key: TaskKey) -> SnapshotText? { place(of: key).map { texts[$0] } }

    public var count: Int { texts.count }
    public var isEmpty: Bool { texts.isEmpty }
    public var keys: [TaskKey] { texts.map(\.key) }
    public var values: [Snapshot] { texts.map(\.snapshot) }

    /// Adds a text, or replaces the one with its key.
    public mutating func add(_ text: SnapshotText) {
        let present = index.insert(text.key.hash(index.seed), at: texts.count, unless: { texts[$0].key == text.key })
        if let present { texts[present] = text } else { texts.append(text) }
    }

    public mutating func reserveCapacity(_ count: Int) {
        texts.reserveCapacity(count)
        index.reserveCapacity(count)
    }

    private mutating func remove(_ key: TaskKey) {
        guard place(of: key) != nil else { return }
        let rest = texts.filter { $0.key != key }
        self = Snapshots()
        for text in rest { add(text) }
    }

    private func place(of key: TaskKey) -> Int? { index.find(key.hash(index.seed)) { texts[$0].key == key } }
}
