import Glibc
import Synchronization

/// Offsets from UTC by zone name (from the system's zone files, RFC 9636) or from a text such as `+01:30`.
enum TimeZones {
    /// The offset in seconds, east of Greenwich positive, at a moment given in seconds since 1970.
    static func offset(_ name: String, at seconds: Int64) throws(EvaluationError) -> Int64 {
        try zone(name).offset(at: seconds).offset
    }

    /// The zone's short name at a moment, such as `CEST`.
    static func abbreviation(_ name: String, at seconds: Int64) throws(EvaluationError) -> String {
        try zone(name).offset(at: seconds).name
    }

    private static let folders = ["/usr/share/zoneinfo/", "/usr/lib/zoneinfo/", "/etc/zoneinfo/"]

    /// Zones read so far: a file is read once per process.
    private static let known = Mutex<[String: ZoneTable]>([:])
    private static let mostKnown = 1000

    private static func zone(_ name: String) throws(EvaluationError) -> ZoneTable {
        if name == "UTC" || name == "Z" || name.isEmpty { return ZoneTable(fixed: 0, "UTC") }
        if let fixed = fixedOffset(name) { return ZoneTable(fixed: fixed, name) }
        if let there = known.withLock({ $0[name] }) { return there }
        let isSafe = name.utf8.allSatisfy { $0.isLetter || $0.isDigit || "+-/".utf8.contains($0) } && !name.hasPrefix("/")
        guard isSafe, name.utf8.count < 64 else { throw .unknownZone(name) }
        for folder in folders {
            if let bytes = read(folder + name), let table = ZoneTable(bytes) {
                known.withLock { if $0.count < mostKnown { $0[name] = table } }
                return table
            }
        }
        throw .unknownZone(name)
    }

    /// Reads `+hh:mm`, `-hh:mm` or `hh:mm`.
    private static func fixedOffset(_ text: String) -> Int64? {
        var digits = text[...]
        let sign: Int64 = digits.first == "-" ? -1 : 1
        if digits.first == "-" || digits.first == "+" { digits.removeFirst() }
        let parts = digits.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ (1...2).contains($0.utf8.count) && $0.utf8.allSatisfy(\.isDigit) }),
            let hours = Int64(parts[0]), let minutes = Int64(parts[1]), hours < 24, minutes < 60
        else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }

    private static func read(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count < 1 << 20 {
            let count = Glibc.read(file, &part, part.count)
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += part[..<count]
        }
        return nil
    }
}
