/// Why an answer is no whole list of records, and where.
public struct ListingError: Error, Sendable, Hashable {
    /// The kind of problem.
    public enum Reason: Sendable, Hashable {
        /// The answer is not JSON; a body cut on the way is the usual cause.
        case json(JSONError.Reason)
        /// There is nothing at the path to the records.
        case noRecords(path: JSON.Path)
        /// Something else stands where this was expected: "an object", say.
        case shape(expected: String)
        /// A record lacks the member that tells it from the others, or it is empty, or neither text nor a whole number.
        case noKey(path: JSON.Path)
        /// Two records have this key.
        case duplicateKey(TaskKey)
        /// A name is there twice where one of the two would hide the other.
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
    /// One plain sentence with the place.
    public var description: String {
        switch reason {
        case .json(let reason): JSONError(reason, at: offset).description
        case .noRecords(let path): "the answer has no '\(path)'"
        case .shape(let expected): "the answer has something else than \(expected) at byte \(offset)"
        case .noKey(let path): "the record at byte \(offset) has no '\(path)'"
        case .duplicateKey(let key): "two records have the key \(key.text), the second at byte \(offset)"
        case .duplicateName(let name): "the name '\(name)' is there twice, again at byte \(offset)"
        case .tooLarge: "the answer is too large to be listed, at byte \(offset)"
        }
    }
}
