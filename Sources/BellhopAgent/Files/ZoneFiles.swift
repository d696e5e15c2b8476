public import BellhopCore

/// The system's time zones (Debian's tzdata).
public enum ZoneFiles {
    /// The zone of that name, if there is one.
    public static func zone(_ name: String) -> TimeZoneTable? {
        if name == "UTC" || name == "Etc/UTC" { return .utc }
        guard isSafe(name) else { return nil }
        for folder in ["/usr/share/zoneinfo", "/usr/lib/zoneinfo"] {
            do throws(PrivateFile.FileError) {
                guard let bytes = try PrivateFile.readAny("\(folder)/\(name)") else { continue }
                if let table = try? TimeZoneTable(name: name, tzif: bytes) { return table }
            } catch {
                continue  // A folder, or unreadable: not a zone.
            }
        }
        return nil
    }

    /// A zone's name is a path below the zones' folder and must not leave it.
    private static func isSafe(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count < 64 && !name.hasPrefix("/") && !name.contains("..")
            && name.unicodeScalars.allSatisfy {
                $0.isASCII && ($0.properties.isAlphabetic || "0123456789/_+-".unicodeScalars.contains($0))
            }
    }
}
