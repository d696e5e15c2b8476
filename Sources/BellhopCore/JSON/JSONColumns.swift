/// Finds members of the same names in many objects, one object after the other.
///
/// The records of an answer mostly have their members in one order, so each is first taken for what stood there in the object before:
/// a record is gone through once, with one look at each name, however many are asked for.
public struct JSONColumns: Sendable {
    public let names: [String]
    /// For each member of the object before, the place of its name among the names, or -1.
    private var order: [Int] = []
    /// Where the tape has the value for each name, or -1.
    private var found: [Int]

    /// - Parameter names: each once.
    public init(_ names: [String]) {
        self.names = names
        found = Array(repeating: -1, count: names.count)
    }

    /// Goes through the members of the value that a tape is of; one that is no object has none.
    public mutating func read(_ tape: JSONTape) {
        for place in found.indices { found[place] = -1 }
        let root = tape.entries[0]
        guard root.kind == .object else { return }
        var (at, member) = (1, 0)
        while at < root.size {
            let column = column(of: at, tape, member)
            if column >= 0 { found[column] = at + 1 }  // of a name that is there twice the last one
            at += 1 + tape.entries[at + 1].size
            member += 1
        }
    }

    /// The value that the object which was read has for the name in this place among the names; nil where it has none.
    public subscript(place: Int) -> JSONTape.Node? { found[place] < 0 ? nil : JSONTape.Node(index: found[place]) }

    private mutating func column(of key: Int, _ tape: JSONTape, _ member: Int) -> Int {
        if member < order.count, order[member] >= 0, tape.isString(key, names[order[member]]) { return order[member] }
        let column = names.firstIndex { tape.isString(key, $0) } ?? -1
        if member < order.count { order[member] = column } else { order.append(column) }
        return column
    }
}
