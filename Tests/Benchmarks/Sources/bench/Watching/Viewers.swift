import Glibc
import NIOPosix
import Synchronization

/// Many viewers of the live stream. They read on one thread that gets a processor only when nothing else wants it, as viewers on other
/// machines would.
///
/// A class, because it owns sockets.
final class Viewers: Sendable {
    private let sockets: [Int32]
    private let received: Mutex<[Int]>
    private let isStopped = Mutex(false)
    private let thread = NIOThreadPool(numberOfThreads: 1)

    init(_ count: Int, port: Int) throws {
        // Both ends are in this process.
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, rlim_t(2 * count + 500)))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let request = Array(
            "GET /api/v1/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(ConsoleUnderTest.token)\r\n\r\n"
                .utf8)
        sockets = try (0..<count).map { _ in
            let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
            let code = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard code == 0, send(socket, request, request.count, 0) == request.count else {
                throw BenchError("a viewer cannot connect: \(String(cString: strerror(errno)))")
            }
            return socket
        }
        received = Mutex(Array(repeating: 0, count: count))
        thread.start()
        thread.submit { [self] _ in read() }
    }

    /// The number of events that all viewers received together, and the smallest number of one viewer.
    var events: (all: Int, fewest: Int) { received.withLock { ($0.reduce(0, +), $0.min() ?? 0) } }

    /// Waits until each has received this many events.
    func waitUntilEach(has count: Int, atMost seconds: Int) async throws {
        for _ in 0..<(seconds * 200) {
            if events.fewest >= count { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw BenchError("after \(seconds) s a viewer has \(events.fewest) of \(count) events")
    }

    func stop() async throws {
        isStopped.withLock { $0 = true }
        try await thread.shutdownGracefully()
        for socket in sockets { close(socket) }
    }

    private func read() {
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        var polled = sockets.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var places = [Int](repeating: 0, count: sockets.count)
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while !isStopped.withLock({ $0 }) {
            if poll(&polled, nfds_t(polled.count), 50) <= 0 { continue }
            var found: [(Int, Int)] = []
            for viewer in polled.indices where polled[viewer].revents != 0 {
                let count = recv(sockets[viewer], &buffer, buffer.count, Int32(MSG_DONTWAIT))
                if count < 0, errno == EAGAIN || errno == EINTR { continue }
                if count <= 0 {
                    polled[viewer].fd = -1
                } else {
                    found.append((viewer, Self.events(in: buffer[..<count], at: &places[viewer])))
                }
            }
            received.withLock { received in for (viewer, count) in found { received[viewer] += count } }
        }
    }

    /// Counts the lines that begin with `data: `.
    ///
    /// - Parameter place: how much of that the end of the piece before had, counted with the line end.
    private static func events(in piece: ArraySlice<UInt8>, at place: inout Int) -> Int {
        let start: [UInt8] = Array("\ndata: ".utf8)
        return piece.withUnsafeBufferPointer { piece in
            var count = 0
            for byte in piece {
                if byte == start[place] {
                    place += 1
                    if place == start.count { (count, place) = (count + 1, 0) }
                } else {
                    place = byte == start[0] ? 1 : 0
                }
            }
            return count
        }
    }
}
