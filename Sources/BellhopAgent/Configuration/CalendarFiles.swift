public import BellhopCore
public import BellhopRules
import Glibc

extension CalendarEntry {
    /// The largest file of holidays.
    private static let largest = 4 << 20

    /// The calendars with the holidays of their files.
    public static func read(_ entries: [CalendarEntry], at now: Timestamp) throws(Diagnostics) -> [String: WorkCalendar] {
        try calendars(entries, at: now, zones: { ZoneFiles.zone($0) }) { name, file throws(Diagnostic) in
            try bytes(of: file, for: name)
        }
    }

    /// The fingerprint of the files of holidays: the same for the same holidays.
    static func fingerprint(of entries: [CalendarEntry]) -> Fingerprint {
        var builder = FingerprintBuilder()
        for entry in entries {
            for file in entry.files {
                builder.add(file.path)
                do throws(Diagnostic) {
                    builder.add(try bytes(of: file.path, for: entry.name) ?? [])
                } catch {
                    builder.add(error.message)
                }
            }
        }
        return builder.fingerprint
    }

    private static func bytes(of file: String, for name: String) throws(Diagnostic) -> [UInt8]? {
        var facts = stat()
        if stat(file, &facts) == 0, facts.st_mode & S_IFMT != S_IFREG {
            throw Diagnostic(code: "unreadable", "\(file) is not a regular file, so it is not read")
        }
        do throws(PrivateFile.FileError) {
            return try PrivateFile.readAny(file, limit: largest)
        } catch {
            throw Diagnostic(code: "unreadable", "the holidays of calendar `\(name)` cannot be read: \(error.message)")
        }
    }
}
