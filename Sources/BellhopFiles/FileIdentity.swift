import Glibc

/// Identifies a file, whatever its path: its device and inode.
public struct FileIdentity: Sendable, Hashable {
    private let device: UInt
    private let number: UInt

    /// The file that a path names now; nil if it names none.
    public init?(of path: String) {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        self.init(facts)
    }

    /// The open file; nil if there is none.
    public init?(of descriptor: Int32) {
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { return nil }
        self.init(facts)
    }

    private init(_ facts: stat) { (device, number) = (UInt(facts.st_dev), UInt(facts.st_ino)) }
}
