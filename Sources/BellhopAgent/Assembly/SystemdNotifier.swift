public import BellhopCore
import Glibc
public import ServiceLifecycle

/// Reports the agent's state to systemd (sd_notify(3)): datagrams to the socket that `NOTIFY_SOCKET` names, if any. With a watchdog it
/// also sends keep-alives, at half the interval that systemd expects (sd_watchdog_enabled(3)).
public struct SystemdNotifier: Service {
    private let socketPath: String?
    /// The time between two keep-alives; nil without a watchdog.
    private let interval: Duration?
    private let clock: any AgentClock
    private let isLive: @Sendable () -> Bool

    /// - Parameter isLive: whether the agent's loops make progress. Without keep-alives, systemd restarts the agent.
    public init(environment: [String: String], clock: any AgentClock, isLive: @escaping @Sendable () -> Bool) {
        socketPath = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
        let isForThisProcess = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
        let limit = environment["WATCHDOG_USEC"].flatMap(Int64.init)
        interval = isForThisProcess ? limit.flatMap { $0 > 1 ? .microseconds($0 / 2) : nil } : nil
        self.clock = clock
        self.isLive = isLive
    }

    public func run() async throws {
        notify("READY=1\nSTATUS=Watching.")
        if let interval, socketPath != nil {
            await cancelWhenGracefulShutdown {
                while (try? await clock.sleep(for: interval)) != nil {
                    if isLive() { notify("WATCHDOG=1") }
                }
            }
        } else {
            try? await gracefulShutdown()
        }
        // From here on systemd expects no keep-alives; its stop timeout limits the work in flight.
        notify("STOPPING=1\nSTATUS=Finishing what is in flight.")
    }

    private func notify(_ state: String) {
        guard let socketPath else { return }
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return }
        defer { close(socket) }
        guard let address = UnixAddress(socketPath, allowsAbstract: true) else { return }
        let text = Array(state.utf8)
        // A failure cannot be reported; systemd's own timeout covers it.
        _ = address.withPointer { sendto(socket, text, text.count, Int32(MSG_NOSIGNAL), $0, $1) }
    }
}
