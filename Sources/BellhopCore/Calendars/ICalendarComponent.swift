/// A component of an iCalendar file, with the components in it (RFC 5545, section 3.4).
struct ICalendarComponent {
    /// In capitals, such as `VEVENT`.
    let name: String
    let line: Int
    var properties: [ICalendarProperty] = []
    var parts: [ICalendarComponent] = []

    func property(_ name: String) -> ICalendarProperty? { properties.first { $0.name == name } }
    func text(_ name: String) -> String? { property(name)?.value.uppercased() }
    func problem(_ message: String) -> HolidayFile.Malformed { HolidayFile.Malformed(line: line, message: message) }

    static func calendars(_ bytes: [UInt8]) throws(HolidayFile.Malformed) -> [ICalendarComponent] {
        var components: [ICalendarComponent] = []
        var open: [ICalendarComponent] = []
        for property in try ICalendarProperty.all(bytes) {
            switch property.name {
            case "BEGIN": open.append(ICalendarComponent(name: property.value.uppercased(), line: property.line))
            case "END":
                guard let component = open.popLast(), component.name == property.value.uppercased() else {
                    throw property.problem("END:\(property.value) has no BEGIN")
                }
                if open.isEmpty { components.append(component) } else { open[open.count - 1].parts.append(component) }
            default: if !open.isEmpty { open[open.count - 1].properties.append(property) }
            }
        }
        let calendars = components.filter { $0.name == "VCALENDAR" }
        if calendars.isEmpty, open.first?.name != "VCALENDAR" {
            throw HolidayFile.Malformed(
                line: 1, message: "the file is not an iCalendar file: it has no BEGIN:VCALENDAR")
        }
        guard let unclosed = open.last else { return calendars }
        throw unclosed.problem("the file ends within \(unclosed.name)")
    }
}

/// A line of an iCalendar file: a name with parameters, and a value (RFC 5545, section 3.1).
struct ICalendarProperty {
    var line: Int
    /// In capitals.
    var name: String
    /// By their names in capitals.
    var parameters: [String: String]
    var value: String

    func problem(_ message: String) -> HolidayFile.Malformed { HolidayFile.Malformed(line: line, message: message) }

    /// The lines, with folded ones joined. A line may be folded within a character (RFC 5545, section 3.1), so
    /// bytes are joined before they are read as text.
    static func all(_ bytes: [UInt8]) throws(HolidayFile.Malformed) -> [ICalendarProperty] {
        var lines: [(number: Int, bytes: [UInt8])] = []
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: mark) ? bytes[3...] : bytes[...]
        for (index, raw) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let line = raw.last == UInt8(ascii: "\r") ? raw.dropLast() : raw
            if let first = line.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t"), !lines.isEmpty {
                lines[lines.count - 1].bytes += line.dropFirst()
            } else if !line.isEmpty {
                lines.append((index + 1, Array(line)))
            }
        }
        var properties: [ICalendarProperty] = []
        for line in lines {
            guard let property = ICalendarProperty(line.bytes, line: line.number) else {
                throw HolidayFile.Malformed(line: line.number, message: "this is not a line of an iCalendar file")
            }
            properties.append(property)
        }
        return properties
    }

    /// Nil if it is not a property. Bytes that are not UTF-8, as old programs write them in titles, are replaced.
    private init?(_ bytes: [UInt8], line: Int) {
        var parts: [[UInt8]] = [[]]
        var isQuoted = false
        var end: Int?
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if byte == UInt8(ascii: ":"), !isQuoted {
                end = index
                break
            }
            if byte == UInt8(ascii: ";"), !isQuoted { parts.append([]) } else { parts[parts.count - 1].append(byte) }
        }
        let texts = parts.map { String(decoding: $0, as: UTF8.self) }
        guard let end, !texts[0].isEmpty,
            texts[0].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
        else { return nil }
        var parameters: [String: String] = [:]
        for part in texts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { return nil }
            parameters[pair[0].uppercased()] = pair[1].filter { $0 != "\"" }
        }
        self.line = line
        self.name = texts[0].uppercased()
        self.parameters = parameters
        value = String(decoding: bytes[(end + 1)...], as: UTF8.self)
    }
}
