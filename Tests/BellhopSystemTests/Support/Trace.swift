import BellhopTesting
import Foundation

/// What a run of the program asked of the system, as strace(1) saw it: what was written to the store's log, when that was on disk, and what
/// was sent to whom.
struct Trace {
    enum Step: Hashable {
        /// Something was written into the write-ahead log.
        case written
        /// Everything that was written into the log before is on disk.
        case synced
        /// A request began to go out: its method and path.
        case sent(String)
        /// The process ended itself.
        case killed
    }

    var steps: [Step] = []

    /// Whether strace is installed and may trace.
    static let isPossible: Bool = {
        let probe = try? ChildProcess("/usr/bin/strace", ["-o", "/dev/null", "/bin/true"], environment: [:])
        return probe?.waitUntilExit() == 0
    }()

    /// What is put before a command so that it is traced into a file.
    static func wrapper(into file: String) -> [String] {
        [
            "/usr/bin/strace", "-f", "-y", "-s", "80", "-o", file, "-e",
            "trace=fdatasync,fsync,pwrite64,pwritev,write,writev,sendto,sendmsg,kill",
        ]
    }

    init(_ text: String) {
        /// Processes and what they are putting on disk at the moment, which counts when it is done.
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

    /// The method and path of a request that a call begins to send.
    private static func request(_ call: Substring) -> String? {
        guard call.hasPrefix("write") || call.hasPrefix("send") else { return nil }
        for method in ["GET /", "POST /", "PATCH /", "PUT /"] {
            guard let start = call.range(of: "\"" + method) else { continue }
            return String(
                call[start.lowerBound...].dropFirst().prefix { $0 != "?" && $0 != "\"" }.split(separator: " HTTP").first ?? "")
        }
        return nil
    }

    /// The steps after the last one of this kind.
    func after(last step: (Step) -> Bool) -> ArraySlice<Step> {
        guard let index = steps.lastIndex(where: step) else { return steps[...] }
        return steps[(index + 1)...]
    }
}
