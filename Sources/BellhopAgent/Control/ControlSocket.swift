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

/// The address of a Unix socket (unix(7)).
struct UnixAddress {
    private var address = sockaddr_un()
    private let length: socklen_t

    /// Nil if the path is too long for an address.
    /// - Parameter allowsAbstract: whether a path that begins with `@` is an abstract name.
    init?(_ path: String, allowsAbstract: Bool = false) {
        var bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        let isAbstract = allowsAbstract && bytes.first == UInt8(ascii: "@")
        if isAbstract { bytes[0] = 0 }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // A path ends with a zero; an abstract name is as long as the address says.
        length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + (isAbstract ? 0 : 1))
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
