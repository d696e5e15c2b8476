/// Finds a record's key while the record is parsed.
struct KeyFinder: JSONVisitor {
    private let path: [[UInt8]]
    /// How many containers are open, including the record.
    private var depth = 0
    /// How many names of the path were followed to the innermost open object on it.
    private var matched = 0
    /// Whether the last name was the next one of the path.
    private var isOnPath = false
    private var found: (kind: JSONTape.Kind, range: Range<Int>, flag: Bool)?
    private(set) var isRepeated = false

    init(path: [String]) { self.path = path.map { Array($0.utf8) } }

    /// Resets the state of the previous record.
    @inline(__always)
    mutating func start() {
        depth = 0
        matched = 0
        isOnPath = false
        found = nil
        isRepeated = false
    }

    /// The key; nil if missing, empty, or neither text nor a whole number.
    @inline(__always)
    func key(in bytes: Span<UInt8>) -> TaskKey? {
        guard let found else { return nil }
        if found.kind == .string, let key = TaskKey(digits: bytes, at: found.range.lowerBound, count: found.range.count) {
            return key
        }
        switch found.kind {
        case .string where !found.range.isEmpty: return TaskKey(JSONString.text(bytes, found.range, hasEscapes: found.flag))
        case .number where found.flag: return TaskKey(JSONString.text(bytes, found.range, hasEscapes: false))
        case .string, .number, .null, .true, .false, .array, .object: return nil
        }
    }

    @inline(__always)
    mutating func scalar(_ kind: JSONTape.Kind, _ range: Range<Int>, flag: Bool) {
        guard isOnPath else { return }
        isOnPath = false
        guard depth == path.count else { return }
        if found != nil { isRepeated = true }
        found = (kind, range, flag)
    }

    @inline(__always)
    mutating func key(_ range: Range<Int>, hasEscapes: Bool, in bytes: Span<UInt8>) {
        guard matched == depth &- 1, depth <= path.count else { return }
        let wanted = path[depth &- 1]
        if hasEscapes {
            isOnPath = JSONString.text(bytes, range, hasEscapes: true).utf8.elementsEqual(wanted)
        } else {
            isOnPath = range.count == wanted.count && wanted.indices.allSatisfy { wanted[$0] == bytes[range.lowerBound &+ $0] }
        }
    }

    @inline(__always)
    mutating func open(_ kind: JSONTape.Kind, at start: Int) {
        if isOnPath, kind == .object { matched = depth }
        isOnPath = false
        depth &+= 1
    }

    @inline(__always)
    mutating func close(at end: Int) {
        depth &-= 1
        if matched >= depth { matched = max(0, depth &- 1) }
    }
}
