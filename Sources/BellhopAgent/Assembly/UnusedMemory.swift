import BellhopCore
import CMalloc
import Glibc
import ServiceLifecycle

/// Returns memory to the system that only the start, a burst or another rare job needed. Without this, the system keeps all code that ever
/// ran in memory, and the C library keeps freed blocks: an idle agent uses 41 MB instead of 26 MB.
///
/// It runs five seconds after the start, then at doubled intervals up to ten minutes.
struct UnusedMemory: Service {
    let clock: any AgentClock
    let store: any Store

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var interval = Duration.seconds(5)
            while (try? await clock.sleep(for: interval)) != nil {
                await store.giveBackMemory()
                Self.giveBack()
                interval = min(interval * 2, .seconds(600))
            }
        }
    }

    static func giveBack() {
        giveFilesBack()
        malloc_trim(0)
    }

    /// Frees the pages of files that the process cannot write: code and constants. They stay mapped, and the system reads them again from
    /// its cache when they are needed, 64 KB at a time.
    static func giveFilesBack() {
        guard let maps = (try? PrivateFile.readAny("/proc/self/smaps")).flatMap(\.self) else { return }
        for range in unwrittenParts(of: String(decoding: maps, as: UTF8.self)) {
            madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
        }
    }

    /// The addresses of the mapped parts of files that cannot be written now and have not been written, from `/proc/PID/smaps`
    /// (proc_pid_smaps(5)): a line such as `55d0c8a00000-55d0ca900000 r-xp 0000 08:01 7 /usr/bin/bellhop`, and lines such as
    /// `Anonymous: 0 kB`, which counts written pages: constants that hold addresses are written when a program starts.
    static func unwrittenParts(of maps: String) -> [Range<UInt>] {
        var parts: [Range<UInt>] = []
        var part: Range<UInt>?
        for line in maps.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 5)
            if let name = words.first, name.last != ":" {
                let ends = name.split(separator: "-").compactMap { UInt($0, radix: 16) }
                let isFile = words.count == 6 && words[5].drop(while: { $0 == " " }).first == "/"
                let isReadOnly = isFile && ["r-xp", "r--p"].contains(words[1])
                part = isReadOnly && ends.count == 2 && ends[0] < ends[1] ? ends[0]..<ends[1] : nil
            } else if words.first == "Anonymous:", words.dropFirst().first == "0", let found = part {
                parts.append(found)
            }
        }
        return parts
    }
}
