import Glibc

struct Program {
    /// The destination of a process's output.
    enum Output {
        case nowhere
        case file(String)
    }

    let process: pid_t

    /// Starts the program with only the given environment, so that the user's settings do not affect it.
    static func start(
        _ path: String, _ arguments: [String], environment: [String: String], output: Output = .nowhere
    ) throws -> Program {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let file = if case .file(let path) = output { path } else { "/dev/null" }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(
            &actions, STDERR_FILENO, file + (file == "/dev/null" ? "" : ".errors"), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        var process: pid_t = 0
        let code = withStrings([path] + arguments) { arguments in
            withStrings(environment.map { "\($0)=\($1)" }) { environment in
                posix_spawn(&process, path, &actions, nil, arguments, environment)
            }
        }
        guard code == 0 else { throw BenchError("\(path) cannot be started: \(String(cString: strerror(code)))") }
        return Program(process: process)
    }

    /// Waits for the process to end and returns its exit code, or minus the signal that ended it.
    @discardableResult
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status & 0x7f == 0 ? (status >> 8) & 0xff : -(status & 0x7f)
    }

    @discardableResult
    func stop() -> Int32 {
        kill(process, SIGTERM)
        return wait()
    }

    private static func withStrings<Result>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result) -> Result {
        let copies = strings.map { strdup($0) }
        defer { copies.forEach { free($0) } }
        return body(copies + [nil])
    }
}
