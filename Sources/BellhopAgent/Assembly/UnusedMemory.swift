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
        giveCodeBack()
        malloc_trim(0)
    }

    /// Frees the pages of the process's code. They stay mapped, and the system reads them again from its cache when they are needed, 64 KB
    /// at a time. Data is not affected: the program and its libraries have no pages that can be both executed and written.
    static func giveCodeBack() {
        for range in mappedCode {
            madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
        }
    }

    /// The addresses of the executable parts of files, from lines such as `55d0c8a00000-55d0ca900000 r-xp … /usr/bin/bellhop`.
    private static var mappedCode: [Range<UInt>] {
        guard let maps = (try? PrivateFile.readAny("/proc/self/maps")).flatMap(\.self) else { return [] }
        return String(decoding: maps, as: UTF8.self).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", maxSplits: 5)
            let ends = words.first?.split(separator: "-").compactMap { UInt($0, radix: 16) } ?? []
            guard words.count == 6, words[1] == "r-xp", words[5].drop(while: { $0 == " " }).first == "/", ends.count == 2,
                ends[0] < ends[1]
            else { return nil }
            return ends[0]..<ends[1]
        }
    }
}
