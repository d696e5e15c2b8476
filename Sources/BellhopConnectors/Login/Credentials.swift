/// A name, its password, and the mark of the storing it comes from. Never prints the password.
public struct Credentials: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var username: String
    public var password: String
    /// Another for each time that a login was stored, so that the same password stored again is tried again; empty where there is none.
    public var mark: String

    public init(username: String, password: String, mark: String = "") {
        self.username = username
        self.password = password
        self.mark = mark
    }

    public var description: String { "Credentials(\(username))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["username": username]) }

    /// The forms in which they must be read nowhere.
    var secrets: [String] { [password, authorization, String(authorization.dropFirst("Basic ".count))] }

    var authorization: String { Base64.basic(username: username, password: password) }
}
