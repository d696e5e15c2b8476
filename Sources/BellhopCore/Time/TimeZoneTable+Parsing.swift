extension TimeZoneTable {
    /// Why bytes are not a time zone.
    public struct Malformed: Error, Sendable, Hashable, CustomStringConvertible {
        /// What is wrong, without a full stop.
        public var description: String

        fileprivate static let endsEarly = Self(description: "it ends too early")
    }

    /// Parses a TZif file, versions 1 to 4 (RFC 8536, RFC 9636).
    ///
    /// Files with leap seconds (`right/…`) are rejected, because ``Timestamp`` has none.
    /// - Parameter name: the zone's name, which the file does not contain.
    public init(name: String, tzif bytes: [UInt8]) throws(Malformed) {
        var reader = Reader(bytes: bytes)
        var header = try reader.header()
        var footer: ArraySlice<UInt8> = []
        if header.version > 1 {
            // The first block, with its 32-bit times, is for readers of version 1.
            try reader.skip(header.blockSize(timeSize: 4))
            header = try reader.header()
        }
        let timeSize = header.version > 1 ? 8 : 4
        guard header.leaps == 0 else { throw Malformed(description: "it counts leap seconds") }
        guard header.types > 0, header.types <= 256, header.characters > 0 else {
            throw Malformed(description: "it has no local time types")
        }
        guard reader.remaining >= header.blockSize(timeSize: timeSize) else { throw .endsEarly }
        var transitions: [Int64] = []
        transitions.reserveCapacity(header.times)
        for _ in 0..<header.times {
            let time = try reader.integer(bytes: timeSize)
            if let last = transitions.last, last >= time { throw Malformed(description: "its transitions do not ascend") }
            transitions.append(time)
        }
        let typeAfter = Array(try reader.take(header.times))
        guard typeAfter.allSatisfy({ $0 < header.types }) else { throw Malformed(description: "a transition without a type") }
        var raw: [(offset: Int, name: Int)] = []
        for _ in 0..<header.types {
            let offset = Int(try reader.integer(bytes: 4))
            // RFC 8536 §3.2: an offset should be more than -25 and less than 26 hours.
            guard offset > -90_000, offset < 93_600 else { throw Malformed(description: "an offset of \(offset) seconds") }
            // Whether it is daylight saving time, which is not needed, and the index of the abbreviation.
            let rest = Array(try reader.take(2))
            raw.append((offset, Int(rest[1])))
        }
        let names = Array(try reader.take(header.characters))
        var types: [LocalTimeType] = []
        for (offset, start) in raw {
            guard start < names.count, let end = names[start...].firstIndex(of: 0) else {
                throw Malformed(description: "an abbreviation is not terminated")
            }
            types.append(LocalTimeType(offset: offset, abbreviation: String(decoding: names[start..<end], as: UTF8.self)))
        }
        try reader.skip(header.standardMarks + header.universalMarks)
        if header.version > 1 { footer = try reader.footer() }
        var rule: PosixZone?
        if !footer.isEmpty {
            let text = String(decoding: footer, as: UTF8.self)
            rule = PosixZone(text)
            if rule == nil { throw Malformed(description: "the footer is not a TZ string: \(text)") }
        }
        self.init(name: name, transitions: transitions, typeAfter: typeAfter, types: types, rule: rule)
    }

    /// A zone with a POSIX `TZ` string, such as `CET-1CEST,M3.5.0,M10.5.0/3`, as its rule for all time; nil if invalid.
    public init?(name: String, posix: some StringProtocol) {
        guard let rule = PosixZone(posix) else { return nil }
        self.init(name: name, transitions: [], typeAfter: [], types: [rule.standard], rule: rule)
    }
}

/// The counts at the head of a TZif block.
private struct Header {
    var version: Int
    var universalMarks: Int
    var standardMarks: Int
    var leaps: Int
    var times: Int
    var types: Int
    var characters: Int

    func blockSize(timeSize: Int) -> Int {
        times * (timeSize + 1) + types * 6 + characters + leaps * (timeSize + 4) + standardMarks + universalMarks
    }
}

private struct Reader {
    let bytes: [UInt8]
    var index = 0

    var remaining: Int { bytes.count - index }

    mutating func take(_ count: Int) throws(TimeZoneTable.Malformed) -> ArraySlice<UInt8> {
        guard count <= remaining else { throw .endsEarly }
        defer { index += count }
        return bytes[index..<(index + count)]
    }

    mutating func skip(_ count: Int) throws(TimeZoneTable.Malformed) { _ = try take(count) }

    /// A signed number, most significant byte first.
    mutating func integer(bytes count: Int) throws(TimeZoneTable.Malformed) -> Int64 {
        let slice = try take(count)
        var value: Int64 = Int8(bitPattern: slice[slice.startIndex]) < 0 ? -1 : 0
        for byte in slice { value = value << 8 | Int64(byte) }
        return value
    }

    mutating func header() throws(TimeZoneTable.Malformed) -> Header {
        guard remaining >= 44 else { throw .endsEarly }
        guard Array(try take(4)) == Array("TZif".utf8) else { throw TimeZoneTable.Malformed(description: "it is not TZif") }
        let version = Int(try integer(bytes: 1))
        guard version == 0 || version >= 0x32 else { throw TimeZoneTable.Malformed(description: "an unknown version") }
        try skip(15)
        var counts: [Int] = []
        for _ in 0..<6 {
            let count = Int(try integer(bytes: 4))
            guard 0...bytes.count ~= count else { throw .endsEarly }
            counts.append(count)
        }
        return Header(
            version: version == 0 ? 1 : version - 0x30, universalMarks: counts[0], standardMarks: counts[1], leaps: counts[2],
            times: counts[3], types: counts[4], characters: counts[5])
    }

    /// The text between the two newlines after the second block.
    mutating func footer() throws(TimeZoneTable.Malformed) -> ArraySlice<UInt8> {
        let newline = UInt8(ascii: "\n")
        guard try take(1).first == newline, let end = bytes[index...].firstIndex(of: newline) else { throw .endsEarly }
        return bytes[index..<end]
    }
}
