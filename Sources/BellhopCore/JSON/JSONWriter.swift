/// Writes values as JSON. An object can also be written member by member, without being built as a value first.
///
/// It uses its own buffer, with room reserved once per text: an array's `append` would check uniqueness and capacity for each
/// byte, which takes longer than writing (10 % of the instructions of `store.new-tasks`).
public struct JSONWriter: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private var capacity = 1024
    private var count = 0
    private let style: JSON.Style
    private var depth = 0

    public init(style: JSON.Style = .compact) {
        self.style = style
        start = .allocate(capacity: capacity)
    }

    deinit { start.deallocate() }

    /// Returns what was written, and starts over.
    public mutating func take() -> [UInt8] {
        defer { count = 0 }
        return Array(UnsafeBufferPointer(start: start, count: count))
    }

    func append(to bytes: inout [UInt8]) { bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: count)) }

    // MARK: - Values

    public mutating func write(_ value: JSON) {
        switch value {
        case .null: put("null")
        case .bool(let value): put(value ? "true" : "false")
        case .int(let value): write(value)
        case .double(let value): value.isFinite ? put(value.description) : put("null")
        case .string(let value): write(value)
        case .array(let elements):
            open(UInt8(ascii: "["))
            for place in elements.indices {
                if place > 0 { put(UInt8(ascii: ",")) }
                newLine()
                write(elements[place])
            }
            close(UInt8(ascii: "]"), isEmpty: elements.isEmpty)
        case .object(let object): write(object)
        }
    }

    public mutating func write(_ object: JSON.Object) {
        beginObject()
        writeMembers(of: style.sorted ? object.sorted() : object)
        endObject()
    }

    /// Writes the value of a tape; a text is copied as is.
    public mutating func write(_ node: JSONTape.Node, of tape: JSONTape) {
        let entry = tape.entries[node.index]
        guard entry.kind == .string, !entry.flag else { return write(tape.value(of: node)) }
        tape.bytes.span.extracting(entry.range).withUnsafeBufferPointer { write(utf8: $0) }
    }

    // MARK: - Objects

    /// Whether an object was begun and has no member yet.
    private var isAtStart: Bool {
        precondition(count > 0, "a member needs an open object")
        return start[count - 1] == UInt8(ascii: "{")
    }

    /// Begins an object. Then write each member as a name and a value.
    public mutating func beginObject() { open(UInt8(ascii: "{")) }

    public mutating func name(_ name: String) {
        if !isAtStart { put(UInt8(ascii: ",")) }
        newLine()
        write(name)
        put(UInt8(ascii: ":"))
        if style.pretty { put(UInt8(ascii: " ")) }
    }

    /// Writes a prepared member name, whether or not the object already has members.
    public mutating func name(_ name: JSONName) {
        assert(!style.pretty, "a prepared name does not support the pretty style")
        if !isAtStart { put(UInt8(ascii: ",")) }
        name.bytes.withUnsafeBufferPointer { bytes in
            reserve(bytes.count)
            append(bytes)
        }
    }

    public mutating func member(_ name: String, _ text: String) {
        self.name(name)
        write(text)
    }

    public mutating func member(_ name: JSONName, _ text: String) {
        self.name(name)
        write(text)
    }

    public mutating func writeMembers(of object: JSON.Object) {
        object.withMembers { members in
            for place in members.indices {
                name(members[place].key)
                write(members[place].value)
            }
        }
    }

    public mutating func endObject() { close(UInt8(ascii: "}"), isEmpty: isAtStart) }

    // MARK: - Texts

    public mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { write(utf8: $0) }
    }

    /// Writes a text in runs up to each character that needs an escape: most have none.
    private mutating func write(utf8 bytes: UnsafeBufferPointer<UInt8>) {
        reserve(bytes.count + 2)
        append(UInt8(ascii: "\""))
        var done = 0
        while true {
            let end = PlainText.end(bytes.span, from: done)
            append(UnsafeBufferPointer(rebasing: bytes[done..<end]))
            guard end < bytes.count else { break }
            done = end + escape(bytes, at: end)
            reserve(bytes.count - done + 1)
        }
        append(UInt8(ascii: "\""))
    }

    /// Writes the escape of the character at a position; returns how many bytes the character has.
    private mutating func escape(_ text: UnsafeBufferPointer<UInt8>, at place: Int) -> Int {
        switch text[place] {
        case UInt8(ascii: "\""): put("\\\"")
        case UInt8(ascii: "\\"): put("\\\\")
        case UInt8(ascii: "\n"): put("\\n")
        case UInt8(ascii: "\r"): put("\\r")
        case UInt8(ascii: "\t"): put("\\t")
        case 0x08: put("\\b")
        case 0x0c: put("\\f")
        case 0xe2:
            put(text[place + 2] == 0xa8 ? "\\u2028" : "\\u2029")
            return 3
        case let control:
            put(control < 16 ? "\\u000" : "\\u00")
            put(String(control, radix: 16))
        }
        return 1
    }

    private mutating func write(_ number: Int64) {
        reserve(20)
        if number < 0 { append(UInt8(ascii: "-")) }
        var rest = number.magnitude
        var divisor: UInt64 = 1
        while rest / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / divisor))
            rest %= divisor
            divisor /= 10
        }
    }

    // MARK: - Marks

    private mutating func open(_ mark: UInt8) {
        put(mark)
        depth += 1
    }

    private mutating func close(_ mark: UInt8, isEmpty: Bool) {
        depth -= 1
        if !isEmpty { newLine() }
        put(mark)
    }

    private mutating func newLine() {
        guard style.pretty else { return }
        put(UInt8(ascii: "\n"))
        for _ in 0..<depth { put("  ") }
    }

    // MARK: - Bytes

    private mutating func put(_ byte: UInt8) {
        reserve(1)
        append(byte)
    }

    private mutating func put(_ text: StaticString) {
        text.withUTF8Buffer { bytes in
            reserve(bytes.count)
            append(bytes)
        }
    }

    private mutating func put(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            reserve(bytes.count)
            append(bytes)
        }
    }

    /// Writes a byte; room must be reserved.
    private mutating func append(_ byte: UInt8) {
        (start + count).initialize(to: byte)
        count &+= 1
    }

    /// Writes bytes; room must be reserved.
    private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let source = bytes.baseAddress else { return }
        (start + count).initialize(from: source, count: bytes.count)
        count &+= bytes.count
    }

    @inline(__always)
    private mutating func reserve(_ more: Int) { if more > capacity - count { grow(more) } }

    private mutating func grow(_ more: Int) {
        capacity = max(capacity * 2, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.moveInitialize(from: start, count: count)
        start.deallocate()
        start = larger
    }
}

/// A prepared member name with its colon, for writing the same name into many objects.
public struct JSONName: Sendable {
    let bytes: [UInt8]

    public init(_ name: String) { bytes = JSON.string(name).encoded() + [UInt8(ascii: ":")] }
}

/// Finds text that needs no escape in JSON.
enum PlainText {
    /// The first position from `start` on that needs an escape. Examines eight bytes at a time: `stops` has a byte's top bit set
    /// for a quote, a backslash, below 0x20 or 0xe2, the first byte of U+2028 and U+2029; the lowest such bit is exact.
    static func end(_ bytes: Span<UInt8>, from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let raw = bytes.bytes
        var at = start
        while at <= bytes.count &- 8 {
            // Bounds-checked; any bits are a valid UInt64.
            let word = UInt64(littleEndian: raw.unsafeLoadUnaligned(fromByteOffset: at, as: UInt64.self))
            let (quote, backslash, separator) = (word ^ ones &* 0x22, word ^ ones &* 0x5c, word ^ ones &* 0xe2)
            let low = (quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) & ~word
            let stops = (low | (separator &- ones) & ~separator) & (ones &* 0x80)
            if stops == 0 {
                at &+= 8
                continue
            }
            at &+= stops.trailingZeroBitCount / 8
            if needsEscape(bytes, at) { return at }
            at &+= 1
        }
        while at < bytes.count, !needsEscape(bytes, at) { at &+= 1 }
        return at
    }

    private static func needsEscape(_ bytes: Span<UInt8>, _ at: Int) -> Bool {
        let byte = bytes[at]
        if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return true }
        return byte == 0xe2 && at + 2 < bytes.count && bytes[at + 1] == 0x80 && bytes[at + 2] & 0xfe == 0xa8
    }
}
