import BellhopCore
import Glibc

/// The Unix socket beside the store on which a running agent answers, in lines of JSON.
///
/// `{"inquiry": …}` is answered with `{"row": …}` for each row, then `{"end": …}` or `{"error": {"kind": …, "message": …}}`. The
/// client hangs up; rows are read from the store no faster than the client reads them.
public enum ControlSocket {
    /// Where a socket is.
    public struct Place: Sendable, Hashable {
        public var path: String
        /// The folder of the socket, if only this user may enter it; nil for a socket beside its store.
        public var privateFolder: String?
    }

    /// The path of a store's socket: beside the store. If that path is too long for a socket address (108 bytes, unix(7)), in a
    /// folder that only this user may enter.
    public static func place(store: String, environment: [String: String]) -> Place {
        let beside = store + ".sock"
        if beside.utf8.count < 100 { return Place(path: beside) }
        let runtime = environment["XDG_RUNTIME_DIR"] ?? ""
        // A folder of this length leaves room for the names below it.
        let folder = runtime.hasPrefix("/") && runtime.utf8.count < 60 ? "\(runtime)/bellhop" : "/tmp/bellhop-\(geteuid())"
        return Place(
            path: "\(folder)/\(Fingerprint.of("socket", SharedFile.resolved(store)).hex.prefix(16)).sock", privateFolder: folder)
    }
}

/// Why an agent cannot listen, in one sentence.
public struct ControlSocketError: Error, Sendable {
    public var message: String
}
