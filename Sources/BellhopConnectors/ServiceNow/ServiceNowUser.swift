import BellhopCore

/// The user that the instance recognizes, with the fields of its record that the account may read.
public struct ServiceNowUser: Sendable, Hashable {
    public var username: String
    /// This and the following are empty if they cannot be read.
    public var name = ""
    public var email = ""
    public var sysID = ""
}

/// Remembers the user of a login without a user name, to notice if the login later belongs to another user.
struct UserMemory: Sendable {
    private let key: String
    private let notebook: any Notebook

    init(connection: String, instance: String, notebook: any Notebook) {
        key = "login-user/\(instance)/\(connection)"
        self.notebook = notebook
    }

    func username() async throws -> String? { try await notebook.note(key)?["username"]?.asString }

    func remember(_ username: String) async throws { try await notebook.setNote(key, to: ["username": .string(username)]) }
}
