/// Why an answer is not a complete list of records, and where.
public struct ListingError: Error, Sendable, Hashable {
    public enum Reason: Sendable, Hashable {
        /// The answer is not JSON; usually because it was truncated.
        case json(JSONError.Reason)
        /// There is nothing at the path to the records.
        case noRecords(path: JSON.Path)
        /// The answer has another form; the expected one is named, such as "an object".
        case shape(expected: String)
        /// A record's key is missing, empty, or neither text nor a whole number.
        case noKey(path: JSON.Path)
        /// Two records have this key.
        case duplicateKey(TaskKey)
        /// A name occurs twice, so that one would hide the other.
        case duplicateName(String)
        /// There is more than a listing can hold.
        case tooLarge
    }

    public var reason: Reason

    /// Where it is, in bytes from the start of the answer.
    public var offset: Int

    public init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    init(_ error: JSONError) { self.init(.json(error.reason), at: error.offset) }
}

extension ListingError: CustomStringConvertible {
    /// One sentence with the place.
    public var description: String {
        switch reason {
        case .json(let reason): JSONError(reason, at: offset).description
        case .noRecords(let path): "the answer has no '\(path)'"
        case .shape(let expected): "the answer does not have \(expected) at byte \(offset)"
        case .noKey(let path): "the record at byte \(offset) has no '\(path)'"
        case .duplicateKey(let key): "two records have the key \(key.text), the second at byte \(offset)"
        case .duplicateName(let name): "the name '\(name)' occurs twice, again at byte \(offset)"
        case .tooLarge: "the answer is too large to be listed, at byte \(offset)"
        }
    }
}
