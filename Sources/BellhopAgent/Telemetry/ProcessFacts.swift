import BellhopFiles
import BellhopTelemetry
import Glibc

/// The resources that this process uses, as the system reports them.
struct ProcessFacts: Sendable, Hashable {
    /// Bytes of memory; nil if the system does not say.
    var memory: Double?
    var processorSeconds: Double
    var openFiles: Int?

    static var now: ProcessFacts {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        let processor = [usage.ru_utime, usage.ru_stime].map { Double($0.tv_sec) + Double($0.tv_usec) / 1e6 }.reduce(0, +)
        let pages = (try? PrivateFile.readAny("/proc/self/statm")).flatMap { bytes in
            Double(String(decoding: bytes, as: UTF8.self).split(separator: " ").dropFirst().first ?? "")
        }
        return ProcessFacts(
            memory: pages.map { $0 * Double(sysconf(Int32(_SC_PAGESIZE))) }, processorSeconds: processor,
            openFiles: Folder.names(in: "/proc/self/fd").map { $0.count - 1 })
    }

    var samples: [MetricsSnapshot.Sample] {
        var samples = [MetricsSnapshot.Sample(.processorSeconds, value: processorSeconds)]
        if let memory { samples.append(.init(.residentMemory, value: memory)) }
        if let openFiles { samples.append(.init(.openFiles, value: Double(openFiles))) }
        return samples
    }
}
