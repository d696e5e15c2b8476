@preconcurrency import Dispatch  // DispatchSourceRead is safe to cancel from any thread, but not declared Sendable.
import Glibc

/// Notices changes in folders through inotify (inotify(7)). Watches folders, not files, because editors and Kubernetes replace
/// files by renaming.
enum Watcher {
    /// One element per possible change; changes close together may share one. Ends when its consumer is cancelled.
    /// Nil if the system has no watches left.
    /// - Parameter names: what matters in these folders besides YAML files.
    static func changes(in folders: [String], names: Set<String> = []) -> AsyncStream<Void>? {
        let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        let interest = UInt32(
            IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_DELETE_SELF | IN_MOVE_SELF)
        for folder in folders where inotify_add_watch(descriptor, folder, interest) < 0 && errno != ENOENT {
            close(descriptor)
            return nil
        }
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global(qos: .utility))
            source.setEventHandler {
                var buffer = [UInt8](repeating: 0, count: 16384)
                var isRelevant = false
                while true {
                    let count = read(descriptor, &buffer, buffer.count)
                    guard count > 0 else { break }
                    isRelevant = concernsRules(buffer[..<count], names) || isRelevant
                }
                if isRelevant { continuation.yield() }
            }
            source.setCancelHandler { close(descriptor) }
            continuation.onTermination = { _ in source.cancel() }
            source.activate()
        }
    }

    /// Whether one of these events (struct inotify_event, inotify(7)) is about a YAML file, a folder, one of these names, or those by which
    /// Kubernetes swaps folders. Ignores other files: the store may be in the same folder and changes all the time.
    private static func concernsRules(_ bytes: ArraySlice<UInt8>, _ names: Set<String>) -> Bool {
        let header = 16
        var start = bytes.startIndex
        while start + header <= bytes.endIndex {
            func word(_ offset: Int) -> UInt32 {
                (0..<4).reduce(0) { $0 | UInt32(bytes[start + offset + $1]) << (8 * UInt32($1)) }
            }
            let length = Int(word(12))
            let name = String(
                decoding: bytes[start + header..<min(start + header + length, bytes.endIndex)].prefix { $0 != 0 }, as: UTF8.self)
            let isFolder = word(4) & UInt32(IN_ISDIR) != 0
            if isFolder || name.isEmpty || name.hasPrefix("..") || name.hasSuffix(".yaml") || name.hasSuffix(".yml")
                || names.contains(name)
            {
                return true
            }
            start += header + length
        }
        return false
    }
}
