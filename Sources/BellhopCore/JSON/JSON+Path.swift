extension JSON {
    /// The path from a value to one inside it: `result.items[0].id`.
    ///
    /// A member whose name contains a dot or a bracket cannot be written as text; build its path from steps.
    public struct Path: Sendable, Hashable {
        /// One step down.
        public enum Step: Sendable, Hashable {
            /// To the member of an object.
            case key(String)
            /// To the element of an array, counted from 0.
            case index(Int)
        }

        public var steps: [Step]

        /// The path of these steps; without any: the value itself.
        public init(_ steps: [Step] = []) { self.steps = steps }

        /// The path of members with these names.
        public init(keys: [String]) { steps = keys.map(Step.key) }

        /// Parses a path; nil if invalid, as with an empty name or a non-numeric index. Empty text is the value itself.
        public init?(text: String) {
            steps = []
            guard !text.isEmpty else { return }
            for (place, part) in text.split(separator: ".", omittingEmptySubsequences: false).enumerated() {
                let pieces = part.split(separator: "[", omittingEmptySubsequences: false)
                if !pieces[0].isEmpty {
                    steps.append(.key(String(pieces[0])))
                } else if place > 0 || pieces.count == 1 {
                    return nil
                }
                for piece in pieces.dropFirst() {
                    guard piece.last == "]", let index = Int(piece.dropLast()), index >= 0 else { return nil }
                    steps.append(.index(index))
                }
            }
        }
    }

    /// The value at `path`; nil if there is none.
    public subscript(path: Path) -> JSON? {
        path.steps.reduce(self as JSON?) { here, step in
            switch step {
            case .key(let key): here?[key]
            case .index(let index): here?[index]
            }
        }
    }

    /// The value at the path of these names; nil if there is none.
    public func at(_ keys: String...) -> JSON? { self[Path(keys: keys)] }
}

extension JSON.Path: CustomStringConvertible {
    public var description: String {
        var text = ""
        for step in steps {
            switch step {
            case .key(let key): text += text.isEmpty ? key : ".\(key)"
            case .index(let index): text += "[\(index)]"
            }
        }
        return text
    }
}
