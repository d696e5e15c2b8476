import BellhopCore
import Glibc

/// The Unix socket beside the store on which a running agent answers, in lines of JSON.
///
/// `{"inquiry": …}` is answered with `{"row": …}` for each row, then `{"end": …}` or `{"error": {"kind": …, "message": …}}`. The one who
/// asked hangs up; rows are read from the store no faster than they are taken.
public enum ControlSocket {
    /// Where the socket of a store is. A path that is too long for a socket's address (108 bytes, unix(7)) is put into the run-time folder.
    public static func path(store: String, environment: [String: String]) -> String {
        let beside = store + ".sock"
        if beside.utf8.count < 100 { return beside }
        let folder = environment["XDG_RUNTIME_DIR"] ?? "/tmp"
        return "\(folder)/bellhop-\(Fingerprint.of("socket", absolute(store)).hex.prefix(16)).sock"
    }

    private static func absolute(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }
}
