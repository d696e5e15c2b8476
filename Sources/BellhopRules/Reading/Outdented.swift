public import BellhopCore
public import YAML

/// The most common mistake of beginners: a key with nothing under it, followed at the same depth by the keys that belong under it.
///
///     - notify:
///       to: ops        # at the depth of `notify`, not under it
///
/// Reported as one problem with the corrected lines, instead of one problem per key.
public struct Outdented {
    public let head: Mapping.Pair
    /// The pairs that belong under it, in order.
    public let pairs: [Mapping.Pair]

    /// - Parameter belongs: whether a key after the empty one belongs under it. All keys after the first that does not are ignored.
    public init?(_ head: Mapping.Pair, in mapping: Mapping, belongs: (Mapping.Pair) -> Bool) {
        guard head.value.scalar?.isAbsent == true, let index = mapping.firstIndex(where: { $0.name == head.name }) else {
            return nil
        }
        let rest = mapping[(index + 1)...]
        pairs = Array(rest.prefix(while: belongs))
        if pairs.isEmpty { return nil }
        self.head = head
    }

    private init(head: Mapping.Pair, pairs: [Mapping.Pair]) { (self.head, self.pairs) = (head, pairs) }

    /// The same mistake without keys that are allowed at their depth.
    func besides(_ names: [String]) -> Outdented {
        Outdented(head: head, pairs: pairs.filter { !names.contains($0.name) })
    }

    public var names: Set<String> { Set(pairs.map(\.name)) }

    /// - Parameter hidesValues: true if a line may hold a secret.
    public func diagnostic(file: String, hidesValues: Bool = false) -> Diagnostic {
        let them = pairs.count == 1 ? "the line below belongs" : "the lines below belong"
        return Diagnostic(
            code: "indentation", "there is nothing under `\(head.name)`, and \(them) there",
            at: Diagnostic.Place(head.key, file: file),
            help: "indent \(pairs.count == 1 ? "this line" : "these lines") under `\(head.name):`",
            corrected: pairs.flatMap { lines(of: $0, hidesValues: hidesValues) })
    }

    /// The pair's lines, two blanks deeper than the key they belong to. A mapping in braces has no lines of its own.
    private func lines(of pair: Mapping.Pair, hidesValues: Bool) -> [String] {
        let source = pair.key.source
        let column = pair.key.range.start.column - 1
        let deeper = String(repeating: " ", count: head.key.range.start.column + 1)
        if hidesValues { return [deeper + pair.name + ": …"] }
        let last = max(pair.key.range.start.line, pair.value.alias == nil ? pair.value.range.end.line : 0)
        return (pair.key.range.start.line...last).map { number in
            let line = source.line(number).unicodeScalars
            let own = line.prefix(column).allSatisfy { $0 == " " } ? line.dropFirst(column) : line.drop { $0 == " " }
            return deeper + String(String.UnicodeScalarView(own))
        }
    }
}
