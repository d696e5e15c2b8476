import BellhopCore

/// Remembers whom a login that says no name turned out to be, so that nobody else's tasks are taken for theirs later.
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
