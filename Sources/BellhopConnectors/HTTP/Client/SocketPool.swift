import DequeModule
import NIOCore
import NIOPosix

/// The sockets of one client, and the requests that wait for one. Used only on its thread.
final class SocketPool {
    private struct Shelf {
        /// The latest used is the last.
        var idle: [ClientSocket] = []
        /// All open ones, and those that are being opened.
        var count = 0
        var waiting = Deque<Call>()
    }

    private let loop: any EventLoop
    private let opener: any SocketOpening
    private let idle: TimeAmount
    private var shelves: [CallRequest.Origin: Shelf] = [:]
    private var open: [ObjectIdentifier: ClientSocket] = [:]
    private var isShutDown = false
    private var sweep: Scheduled<Void>?

    /// The most sockets to one server.
    static let most = 64

    /// - Parameter idle: how long an unused socket stays open.
    init(on loop: any EventLoop, _ opener: any SocketOpening, idle: TimeAmount) {
        (self.loop, self.opener, self.idle) = (loop, opener, idle)
    }

    func begin(_ call: Call) {
        guard !isShutDown else { return call.end(ClientError.shutDown) }
        call.limitTime(on: loop, to: call.request.deadline)
        if let socket = takeIdle(call.request.origin) { return socket.send(call) }
        openOrWait(call)
    }

    /// Opens a socket for a request whose first one ended or could not be opened.
    func openAgain(for call: Call) {
        guard !call.hasEnded else { return }
        guard !isShutDown else { return call.end(ClientError.shutDown) }
        call.socket = nil
        call.stage = .waitsForSocket
        openOrWait(call)
    }

    private func openOrWait(_ call: Call) {
        let origin = call.request.origin
        if shelves[origin, default: Shelf()].count < Self.most { return openSocket(for: call) }
        shelves[origin]?.waiting.append(call)
    }

    private func takeIdle(_ origin: CallRequest.Origin) -> ClientSocket? {
        while let socket = shelves[origin]?.idle.popLast() { if socket.isUsable { return socket } }
        return nil
    }

    private func openSocket(for call: Call) {
        let origin = call.request.origin
        shelves[origin, default: Shelf()].count += 1
        opener.open(for: call, in: self, on: loop) { [weak self] result in
            guard let self, !self.isShutDown else {
                if case .success(let socket) = result { socket.close() }
                return call.end(ClientError.shutDown)
            }
            switch result {
            case .success(let socket):
                self.open[ObjectIdentifier(socket)] = socket
                if !socket.isUsable {
                    self.remove(socket)
                    call.end(ClientError.cut)
                } else if call.hasEnded {
                    self.takeBack(socket)
                } else {
                    socket.send(call, wasIdle: false)
                }
            case .failure(let error):
                self.forget(origin)
                // Idle sockets to other servers make room for this one.
                if !call.hasEnded, SocketOpener.lacksDescriptors(error), let closed = self.closeAllIdle() {
                    closed.assumeIsolated().whenComplete { _ in self.openAgain(for: call) }
                } else {
                    call.end(error)
                }
            }
        }
    }

    /// Takes a socket whose request has ended.
    func takeBack(_ socket: ClientSocket) {
        let origin = socket.origin
        shelves[origin]?.idle.append(socket)
        if sweep == nil { scheduleSweep(at: .now() + idle) }
        guard shelves[origin]?.waiting.isEmpty == false else { return }
        // Not at once: the socket may be about to read the end of the connection, or more than the answer.
        loop.assumeIsolated().execute { [weak self] in self?.serveWaiting(origin) }
    }

    private func serveWaiting(_ origin: CallRequest.Origin) {
        guard let socket = takeIdle(origin) else { return }
        if let next = nextWaiting(origin) { socket.send(next) } else { shelves[origin]?.idle.append(socket) }
    }

    /// Takes out a socket that has closed.
    func remove(_ socket: ClientSocket) {
        guard open.removeValue(forKey: ObjectIdentifier(socket)) != nil else { return }
        shelves[socket.origin]?.idle.removeAll { $0 === socket }
        forget(socket.origin)
    }

    /// One socket less: another may be opened for a request that waits.
    private func forget(_ origin: CallRequest.Origin) {
        guard var shelf = shelves[origin] else { return }
        shelf.count -= 1
        shelves[origin] = shelf.count > 0 || !shelf.waiting.isEmpty ? shelf : nil
        if let next = nextWaiting(origin) { openSocket(for: next) }
    }

    private func nextWaiting(_ origin: CallRequest.Origin) -> Call? {
        while let call = shelves[origin]?.waiting.popFirst() { if !call.hasEnded { return call } }
        return nil
    }

    private func scheduleSweep(at time: NIODeadline) {
        sweep = loop.assumeIsolated().scheduleTask(deadline: time) { [weak self] in self?.closeIdle() }
    }

    /// Closes all idle sockets, which takes a while over TLS; nil if there are none.
    private func closeAllIdle() -> EventLoopFuture<Void>? {
        let sockets = shelves.values.flatMap(\.idle)
        for socket in sockets { socket.close() }
        return sockets.isEmpty ? nil : .andAllComplete(sockets.map { $0.channel.closeFuture }, on: loop)
    }

    private func closeIdle() {
        sweep = nil
        let end = NIODeadline.now() - idle
        var oldest: NIODeadline?
        for socket in shelves.values.flatMap(\.idle) {
            if socket.idleSince <= end {
                socket.close()
            } else {
                oldest = min(oldest ?? .distantFuture, socket.idleSince)
            }
        }
        if let oldest { scheduleSweep(at: max(oldest + idle, NIODeadline.now() + .seconds(1))) }
    }

    /// Closes all sockets. Requests in progress fail.
    func shutDown() -> EventLoopFuture<Void> {
        isShutDown = true
        sweep?.cancel()
        let waiting = shelves.values.flatMap(\.waiting)
        shelves = [:]
        for call in waiting { call.end(ClientError.shutDown) }
        let closing = open.values.map { socket in
            socket.close()
            return socket.channel.closeFuture
        }
        return .andAllComplete(closing, on: loop)
    }
}
