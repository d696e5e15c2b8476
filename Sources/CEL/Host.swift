import Synchronization

/// The services that the language needs from its host program.
public struct Host: Sendable {
    let zones: TimeZones
    /// The name that was probably meant; nil if none is close.
    let closest: @Sendable (_ name: String, _ choices: [String]) -> String?

    /// - Parameters:
    ///   - zone: the time zone of a name such as `Europe/Berlin`; nil if there is none. Called once for each existing zone.
    ///   - closest: the choice that a misspelled name probably means.
    public init(
        zone: @escaping @Sendable (String) -> Zone? = { _ in nil },
        closest: @escaping @Sendable (_ name: String, _ choices: [String]) -> String? = { _, _ in nil }
    ) {
        zones = TimeZones(zone)
        self.closest = closest
    }
}

/// A time zone.
public struct Zone: Sendable {
    /// Seconds east of UTC at a moment, which is given in seconds since 1970.
    let offset: @Sendable (Int64) -> Int64
    /// The short name at such a moment, such as `CEST`.
    let abbreviation: @Sendable (Int64) -> String

    public init(offset: @escaping @Sendable (Int64) -> Int64, abbreviation: @escaping @Sendable (Int64) -> String) {
        (self.offset, self.abbreviation) = (offset, abbreviation)
    }

    fileprivate init(_ name: String, _ seconds: Int64) {
        offset = { _ in seconds }
        abbreviation = { _ in name }
    }
}

/// The host's time zones by name, and zones by offset, such as `+01:30`. A class with a lock, because evaluations share the
/// zones that were read.
final class TimeZones: Sendable {
    private let read: @Sendable (String) -> Zone?
    private let known = Mutex<[String: Zone]>([:])
    private static let maxKnown = 1000

    init(_ read: @escaping @Sendable (String) -> Zone?) { self.read = read }

    func zone(_ name: String) throws(EvaluationError) -> Zone {
        if name == "UTC" || name == "Z" || name.isEmpty { return Zone("UTC", 0) }
        if let offset = Self.fixedOffset(name) { return Zone(name, offset) }
        if let there = known.withLock({ $0[name] }) { return there }
        guard let zone = read(name) else { throw .unknownZone(name) }
        known.withLock { if $0.count < Self.maxKnown { $0[name] = zone } }
        return zone
    }

    /// Refuses a call in which this argument is a constant text that names no zone.
    func check(_ argument: Int = 1) -> Overload.ArgumentCheck {
        Overload.text(argument, help: "write a name such as \"Europe/Berlin\"") { name throws(EvaluationError) in
            _ = try self.zone(name)
        }
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
}
