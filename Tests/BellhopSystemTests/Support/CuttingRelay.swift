import BellhopTesting
import Foundation
import Glibc
import Synchronization

/// Forwards connections to a port of this machine. It cuts the first connections whose request contains a given text, each after a
/// number of bytes of the answer.
///
/// A class with a mutex, because each connection has a thread of its own.
final class CuttingRelay: Sendable {
    private let listener: LoopbackListener
    private let target: Int
    private let mark: String
    private let limits: Mutex<[Int]>
    private let count = Mutex(0)

    var port: UInt16 { listener.port }
    var cuts: Int { count.withLock { $0 } }

    /// - Parameter limits: after how many bytes of the answer the first connections with the mark are cut; later ones are not.
    init(to target: Int, cutting mark: String, after limits: [Int]) throws {
        self.target = target
        self.mark = mark
        self.limits = Mutex(limits)
        listener = try LoopbackListener()
        Thread.detachNewThread { [self] in
            while true {
                let client = accept(listener.socket, nil, nil)
                guard client >= 0 else { return }
                Thread.detachNewThread { [self] in relay(client) }
            }
        }
    }

    func stop() { shutdown(listener.socket, Int32(SHUT_RDWR)) }

    private func relay(_ client: Int32) {
        defer { close(client) }
        guard let server = LoopbackListener.connection(to: target) else { return }
        defer { close(server) }
        var (request, answered, limit): ([UInt8], Int, Int?) = ([], 0, nil)
        var isMarked = false
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            var waits = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&waits, 2, -1) > 0 else { return }
            for (place, wait) in waits.enumerated() where wait.revents != 0 {
                var found = read(wait.fd, &bytes, bytes.count)
                guard found > 0 else { return }
                if place == 0 {
                    request += bytes.prefix(found)
                    if !isMarked, String(decoding: request, as: UTF8.self).contains(mark) {
                        isMarked = true
                        limit = limits.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                    }
                } else if let limit {
                    found = min(found, limit - answered)
                    answered += found
                }
                _ = write(place == 0 ? server : client, bytes, found)
                if let limit, answered >= limit { return count.withLock { $0 += 1 } }
            }
        }
    }
}
