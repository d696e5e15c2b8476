import Glibc

/// Data goes to standard output, everything else to standard error.
enum Console {
    static func data(_ text: String) { put(text, STDOUT_FILENO) }
    static func note(_ text: String) { put(text, STDERR_FILENO) }

    private static func put(_ text: String, _ file: Int32) {
        let bytes = Array((text + "\n").utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { write(file, $0.baseAddress! + written, bytes.count - written) }
            if count <= 0 { return }
            written += count
        }
    }
}
