import CMalloc
import Glibc

/// The machine that runs the benchmarks.
enum Machine {
    static var cores: Int { Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// The load average of the last minute.
    static var load: Double {
        var loads = [0.0]
        return getloadavg(&loads, 1) == 1 ? loads[0] : .nan
    }

    /// The processor time of this process, in seconds.
    static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The memory of a process in bytes, by the field's name in /proc/PID/status: `VmRSS`, `VmHWM`, `RssAnon`.
    static func memory(_ field: String, of process: String = "self") -> Int? {
        guard let status = Files.read("/proc/\(process)/status") else { return nil }
        for line in status.split(separator: "\n") where line.hasPrefix(field + ":") {
            return line.split(whereSeparator: { $0 == "\t" || $0 == " " }).dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
        }
        return nil
    }

    /// Returns freed memory to the system, so that later use is visible.
    static func giveBackMemory() { malloc_trim(0) }

    /// Resets the peak memory (`VmHWM`).
    static func resetPeak() throws {
        guard Files.write("5", to: "/proc/self/clear_refs") else { throw BenchError("/proc/self/clear_refs cannot be written") }
    }

    /// The median time for syncing one page to the disk of this folder, in seconds.
    ///
    /// The page is already allocated in its file, as in a write-ahead log after its first checkpoint: no write is faster.
    static func syncTime(in folder: String, count: Int = 200) throws -> Double {
        let path = folder + "/sync"
        let file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
        guard file >= 0 else { throw BenchError("\(path) cannot be created") }
        defer {
            close(file)
            unlink(path)
        }
        let page = [UInt8](repeating: 7, count: 4096 + 24)
        var times: [Double] = []
        for round in 0..<2 {
            for place in 0..<count {
                let time = Stopwatch.seconds {
                    _ = pwrite(file, page, page.count, off_t(place * page.count))
                    _ = fdatasync(file)
                }
                if round == 1 { times.append(time) }
            }
        }
        return times.median
    }
}
