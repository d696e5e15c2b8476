import Glibc
import Synchronization

/// Sends the same request again and again over sockets that stay open, with as little work as possible: a thread for each.
struct RawClient {
    let port: UInt16
    let request: [UInt8]

    func post(_ count: Int, _ connections: Int) async throws {
        let failures = Failures()
        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
            let left = Counter(connections)
            for lane in 0..<connections {
                let share = count / connections + (lane < count % connections ? 1 : 0)
                Self.detach {
                    do { try run(share) } catch { failures.note("\(error)") }
                    if left.down() == 0 { done.resume() }
                }
            }
        }
        if let failure = failures.first { throw BenchError(failure) }
    }

    private func run(_ count: Int) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw BenchError("no connection to the server") }
        var buffer = [UInt8](repeating: 0, count: 4096)
        for _ in 0..<count {
            guard send(descriptor, request, request.count, 0) == request.count else { throw BenchError("the server hung up") }
            var filled = 0
            // An answer ends with its text: `Accepted.` and a line break.
            repeat {
                let read = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + filled, $0.count - filled, 0) }
                guard read > 0 else { throw BenchError("the server hung up") }
                filled += read
            } while filled < 12 || buffer[filled - 1] != 10 || buffer[filled - 2] != UInt8(ascii: ".")
            guard buffer[9] == UInt8(ascii: "2") else {
                throw BenchError("the server answered \(String(decoding: buffer[..<filled], as: UTF8.self))")
            }
        }
    }

    private static func detach(_ work: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Work(work))
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { pointer in
                Unmanaged<Work>.fromOpaque(pointer!).takeRetainedValue().work()
                return nil
            }, box.toOpaque())
        pthread_detach(thread)
    }

    /// A class, because a thread gets a pointer.
    private final class Work: Sendable {
        let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }

    /// Classes with atomics and a mutex, because threads share them.
    private final class Counter: Sendable {
        private let count: Atomic<Int>
        init(_ count: Int) { self.count = Atomic(count) }
        func down() -> Int { count.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue }
    }

    private final class Failures: Sendable {
        private let all = Mutex<[String]>([])
        var first: String? { all.withLock { $0.first } }
        func note(_ failure: String) { all.withLock { $0.append(failure) } }
    }
}
