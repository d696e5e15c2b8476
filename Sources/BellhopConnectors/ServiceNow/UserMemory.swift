import BellhopCore

/// Remembers the user of a login without a name, so that another user's tasks are never taken for theirs.
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
