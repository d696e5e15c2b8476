import BellhopCore
import BellhopFiles
import Glibc

/// The user's editor, run on a file that only the user can read.
struct TextEditor {
    /// A command line for the shell, perhaps with options: `code --wait`.
    private let command: String
    private let folder: String

    init(environment: [String: String]) throws(CommandError) {
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        guard let command = value("VISUAL") ?? value("EDITOR") ?? (Console.isInteractive ? "vi" : nil) else {
            throw CommandError(.usage, "There is no terminal for an editor: set EDITOR to a program that changes a file.")
        }
        self.command = command
        let runtime = value("XDG_RUNTIME_DIR").flatMap { $0.hasPrefix("/") ? $0 : nil }
        folder = value("TMPDIR") ?? runtime ?? "/tmp"
    }

    /// The text after the user has edited it. Removes the file, and all files that the editor leaves beside it.
    func edit(_ text: String, name: String) throws(CommandError) -> String {
        let folder = try Files.makeTemporaryFolder(in: self.folder, prefix: "bellhop")
        defer { Folder.remove(folder) }
        let path = folder + "/" + name
        _ = try Files.create(path, text, mode: 0o600)
        let code = try run(on: path)
        guard code == 0 else { throw CommandError(.problem, "The editor `\(command)` ended with \(code); nothing was changed.") }
        return try Files.read(path)
    }

    /// Runs the editor in this terminal and returns its exit code. Interrupts go to the editor only.
    private func run(on path: String) throws(CommandError) -> Int32 {
        let before = [SIGINT, SIGQUIT].map { ($0, Glibc.signal($0, SIG_IGN)) }
        defer { for (number, handler) in before { Glibc.signal(number, handler) } }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var usual = sigset_t()
        sigemptyset(&usual)
        for (number, _) in before { sigaddset(&usual, number) }
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        let words = ["sh", "-c", command + " \"$@\"", command, path]
        let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let error = posix_spawn(&child, "/bin/sh", nil, &attributes, arguments, environ)
        guard error == 0 else {
            throw CommandError(.inputOutput, "The editor `\(command)` cannot be started: \(SystemError(error).text).")
        }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        let killer = status & 0x7F
        return killer == 0 ? status >> 8 & 0xFF : 128 + killer
    }
}
