import BellhopTesting
import Foundation

/// The system calls of a run, as traced by strace(1): writes to the store's log, syncs to disk, and requests.
struct Trace {
    enum Step: Hashable {
        /// A write to the write-ahead log.
        case written
        /// A sync of the write-ahead log.
        case synced
        /// The start of a request: its method and path.
        case sent(String)
        /// The process killed itself.
        case killed
    }

    var steps: [Step] = []

    /// True if strace is installed and may trace.
    static let isPossible: Bool = {
        let probe = try? ChildProcess("/usr/bin/strace", ["-o", "/dev/null", "/bin/true"], environment: [:])
        return probe?.waitUntilExit() == 0
    }()

    /// The command line before a command that traces it into a file.
    static func wrapper(into file: String) -> [String] {
        [
            "/usr/bin/strace", "-f", "-y", "-s", "80", "-o", file, "-e",
            "trace=fdatasync,fsync,pwrite64,pwritev,write,writev,sendto,sendmsg,kill",
        ]
    }

    init(_ text: String) {
        /// Processes with a sync in progress; it counts once it ends.
        var syncing: Set<Substring> = []
        for line in text.split(separator: "\n") {
            guard let blank = line.firstIndex(of: " ") else { continue }
            let (task, call) = (line[..<blank], line[blank...].drop { $0 == " " })
            if call.hasPrefix("fdatasync(") || call.hasPrefix("fsync(") {
                guard call.contains("-wal>") else { continue }
                if call.contains("<unfinished") { syncing.insert(task) } else { steps.append(.synced) }
            } else if call.hasPrefix("<... fdatasync resumed") || call.hasPrefix("<... fsync resumed") {
                if syncing.remove(task) != nil { steps.append(.synced) }
            } else if call.hasPrefix("pwrite"), call.contains("-wal>") {
                steps.append(.written)
            } else if call.hasPrefix("kill("), call.contains("SIGKILL") {
                steps.append(.killed)
            } else if let request = Self.request(call) {
                steps.append(.sent(request))
            }
        }
    }

    /// The method and path of the request whose sending a call begins.
    private static func request(_ call: Substring) -> String? {
        guard call.hasPrefix("write") || call.hasPrefix("send") else { return nil }
        for method in ["GET /", "POST /", "PATCH /", "PUT /"] {
            guard let start = call.range(of: "\"" + method) else { continue }
            return String(
                call[start.lowerBound...].dropFirst().prefix { $0 != "?" && $0 != "\"" }.split(separator: " HTTP").first ?? "")
        }
        return nil
    }

    /// The steps after the last one that matches.
    func after(last step: (Step) -> Bool) -> ArraySlice<Step> {
        guard let index = steps.lastIndex(where: step) else { return steps[...] }
        return steps[(index + 1)...]
    }
}
