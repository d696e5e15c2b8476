import BellhopCore
import Glibc

/// The Unix socket beside the store on which a running agent answers, in lines of JSON.
///
/// `{"inquiry": …}` is answered with `{"row": …}` for each row, then `{"end": …}` or `{"error": {"kind": …, "message": …}}`. The one who
/// asked hangs up; rows are read from the store no faster than they are taken.
public enum ControlSocket {
    /// Where a socket is.
    public struct Place: Sendable, Hashable {
        public var path: String
        /// The folder of the socket, where it must be this user's alone; nil for a socket beside its store.
        public var privateFolder: String?
    }

    /// Where the socket of a store is: beside it. Where that path is too long for a socket's address (108 bytes, unix(7)), it is in a
    /// folder that this user alone may enter.
    public static func place(store: String, environment: [String: String]) -> Place {
        let beside = store + ".sock"
        if beside.utf8.count < 100 { return Place(path: beside) }
        let runtime = environment["XDG_RUNTIME_DIR"] ?? ""
        // A folder of this length leaves room for the names below it.
        let folder = runtime.hasPrefix("/") && runtime.utf8.count < 60 ? "\(runtime)/bellhop" : "/tmp/bellhop-\(geteuid())"
        return Place(
            path: "\(folder)/\(Fingerprint.of("socket", absolute(store)).hex.prefix(16)).sock", privateFolder: folder)
    }

    private static func absolute(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }
}

/// Why an agent cannot listen, in one sentence.
public struct ControlSocketError: Error, Sendable {
    public var message: String
}
