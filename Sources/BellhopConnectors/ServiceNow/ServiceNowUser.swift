/// The user the instance recognizes, as far as the account may read its own record.
public struct ServiceNowUser: Sendable, Hashable {
    public var username: String
    /// Empty when it cannot be read.
    public var name: String
    public var email: String
    /// Empty when it cannot be read.
    public var sysID: String

    public init(username: String, name: String = "", email: String = "", sysID: String = "") {
        self.username = username
        self.name = name
        self.email = email
        self.sysID = sysID
    }
}
