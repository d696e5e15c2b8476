/// Completions at the cursor.
public struct ExpressionCompletion: Sendable, Hashable {
    /// The part of a name typed so far.
    public var stem: String
    /// Whole names that begin with it, sorted; a function with its parenthesis.
    public var names: [String]

    public init(stem: String = "", names: [String] = []) {
        self.stem = stem
        self.names = names
    }

    /// The common prefix of all names, the stem included.
    public var common: String {
        guard var common = names.first else { return stem }
        for name in names.dropFirst() {
            common = String(zip(common, name).prefix { $0 == $1 }.map(\.0))
        }
        return common
    }
}
