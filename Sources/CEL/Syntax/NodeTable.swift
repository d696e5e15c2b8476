/// A value for each node of one expression, found by the node's id.
struct NodeTable<Value: Sendable>: Sendable {
    private var byID: [Value?] = []

    /// The values that are there.
    var values: [Value] { byID.compactMap(\.self) }

    subscript(id: Int) -> Value? {
        get { id < byID.count ? byID[id] : nil }
        set {
            while byID.count <= id { byID.append(nil) }
            byID[id] = newValue
        }
    }

    func mapValues<Other>(_ change: (Value) -> Other) -> NodeTable<Other> {
        var table = NodeTable<Other>()
        table.byID = byID.map { $0.map(change) }
        return table
    }
}
