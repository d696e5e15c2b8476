import Foundation
import Synchronization

/// A child process and its end.
///
/// Uses posix_spawn(3), because Foundation's `Process.run()` read invalid memory when several threads started processes.
/// A class, because a process has identity; a separate thread waits for its end.
public final class ChildProcess: Sendable {
    public let id: Int32
    /// The exit code, or 128 plus the number of the signal that ended it; nil while it runs.
    private let ended: Ended

    private final class Ended: Sendable {
        let code = Mutex<Int32?>(nil)
    }

    /// Starts a program in its own process group, with only these three files and no blocked or ignored signals.
    /// - Parameter folder: the working folder; nil for the working folder of the tests.
    public init(
        _ program: String, _ arguments: [String], in folder: String? = nil, environment: [String: String],
        input: Int32? = nil, output: Int32? = nil, errors: Int32? = nil
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, file) in [input, output, errors].enumerated() {
            if let file {
                posix_spawn_file_actions_adddup2(&actions, file, Int32(number))
            } else {
                posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", O_RDWR, 0)
            }
        }
        _ = GlibcExtensions.closeFrom(&actions, 3)
        if let folder { _ = GlibcExtensions.changeFolder(&actions, folder) }

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var id: pid_t = 0
        let code = Self.withStrings([program] + arguments) { arguments in
            Self.withStrings(environment.map { "\($0)=\($1)" }) { environment in
                posix_spawn(&id, program, &actions, &attributes, arguments, environment)
            }
        }
        guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
        self.id = id
        let ended = Ended()
        self.ended = ended
        Thread.detachNewThread { [id] in
            var status: Int32 = 0
            while waitpid(id, &status, 0) < 0, errno == EINTR {}
            let (signal, code) = (status & 0x7f, status >> 8 & 0xff)
            ended.code.withLock { $0 = signal == 0 ? code : 128 + signal }
        }
    }

    public var isRunning: Bool { ended.code.withLock { $0 == nil } }

    public func send(_ signal: Int32) { if isRunning { kill(id, signal) } }

    /// Waits on this thread for its end; returns the exit code, or 128 plus the number of the signal that ended it.
    @discardableResult
    public func waitUntilExit() -> Int32 {
        while true {
            if let code = ended.code.withLock({ $0 }) { return code }
            usleep(1000)
        }
    }

    /// Whether a process has ended, even if its parent has not collected its exit code (a zombie).
    public static func hasEnded(_ id: some StringProtocol) -> Bool {
        let state = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8).split(separator: ") ").last?.first
        return state == nil || state == "Z" || state == "X"
    }

    /// Functions of glibc beyond POSIX, which its Swift module lacks.
    private enum GlibcExtensions {
        typealias Actions = UnsafeMutablePointer<posix_spawn_file_actions_t>
        typealias CloseFrom = @convention(c) (Actions, Int32) -> Int32
        typealias ChangeFolder = @convention(c) (Actions, UnsafePointer<CChar>) -> Int32

        static let closeFrom = function("posix_spawn_file_actions_addclosefrom_np", as: CloseFrom.self)
        static let changeFolder = function("posix_spawn_file_actions_addchdir_np", as: ChangeFolder.self)

        private static func function<Function>(_ name: String, as type: Function.Type) -> Function {
            guard let address = dlsym(nil, name) else { preconditionFailure("glibc 2.34 and later have \(name)") }
            return unsafeBitCast(address, to: type)
        }
    }

    private static func withStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}
