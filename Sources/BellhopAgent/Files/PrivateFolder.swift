import Glibc

/// A folder that only this user may enter, in a place where others may make folders too.
enum PrivateFolder {
    typealias FileError = PrivateFile.FileError

    /// Makes the folder if it is missing, and requires that it belongs to this user.
    static func make(_ path: String) throws(FileError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw FileError(message: "The folder \(path) cannot be made: \(String(cString: strerror(errno))).")
        }
        guard try isOurs(path) else { throw FileError(message: "The folder \(path) was removed while it was made; try again.") }
    }

    /// Whether the folder exists. Throws if it is another user's, a link, or open to others.
    static func isOurs(_ path: String) throws(FileError) -> Bool {
        var facts = stat()
        // Links are not followed: another user could have made one.
        guard lstat(path, &facts) == 0 else { return false }
        guard facts.st_mode & S_IFMT == S_IFDIR else { throw FileError(message: "\(path) is not a folder: move it away.") }
        guard facts.st_uid == geteuid() else {
            throw FileError(
                message: "The folder \(path) belongs to another user (\(facts.st_uid)), so it is not used: remove it.")
        }
        guard facts.st_mode & 0o077 == 0 else {
            throw FileError(message: "The folder \(path) is open to others, so it is not used: run `chmod 700 \(path)`.")
        }
        return true
    }
}
