import Glibc
public import ServiceLifecycle

/// Reports the agent's state to systemd (sd_notify(3)): one datagram to the socket that `NOTIFY_SOCKET` names, if any.
public struct ServiceManager: Service {
    private let socketPath: String?

    public init(environment: [String: String]) {
        socketPath = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
    }

    public func run() async throws {
        tell("READY=1\nSTATUS=Watching.")
        try? await gracefulShutdown()
        tell("STOPPING=1\nSTATUS=Finishing what is in flight.")
    }

    private func tell(_ state: String) {
        guard let socketPath else { return }
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return }
        defer { close(socket) }
        guard let address = UnixAddress(socketPath) else { return }
        let text = Array(state.utf8)
        // A failure cannot be reported; systemd's own timeout covers it.
        _ = address.withPointer { sendto(socket, text, text.count, Int32(MSG_NOSIGNAL), $0, $1) }
    }
}
