@preconcurrency import Dispatch  // DispatchSourceRead is safe to cancel from anywhere, and does not say so.
import Glibc

/// Tells when something in some folders changes, through inotify (inotify(7)). Folders are watched, not files, because editors and
/// Kubernetes replace files by renaming.
enum Watcher {
    /// One element whenever something may have changed; several changes close together can be one. Ends when its consumer is cancelled.
    /// Nil when the system has no watches left.
    static func changes(in folders: [String]) -> AsyncStream<Void>? {
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
                var buffer = [UInt8](repeating: 0, count: 4096)
                while read(descriptor, &buffer, buffer.count) > 0 {}
                continuation.yield()
            }
            source.setCancelHandler { close(descriptor) }
            continuation.onTermination = { _ in source.cancel() }
            source.activate()
        }
    }
}
